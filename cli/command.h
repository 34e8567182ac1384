/* What the commands of the program share: options, messages, exit codes. */
#ifndef RPINN_CLI_COMMAND_H
#define RPINN_CLI_COMMAND_H

#include <rpinn/rpinn.h>

/* Exit codes of the contract. */
enum { EXIT_DONE = 0, EXIT_MACHINE = 1, EXIT_USAGE = 2, EXIT_PROBLEMS = 3, EXIT_INTERRUPTED = 130 };

/* Options that a command takes, beside the flags of the settings. */
typedef enum OptionSet {
  OPTIONS_PROBLEM = 1, /* --preset, --set, --data and a flag for every setting */
  OPTIONS_JSON = 2,    /* --json */
  OPTIONS_RUN = 4,     /* --out, --quiet, --resume, --plan */
  OPTIONS_BENCH = 8,   /* --repetitions, --at-least, --scaling and what it takes */
  OPTIONS_PREDICT = 16,
  OPTIONS_REPRODUCE = 32,
  OPTIONS_DIAGNOSE = 64,   /* --all, --strict, --shape */
  OPTIONS_REFERENCE = 128, /* --coordinates, --out, --quiet */
  OPTIONS_FIELD = 256,
  OPTIONS_SOLVE = 512,
  OPTIONS_REPORT = 1024, /* --out, --shape */
  OPTIONS_CALIBRATE = 2048,
  OPTIONS_CHECK = 4096, /* --prior, --out */
  OPTIONS_WEIGHTS = 8192,
  OPTIONS_MERGE = 1 << 14, /* --out, --partial, --quiet */
  OPTIONS_SHARD = 1 << 15  /* --shard */
} OptionSet;

enum { MAX_OVERRIDES = 256, MAX_ARGUMENTS = 16384, MAX_WELLS = 256, MAX_SEARCHES = 8 };

typedef struct Options {
  const char *problem; /* the first positional argument, or NULL */
  size_t num_arguments;
  const char *arguments[MAX_ARGUMENTS]; /* all of them */
  const char *out;                      /* --out, or NULL; so are the next ones */
  const char *points, *quantities, *scale, *data_folder, *methods, *members, *redraw, *from, *rules, *write,
      *shard, *learnt, *precision;
  const char *coordinates, *cells, *domain, *covariance, *length, *mean, *variance, *seed, *condition;
  const char *conductivity, *column, *sides[4], *source;
  int num_words; /* all that came after the program's name … */
  char **words;
  size_t num_wells;
  const char *wells[MAX_WELLS]; /* every --well */
  size_t num_searches;
  const char *searches[MAX_SEARCHES]; /* every --search */
  bool json, quiet, resume, plan, extrapolate, all, strict, shape, kriging, is_logarithm, keep_runs, prior,
      blocks, partial, scaling;
  const char *backend;          /* of bench and reproduce: --backend, or NULL */
  const char *ranks, *launcher; /* of --scaling */
  size_t repetitions;           /* --repetitions, or 0 */
  size_t num_data_sets;         /* --datasets, or 0 */
  size_t num_folds;             /* --folds, or 0 */
  size_t num_jobs;              /* --jobs, or 0 */
  double at_least, seconds;     /* --at-least and --seconds, or 0 */
  RpinnProblemOptions loading;
  RpinnOverride overrides[MAX_OVERRIDES];
  char names[MAX_OVERRIDES][64];
  char origins[MAX_OVERRIDES][64];
} Options;

/* What becomes of a command that a launcher starts several times. */
typedef enum CommandRanks {
  RANKS_REFUSED,     /* it is work for one process */
  RANKS_FIRST_ALONE, /* rank 0 prints, the others do nothing */
  RANKS_TOGETHER     /* all of them make it */
} CommandRanks;

typedef struct Command {
  const char *name;            /* of one word or two */
  const char *arguments;       /* "PROBLEM" or "" */
  bool takes_many;             /* one or more of them */
  const char *summary;         /* one line */
  const char *details;         /* further lines of its help, or "" */
  void (*print_details)(void); /* lines after these, or NULL */
  unsigned option_sets;        /* OptionSet */
  CommandRanks ranks;
  int (*run)(const Options *options);
} Command;

