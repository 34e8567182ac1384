/* Options: a table of flags, and one flag per setting, straight from the settings table. Every mistake names
 * the nearest option. */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

/* ---- flags ---- */

/* A flag of the sets of options that have it. With a value it fills a const char * of Options, else a bool.
 */
typedef struct Flag {
  const char *name, *value; /* value: what help calls it, or NULL */
  unsigned sets;
  size_t offset;
  const char *help;
} Flag;

static const Flag flags[] = {
    {"--preset", "NAME", OPTIONS_PROBLEM, offsetof(Options, loading.preset),
     "settings that the problem file groups under this name"},
    {"--data", "FILE.csv", OPTIONS_PROBLEM, offsetof(Options, loading.data_file),
     "points and values of all terms: term,<coordinates>,value"},
    {"--truth", "FILE.csv", OPTIONS_PROBLEM, offsetof(Options, loading.truth),
     "another truth: a table, or YAML such as '{csv: FILE.csv, y: log(k)}'"},
    {"--out", "DIR", OPTIONS_RUN, offsetof(Options, out),
     "the run directory (default results/<problem>-<method>)"},
    {"--quiet", NULL, OPTIONS_RUN, offsetof(Options, quiet), "no progress and no table"},
    {"--resume", NULL, OPTIONS_RUN, offsetof(Options, resume),
     "go on with the run in --out, or begin it where there is none; more --samples add members"},
    {"--plan", NULL, OPTIONS_RUN, offsetof(Options, plan),
     "say what would run, its time, memory and disk, then stop"},
    {"--shard", "I/N", OPTIONS_SHARD, offsetof(Options, shard),
     "make share I of N of the members, chains or runs, in a folder of its own; rpinn merge joins them"},
    {"--learnt", "FILE", OPTIONS_RUN, offsetof(Options, learnt),
     "with --shard: learnt.db of another shard, in place of learning the same again"},
    {"--out", "DIR", OPTIONS_MERGE, offsetof(Options, out), "the result: a folder that is absent or empty"},
    {"--partial", NULL, OPTIONS_MERGE, offsetof(Options, partial),
     "merge what is there, though some of it is missing"},
    {"--quiet", NULL, OPTIONS_MERGE, offsetof(Options, quiet), "no progress and no table"},
    {"--points", "FILE.csv", OPTIONS_PREDICT, offsetof(Options, points),
     "where to predict: one column per coordinate"},
    {"--out", "FILE.csv", OPTIONS_PREDICT, offsetof(Options, out),
     "where the predictions go (default: the standard output)"},
    {"--quantities", "A,B", OPTIONS_PREDICT, offsetof(Options, quantities),
     "fields and quantities to predict (default: those of the problem's predict:)"},
    {"--extrapolate", NULL, OPTIONS_PREDICT, offsetof(Options, extrapolate),
     "allow points outside the domain"},
    {"--scale", "SCALE", OPTIONS_REPRODUCE, offsetof(Options, scale),
     "paper: the published settings; medium: shortened, an hour or two; quick: a minute, not judged "
     "(default)"},
    {"--data-dir", "DIR", OPTIONS_REPRODUCE, offsetof(Options, data_folder),
     "the published data sets (default $RPINN_REFERENCE_DIR/datasets, else synthetic data)"},
    {"--out", "DIR", OPTIONS_REPRODUCE, offsetof(Options, out),
     "the runs and the tables (default results/paper-<scale>); finished runs are not repeated"},
    {"--methods", "A,B", OPTIONS_REPRODUCE, offsetof(Options, methods),
     "which methods of the table to run (default: all of them)"},
    {"--members", "N", OPTIONS_REPRODUCE, offsetof(Options, members),
     "another number of members, of particles, or of draws per chain, for every run"},
    {"--backend", "NAME", OPTIONS_REPRODUCE, offsetof(Options, backend),
     "what computes every run: plain, cpu (default), cuda or auto"},
    {"--precision", "NAME", OPTIONS_REPRODUCE, offsetof(Options, precision),
     "what it computes in: float, double or tf32 (default: what the backend usually does)"},
    {"--quiet", NULL, OPTIONS_REPRODUCE, offsetof(Options, quiet), "no progress"},
    {"--from", "WHAT", OPTIONS_CALIBRATE, offsetof(Options, from),
     "truth: data sets of the problem's truth; prior: of truths drawn from a prior of a fixed scale; data: "
     "the "
     "data in folds that are left out in turn (default: truth where there is one, else data)"},
    {"--redraw", "WHAT", OPTIONS_CALIBRATE, offsetof(Options, redraw),
     "what is new in a data set of the truth: noise (default), points: also those that are drawn, truth: "
     "also "
     "a drawn truth"},
    {"--blocks", NULL, OPTIONS_CALIBRATE, offsetof(Options, blocks),
     "of --from data: folds that are regions of space, and not rows at random"},
    {"--methods", "A,B", OPTIONS_CALIBRATE, offsetof(Options, methods),
     "which methods to compare on the same data, also with settings: svgd:kernel=functions (default: the "
     "problem's)"},
    {"--members", "N", OPTIONS_CALIBRATE, offsetof(Options, members),
     "members, particles or draws of each run without chains (default --samples, or 79; at least 39)"},
    {"--out", "DIR", OPTIONS_CALIBRATE, offsetof(Options, out),
     "scores and tables (default results/<problem>-calibration)"},
    {"--keep-runs", NULL, OPTIONS_CALIBRATE, offsetof(Options, keep_runs),
     "leave the run directories in DIR/runs"},
    {"--quiet", NULL, OPTIONS_CALIBRATE, offsetof(Options, quiet), "no progress"},
    {"--rule", "A,B", OPTIONS_WEIGHTS, offsetof(Options, rules),
     "loo, evidence, folds, mse, lpp, gradients, annealing, kernel (default: all that the problem allows); "
     "the "
     "first of them fills --write"},
    {"--quantities", "A,B", OPTIONS_WEIGHTS, offsetof(Options, quantities),
     "what errors and LPP are of (default: all that is predicted and has a truth)"},
    {"--members", "N", OPTIONS_WEIGHTS, offsetof(Options, members),
     "members, particles or draws of each run without chains (default --samples, or 79; at least 39)"},
    {"--out", "DIR", OPTIONS_WEIGHTS, offsetof(Options, out),
     "scores and tables (default results/<problem>-weights)"},
    {"--write", "FILE.yaml", OPTIONS_WEIGHTS, offsetof(Options, write),
     "a problem file with the chosen values, for rpinn run; one that is no search's is never replaced"},
    {"--quiet", NULL, OPTIONS_WEIGHTS, offsetof(Options, quiet), "no progress"},
    {"--backend", "NAME", OPTIONS_BENCH, offsetof(Options, backend),
     "cpu: a core, or cuda: the GPU (default cpu)"},
    {"--scaling", NULL, OPTIONS_BENCH, offsetof(Options, scaling),
     "what ranks cost, by runs of 1, 2, 4 … of them, and a model of more: docs/clusters.md"},
    {"--ranks", "N", OPTIONS_BENCH, offsetof(Options, ranks),
     "of --scaling: the most (default one for each core); here: those that a launcher has started, as JSON"},
    {"--launcher", "COMMAND", OPTIONS_BENCH, offsetof(Options, launcher),
     "of --scaling: what starts N ranks before -n N (default mpirun)"},
    {"--out", "DIR", OPTIONS_BENCH, offsetof(Options, out),
     "of --scaling: write scaling.json and scaling.svg there"},
    {"--all", NULL, OPTIONS_DIAGNOSE, offsetof(Options, all),
     "a row for every scalar, not for the worst 20 alone"},
    {"--strict", NULL, OPTIONS_DIAGNOSE, offsetof(Options, strict),
     "of a run: let the parameters of networks count, not only what is predicted"},
    {"--shape", NULL, OPTIONS_DIAGNOSE, offsetof(Options, shape),
     "of a run: write the plane through three draws and the spectra of the Hessian into it"},
    {"--out", "DIR", OPTIONS_REPORT, offsetof(Options, out),
     "where report.html and figures go (default: the run; for several runs: report)"},
    {"--shape", NULL, OPTIONS_REPORT, offsetof(Options, shape),
     "of one run: add the plane through three draws and the spectra of the Hessian"},
    {"--prior", NULL, OPTIONS_CHECK, offsetof(Options, prior),
     "choose the scale of the prior as a run would, and show the choice and draws of the prior"},
    {"--out", "DIR", OPTIONS_CHECK, offsetof(Options, out),
     "with --prior: write DIR/prior.html with figures of both"},
    {"--cells", "N1xN2", OPTIONS_FIELD, offsetof(Options, cells),
     "cells per coordinate, such as 256x128; one number for an interval"},
    {"--domain", "A,B,C,D", OPTIONS_FIELD, offsetof(Options, domain),
     "both ends of every coordinate (default 0,1 for each)"},
    {"--covariance", "NAME", OPTIONS_FIELD, offsetof(Options, covariance),
     "squared_exponential exp(-(d/L)^2), exponential, matern32 or matern52, one factor per coordinate"},
    {"--length", "L[,L2]", OPTIONS_FIELD, offsetof(Options, length),
     "correlation length, one for all coordinates or one for each"},
    {"--mean", "VALUE", OPTIONS_FIELD, offsetof(Options, mean), "of the field (default 0)"},
    {"--variance", "VALUE", OPTIONS_FIELD, offsetof(Options, variance), "of the field (default 1)"},
    {"--seed", "N", OPTIONS_FIELD, offsetof(Options, seed), "of the draw (default 0)"},
    {"--condition", "FILE.csv", OPTIONS_FIELD, offsetof(Options, condition),
     "measurements that the field keeps to: <coordinates>,value and, if known, std of the errors"},
    {"--kriging", NULL, OPTIONS_FIELD, offsetof(Options, kriging),
     "mean and standard deviation given the measurements, in place of a draw"},
    {"--conductivity", "FILE.csv", OPTIONS_SOLVE, offsetof(Options, conductivity),
     "cell centres with a column of conductivities"},
    {"--column", "NAME", OPTIONS_SOLVE, offsetof(Options, column),
     "the column (default k, or else y, the logarithm of k)"},
    {"--log", NULL, OPTIONS_SOLVE, offsetof(Options, is_logarithm), "--column holds logarithms"},
    {"--left", "CONDITION", OPTIONS_SOLVE, offsetof(Options, sides[0]),
     "head:VALUE at the face, or flux:VALUE, what flows in per unit of length (default flux:0)"},
    {"--right", "CONDITION", OPTIONS_SOLVE, offsetof(Options, sides[1]), "likewise"},
    {"--bottom", "CONDITION", OPTIONS_SOLVE, offsetof(Options, sides[2]), "likewise"},
    {"--top", "CONDITION", OPTIONS_SOLVE, offsetof(Options, sides[3]), "likewise"},
    {"--source", "VALUE", OPTIONS_SOLVE, offsetof(Options, source),
     "s of div(k grad h) = s everywhere; a positive one takes water out (default 0)"},
    {"--coordinates", "A,B", OPTIONS_REFERENCE, offsetof(Options, coordinates),
     "names of the coordinates (default x1,x2)"},
    {"--out", "FILE", OPTIONS_REFERENCE, offsetof(Options, out),
     "FILE.csv, or FILE.vti for ParaView (default: CSV to the standard output)"},
    {"--quiet", NULL, OPTIONS_REFERENCE, offsetof(Options, quiet), "no summary beside --out"},
    {"--json", NULL, OPTIONS_JSON, offsetof(Options, json), "print JSON for programs"}};