extern const Command command_bench, command_calibrate, command_check, command_compare, command_diagnose,
    command_list, command_merge, command_predict, command_reference_field, command_reference_solve,
    command_report, command_reproduce, command_run, command_summary, command_weights;

/* The commands in the order of the help, NULL after the last. */
const Command *command_at(size_t index);
/* Find the command that the arguments begin with and run it; the exit code. */
int dispatch(int argc, char **argv);

/* An option as help shows it. */
typedef struct OptionText {
  char flag[64];
  const char *value;    /* what its value is called, or NULL where it takes none */
  RpinnSetting setting; /* that it gives, or RPINN_NUM_SETTINGS */
  const char *help;
} OptionText;
/* Option number index of a command, in the order of its help; false after the last. */
bool option_at(const Command *command, size_t index, OptionText *option);

/* Fill options from the arguments after the command's name. Returns -1 to go on, else an exit code (help was
 * asked for, or a mistake was reported). */
int options_parse(const Command *command, int argc, char **argv, Options *options);
void command_print_help(const Command *command);

/* The message of a failed call to stderr, and its exit code. */
int report_failure(const RpinnContext *context, RpinnStatus status);
/* A mistake in the arguments; returns EXIT_USAGE. */
int report_usage(const char *format, ...) RPINN_PRINTF(1, 2);
/* The results of a finished run and its report, or how far a shard is, to stdout as the options want it; the exit code. */
int print_run(RpinnContext *context, const RpinnRun *run, const Options *options, const char *folder);
/* --shard, or all; -1 to go on, else the exit code of a mistake. */
int read_shard(RpinnContext *context, const Options *options, RpinnShard *shard);
/* The same of a study, with the command that makes the whole of it. */
int read_task_shard(RpinnContext *context, const Options *options, RpinnTaskShard *shard);
/* What a shard of a study has to say when it has ended; the exit code. */
int report_task_shard(RpinnTaskShard shard, const Options *options, const char *folder, bool is_interrupted);
/* A command that makes a folder of many runs: run_into with a context, signals caught, and --out or results/<problem>-<kind>. */
int run_study(const Options *options, const char *kind,
              int (*run_into)(RpinnContext *context, const Options *options, const char *folder));
/* Meet the other processes that a launcher has started, where the command is for all of them; -1 to go on, else an exit code. */
int launch_begin(const Command *command, int argc, char **argv);
/* Part with them; the exit code of all. */
int launch_end(int code);
/* Is this one of several, and the command (NULL: none) not for it, but for rank 0 alone? */
bool launch_leaves_it(const Command *command, int argc, char **argv);
/* Those whom the command is made with; NULL: nobody. */
RpinnRanks *launch_ranks(void);
/* Does another rank speak for this one? Then a message is kept for it. */
bool launch_is_silent(void);
bool launch_keeps(const char *message);

/* A context that prints warnings to stderr; reports failure to make one by returning NULL. */
RpinnContext *make_context(void);
/* rpinn bench --scaling */
int bench_scaling(RpinnContext *context, const Options *options);
/* Print a text and free it; EXIT_MACHINE when there is none (out of memory) or stdout fails. */
int print_and_free(char *text);

/* The first Ctrl-C, SIGTERM or SIGHUP (unless it is ignored, as under nohup) asks for a clean end; a Ctrl-C or SIGTERM
 * after it ends the program as usual. Functions that take the context stop with RPINN_ERROR_INTERRUPTED. A file that grows
 * beyond ulimit -f is a failed write, not the end of the program. */
void catch_signals(RpinnContext *context);
/* For commands whose product is a folder: a reader of the output who goes away is no reason to end. */
void go_on_without_readers(void);
/* Nobody reads the standard output any more. */
bool output_is_closed(void);
/* For RpinnRunOptions.interrupted and .progress; user of the latter is a ProgressLine. */
bool stop_is_requested(void *user);
typedef struct ProgressLine {
  bool terminal;
  double next_plain; /* seconds: where there is no terminal, a line every ten seconds */
} ProgressLine;
/* Seconds in words: "12 s", "3 min", "?" for NaN. */
void print_time(char text[32], double seconds);
void show_progress(void *user, const RpinnProgress *progress);

#endif