enum { NUM_FLAGS = sizeof flags / sizeof flags[0] };

static const Flag *find_flag(const Command *command, const char *name) {
  for (size_t i = 0; i < NUM_FLAGS; i++)
    if (flags[i].sets & command->option_sets && !strcmp(flags[i].name, name)) return &flags[i];
  return NULL;
}

/* prior_scale <-> --prior-scale */
static void flag_of_setting(RpinnSetting setting, char *flag, size_t size) {
  snprintf(flag, size, "--%s", rpinn_setting_definition(setting)->name);
  for (char *at = flag + 2; *at; at++)
    if (*at == '_') *at = '-';
}

/* Options beyond the table: they repeat, or check their value themselves. */
typedef struct OtherOption {
  unsigned sets;
  const char *flag, *value, *help;
} OtherOption;
static const OtherOption override_option = {OPTIONS_PROBLEM, "--set", "NAME=VALUE",
                                            "another value for a constant or setting (repeatable)"};
static const OtherOption other_options[] = {
    {OPTIONS_CALIBRATE, "--datasets", "N", "how many data sets (default 40)"},
    {OPTIONS_CALIBRATE, "--folds", "K", "of --from data: how many folds (default 5)"},
    {OPTIONS_WEIGHTS, "--search", "AXIS[=V,V]",
     "an axis of the grid, once or twice: weight, weight:TERM, epsilon, prior, shape, noise or noise:TERM; "
     "values "
     "as a list or LOW:HIGH:COUNT"},
    {OPTIONS_WEIGHTS, "--datasets", "N",
     "score choices on N data sets with fresh noise (default: on the data at hand)"},
    {OPTIONS_WEIGHTS, "--folds", "K", "of rule folds: how many (default 5)"},
    {OPTIONS_CALIBRATE | OPTIONS_WEIGHTS, "--jobs", "N",
     "runs at once, each on its share of the cores (default 1); changes no result"},
    {OPTIONS_BENCH, "--repetitions", "N",
     "interleaved repetitions whose median counts (default 25, with --scaling 5)"},
    {OPTIONS_BENCH, "--at-least", "SHARE", "exit code 3 when a speed is below this share of its bar"},
    {OPTIONS_BENCH, "--seconds", "S", "of --scaling: what a rank computes in each of its runs (default 1)"},
    {OPTIONS_SOLVE, "--well", "X,Y,RATE", "a well; a positive rate takes water out of its cell (repeatable)"},
    {~0u, "--help", NULL, "this text"}};
enum { NUM_OTHER_OPTIONS = sizeof other_options / sizeof other_options[0] };

static void describe(OptionText *option, const char *flag, const char *value, const char *help) {
  *option = (OptionText){.value = value, .setting = RPINN_NUM_SETTINGS, .help = help};
  snprintf(option->flag, sizeof option->flag, "%s", flag);
}

/* The flags of the table, --set, the settings, and the others: whatever the command has counts index down. */
bool option_at(const Command *command, size_t index, OptionText *option) {
  for (size_t i = 0; i < NUM_FLAGS; i++)
    if (flags[i].sets & command->option_sets && index-- == 0) {
      describe(option, flags[i].name, flags[i].value, flags[i].help);
      return true;
    }
  if (command->option_sets & OPTIONS_PROBLEM) {
    if (index-- == 0) {
      describe(option, override_option.flag, override_option.value, override_option.help);
      return true;
    }
    if (index < RPINN_NUM_SETTINGS) {
      *option = (OptionText){.value = "VALUE",
                             .setting = (RpinnSetting)index,
                             .help = rpinn_setting_definition((RpinnSetting)index)->help};
      flag_of_setting((RpinnSetting)index, option->flag, sizeof option->flag);
      return true;
    }
    index -= RPINN_NUM_SETTINGS;
  }
  for (size_t i = 0; i < NUM_OTHER_OPTIONS; i++)
    if (other_options[i].sets & command->option_sets && index-- == 0) {
      describe(option, other_options[i].flag, other_options[i].value, other_options[i].help);
      return true;
    }
  return false;
}

static int fail_unknown_flag(const Command *command, const char *flag) {
  enum { MOST = NUM_FLAGS + 1 + RPINN_NUM_SETTINGS + NUM_OTHER_OPTIONS };
  OptionText options[MOST];
  const char *known[MOST];
  size_t count = 0;
  for (; option_at(command, count, &options[count]); count++) known[count] = options[count].flag;
  const char *near = rpinn_nearest_name(flag, known, count);
  if (near)
    return report_usage("unknown option '%s' for rpinn %s; did you mean '%s'?", flag, command->name, near);
  return report_usage("unknown option '%s'; expected one of those that rpinn %s --help shows", flag,
                      command->name);
}

/* ---- parsing ---- */

typedef struct Arguments {
  int count, next;
  char **values;
} Arguments;

/* "--flag value" or "--flag=value". */
static int take_value(Arguments *arguments, const char *flag, const char *inline_value, const char **value) {
  if (inline_value)
    *value = inline_value;
  else if (arguments->next < arguments->count)
    *value = arguments->values[arguments->next++];
  else
    return report_usage("%s has no value; expected %s VALUE", flag, flag);
  return -1;
}

static int take_once(Arguments *arguments, const char *flag, const char *inline_value, const char **value) {
  if (*value) return report_usage("%s is given twice; expected it once", flag);
  int code = take_value(arguments, flag, inline_value, value);
  if (code < 0 && !**value) return report_usage("%s has an empty value; expected %s VALUE", flag, flag);
  return code;
}

static int add_override(Options *options, const char *name, size_t name_length, const char *value,
                        const char *origin, bool setting_only) {
  size_t index = options->loading.num_overrides;
  if (index == MAX_OVERRIDES) return report_usage("more than %d options; expected fewer", MAX_OVERRIDES);
  if (name_length >= sizeof options->names[index])
    return report_usage("'%.*s…' is too long for a name", 40, name);
  memcpy(options->names[index], name, name_length);
  options->names[index][name_length] = '\0';
  snprintf(options->origins[index], sizeof options->origins[index], "%s", origin);
  options->overrides[index] =
      (RpinnOverride){options->names[index], value, options->origins[index], setting_only};
  options->loading.num_overrides++;
  options->loading.overrides = options->overrides;
  return -1;
}

static int take_set(Options *options, const char *text) {
  const char *equals = strchr(text, '=');
  if (!equals || equals == text) return report_usage("--set is given '%s'; expected NAME=VALUE", text);
  return add_override(options, text, (size_t)(equals - text), equals + 1, "--set", false);
}

/* --datasets N, --folds K and --jobs N */
static int take_count(Arguments *arguments, const char *flag, const char *inline_value, unsigned long least,
                      size_t *count) {
  const char *value;
  int code = take_value(arguments, flag, inline_value, &value);
  if (code >= 0) return code;
  char *end;
  unsigned long number = strtoul(value, &end, 10);
  if (*value < '0' || *value > '9' || *end || number < least || number > 9999)
    return report_usage("%s is given '%s'; expected a whole number from %lu to 9999", flag, value, least);
  *count = number;
  return -1;
}

static const struct {
  const char *flag;
  bool is_whole;
  double most;
  const char *expected;
} bench_numbers[] = {{"--repetitions", true, 1000, "a whole number from 1 to 1000"},
                     {"--at-least", false, 10, "a share of the bars such as 0.5"},
                     {"--seconds", false, 1000, "seconds, up to 1000"}};
enum { NUM_BENCH_NUMBERS = sizeof bench_numbers / sizeof bench_numbers[0] };

/* The place of a flag of bench that takes a number; NUM_BENCH_NUMBERS: another one. */
static size_t find_bench_number(const char *flag) {
  size_t k = 0;
  while (k < NUM_BENCH_NUMBERS && strcmp(flag, bench_numbers[k].flag) != 0) k++;
  return k;
}

static int take_bench_number(Arguments *arguments, const char *flag, const char *inline_value,
                             Options *options) {
  const char *value;
  size_t which = find_bench_number(flag);
  int code = take_value(arguments, flag, inline_value, &value);
  if (code >= 0) return code;
  char *end;
  double number = strtod(value, &end);
  bool good = *value && !*end && number > 0 && number <= bench_numbers[which].most;
  if (!good || (bench_numbers[which].is_whole && number != (double)(size_t)number))
    return report_usage("%s is '%s'; expected %s", flag, value, bench_numbers[which].expected);
  switch (which) {
  case 0: options->repetitions = (size_t)number; break;
  case 1: options->at_least = number; break;
  default: options->seconds = number; break;
  }
  return -1;
}

static int take_well(Arguments *arguments, const char *flag, const char *inline_value, Options *options) {
  if (options->num_wells == MAX_WELLS) return report_usage("more than %d wells; expected fewer", MAX_WELLS);
  return take_value(arguments, flag, inline_value, &options->wells[options->num_wells++]);
}

static int take_search(Arguments *arguments, const char *flag, const char *inline_value, Options *options) {
  if (options->num_searches == MAX_SEARCHES)
    return report_usage("%s is given more than %d times; expected once or twice", flag, MAX_SEARCHES);
  return take_value(arguments, flag, inline_value, &options->searches[options->num_searches++]);
}

static int take_option(const Command *command, Arguments *arguments, const char *argument, Options *options) {
  char flag[64];
  const char *equals = strchr(argument, '='), *value;
  size_t length = equals ? (size_t)(equals - argument) : strlen(argument);
  snprintf(flag, sizeof flag, "%.*s", (int)length, argument);
  const char *inline_value = equals ? equals + 1 : NULL;
  const Flag *known = find_flag(command, flag);
  if (known && known->value)
    return take_once(arguments, flag, inline_value, (const char **)((char *)options + known->offset));
  if (known && inline_value) return report_usage("%s takes no value; found '%s'", flag, inline_value);
  if (known) {
    *(bool *)((char *)options + known->offset) = true;
    return -1;
  }
  bool has_runs = command->option_sets & (OPTIONS_CALIBRATE | OPTIONS_WEIGHTS);
  if (has_runs && !strcmp(flag, "--datasets"))
    return take_count(arguments, flag, inline_value, 1, &options->num_data_sets);
  if (has_runs && !strcmp(flag, "--folds"))
    return take_count(arguments, flag, inline_value, 2, &options->num_folds);
  if (has_runs && !strcmp(flag, "--jobs"))
    return take_count(arguments, flag, inline_value, 1, &options->num_jobs);
  if (command->option_sets & OPTIONS_BENCH && find_bench_number(flag) < NUM_BENCH_NUMBERS)
    return take_bench_number(arguments, flag, inline_value, options);
  if (command->option_sets & OPTIONS_WEIGHTS && !strcmp(flag, "--search"))
    return take_search(arguments, flag, inline_value, options);
  if (command->option_sets & OPTIONS_SOLVE && !strcmp(flag, "--well"))
    return take_well(arguments, flag, inline_value, options);
  if (command->option_sets & OPTIONS_PROBLEM) {
    int code = -1;
    if (!strcmp(flag, "--set")) {
      code = take_value(arguments, flag, inline_value, &value);
      return code >= 0 ? code : take_set(options, value);
    }
    for (size_t i = 0; i < RPINN_NUM_SETTINGS; i++) {
      char name[64];
      flag_of_setting((RpinnSetting)i, name, sizeof name);
      if (strcmp(flag, name) != 0) continue;
      const char *setting = rpinn_setting_definition((RpinnSetting)i)->name;
      code = take_value(arguments, flag, inline_value, &value);
      return code >= 0 ? code : add_override(options, setting, strlen(setting), value, flag, true);
    }
  }
  return fail_unknown_flag(command, flag);
}

int options_parse(const Command *command, int argc, char **argv, Options *options) {
  Arguments arguments = {.count = argc, .values = argv};
  bool only_positional = false;
  while (arguments.next < argc) {
    const char *argument = argv[arguments.next++];
    int code = -1;
    if (!only_positional && !strcmp(argument, "--"))
      only_positional = true;
    else if (!only_positional && (!strcmp(argument, "--help") || !strcmp(argument, "-h"))) {
      command_print_help(command);
      return EXIT_DONE;
    } else if (!only_positional && argument[0] == '-' && argument[1]) {
      code = take_option(command, &arguments, argument, options);
    } else if (!command->arguments[0]) {
      code = report_usage("rpinn %s takes no arguments; found '%s'", command->name, argument);
    } else if (options->num_arguments && !command->takes_many) {
      code = report_usage("a second %s '%s' after '%s'; expected one", command->arguments, argument,
                          options->problem);
    } else if (options->num_arguments == MAX_ARGUMENTS) {
      code = report_usage("more than %d arguments; expected fewer", MAX_ARGUMENTS);
    } else {
      if (!options->num_arguments) options->problem = argument;
      options->arguments[options->num_arguments++] = argument;
    }
    if (code >= 0) return code;
  }
  if (command->arguments[0] && !options->problem)
    return report_usage("rpinn %s needs %s; try rpinn %s --help", command->name, command->arguments,
                        command->name);
  return -1;
}

void command_print_help(const Command *command) {
  printf("rpinn %s %s%s[options]\n\n%s.\n%s", command->name, command->arguments,
         command->arguments[0] ? " " : "", command->summary, command->details);
  if (command->print_details) command->print_details();
  printf("\noptions\n");
  OptionText option;
  for (size_t i = 0; option_at(command, i, &option); i++) {
    char flag[128], words[512];
    if (option.setting < RPINN_NUM_SETTINGS) {
      rpinn_setting_describe(option.setting, words, sizeof words);
      printf("  %-24s %s\n%27s(%s)\n", option.flag, option.help, "", words);
      continue;
    }
    snprintf(flag, sizeof flag, "%s %s", option.flag, option.value ? option.value : "");
    printf("  %-24s %s\n", flag, option.help);
  }
}

/* ---- messages ---- */

int report_usage(const char *format, ...) {
  char message[2560];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  if (!launch_keeps(message)) fprintf(stderr, "rpinn: %s\n", rpinn_make_printable(message));
  return EXIT_USAGE;
}

int report_failure(const RpinnContext *context, RpinnStatus status) {
  char message[2560];
  rpinn_error_format(rpinn_context_error(context), message, sizeof message);
  const char *text = message[0] ? message : rpinn_status_meaning(status);
  if (!launch_keeps(text)) fprintf(stderr, "rpinn: %s\n", text);
  return rpinn_status_exit_code(status);
}

static void print_log(void *user, RpinnLogLevel level, const char *line) {
  (void)user;
  if (level >= RPINN_LOG_INFO && !launch_is_silent())
    fprintf(stderr, "rpinn: %s%s\n", level == RPINN_LOG_WARNING ? "warning: " : "", line);
}

RpinnContext *make_context(void) {
  RpinnContext *context = rpinn_context_create();
  if (context)
    rpinn_context_set_log(context, print_log, NULL);
  else
    fprintf(stderr, "rpinn: out of memory\n");
  return context;
}

int print_and_free(char *text) {
  if (!text) {
    fprintf(stderr, "rpinn: out of memory\n");
    return EXIT_MACHINE;
  }
  fputs(rpinn_make_printable(text), stdout); /* main looks after failures */
  free(text);
  return EXIT_DONE;
}
