/* rpinn reference field, rpinn reference solve */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

enum { MAX_NUMBERS = 4, NAME_SIZE = 64 };

/* ---- values of options ---- */

/* Numbers with commas between them; -1 to go on, else an exit code. strtod would also read 0x10. */
static int parse_numbers(const char *flag, const char *text, size_t most, double *numbers, size_t *count) {
  const char *at = text;
  for (*count = 0; *count < most && !strpbrk(text, "xX"); at++) {
    char *end;
    double number = strtod(at, &end);
    if (end == at || !isfinite(number) || (*end && *end != ',')) break;
    numbers[(*count)++] = number;
    at = end;
    if (!*end) return -1;
  }
  if (most == 1) return report_usage("%s is '%s'; expected a number", flag, text);
  return report_usage("%s is '%s'; expected 1 to %zu finite numbers with commas between them", flag, text,
                      most);
}

static int parse_number(const char *flag, const char *text, double *number) {
  size_t count;
  return text ? parse_numbers(flag, text, 1, number, &count) : -1;
}

/* 256x128: whole numbers without signs, so that 0x10 is zero cells and ten, not sixteen. */
static int parse_cells(const char *text, size_t cells[2], size_t *num_axes) {
  const char *at = text;
  for (*num_axes = 0; *num_axes < 2; at++) {
    size_t digits = strspn(at, "0123456789");
    if (!digits || digits > 9) break;
    cells[(*num_axes)++] = (size_t)strtoul(at, NULL, 10);
    at += digits;
    if (!*at) return -1;
    if (*at != 'x') break;
  }
  return report_usage("--cells is '%s'; expected such as 256x128, or 256 for an interval", text);
}

static int parse_seed(const char *text, uint64_t *seed) {
  if (!text) return -1;
  if (!*text || strspn(text, "0123456789") != strlen(text) || strlen(text) > 18)
    return report_usage("--seed is '%s'; expected a whole number of at most 18 digits", text);
  *seed = strtoull(text, NULL, 10);
  return -1;
}

/* "A,B" to two names, kept in the buffer. */
static int parse_names(const char *text, char buffer[2][NAME_SIZE], const char *names[2]) {
  if (!text) return -1;
  const char *comma = strchr(text, ',');
  size_t length = comma ? (size_t)(comma - text) : strlen(text);
  bool good = length && length < NAME_SIZE;
  if (good && comma) good = comma[1] && strlen(comma + 1) < NAME_SIZE && !strchr(comma + 1, ',');
  if (!good) return report_usage("--coordinates is '%s'; expected one name or two such as x1,x2", text);
  snprintf(buffer[0], NAME_SIZE, "%.*s", (int)length, text);
  names[0] = buffer[0];
  if (!comma) return -1;
  snprintf(buffer[1], NAME_SIZE, "%s", comma + 1);
  names[1] = buffer[1];
  return -1;
}

/* head:VALUE or flux:VALUE */
static int parse_side(const char *flag, const char *text, RpinnReferenceSide *side) {
  if (!text) return -1;
  side->fixes_head = !strncmp(text, "head:", 5);
  if (!side->fixes_head && strncmp(text, "flux:", 5) != 0)
    return report_usage("%s is '%s'; expected head:VALUE or flux:VALUE", flag, text);
  return parse_number(flag, text + 5, &side->value);
}

/* ---- results ---- */

static int show(RpinnContext *context, RpinnStatus status, RpinnReference *reference,
                const Options *options) {
  if (status == RPINN_OK && options->out) status = rpinn_reference_write(context, reference, options->out);
  int code = EXIT_DONE;
  if (status != RPINN_OK)
    code = report_failure(context, status);
  else if (options->json)
    code = print_and_free(rpinn_reference_json(reference));
  else if (!options->out)
    code = print_and_free(rpinn_reference_csv(reference));
  else if (!options->quiet)
    code = print_and_free(rpinn_reference_text(reference));
  if (code == EXIT_DONE && options->out && !options->json && !options->quiet) printf("%s\n", options->out);
  rpinn_reference_destroy(reference);
  rpinn_context_destroy(context);
  return code;
}

/* ---- field ---- */

static int parse_field(const Options *options, char names[2][NAME_SIZE], RpinnReferenceField *field) {
  double numbers[MAX_NUMBERS];
  size_t count;
  int code = parse_cells(options->cells, field->cells, &field->num_axes);
  if (code < 0 && options->domain) {
    code = parse_numbers("--domain", options->domain, 2 * field->num_axes, numbers, &count);
    if (code < 0 && count != 2 * field->num_axes)
      code = report_usage("--domain has %zu numbers; expected both ends of every coordinate (%zu)", count,
                          2 * field->num_axes);
    for (size_t i = 0; code < 0 && i < field->num_axes; i++) {
      field->low[i] = numbers[2 * i];
      field->high[i] = numbers[2 * i + 1];
    }
  }
  if (code < 0) code = parse_numbers("--length", options->length, field->num_axes, field->length, &count);
  if (code < 0 && count == 1) field->length[1] = field->length[0];
  if (code < 0) code = parse_number("--mean", options->mean, &field->mean);
  if (code < 0) code = parse_number("--variance", options->variance, &field->variance);
  if (code < 0) code = parse_seed(options->seed, &field->seed);
  return code < 0 ? parse_names(options->coordinates, names, field->coordinates) : code;
}

static int run_field(const Options *options) {
  char names[2][NAME_SIZE];
  RpinnReferenceField field = {.high = {1, 1},
                               .variance = 1,
                               .covariance = options->covariance,
                               .condition_file = options->condition,
                               .kriging = options->kriging};
  if (!options->cells || !options->covariance || !options->length)
    return report_usage("rpinn reference field needs %s; try rpinn reference field --help",
                        !options->cells        ? "--cells N1xN2"
                        : !options->covariance ? "--covariance NAME"
                                               : "--length L");
  if (options->kriging && !options->condition)
    return report_usage("--kriging without measurements; expected --condition FILE.csv beside it");
  if (options->kriging && options->seed)
    return report_usage("--seed with --kriging, which draws nothing; expected one of them");
  int code = parse_field(options, names, &field);
  if (code >= 0) return code;
  RpinnContext *context = make_context();
  RpinnReference *reference = NULL;
  if (!context) return EXIT_MACHINE;
  RpinnStatus status = rpinn_reference_field(context, &field, &reference);
  return show(context, status, reference, options);
}

const Command command_reference_field = {.name = "reference field",
                                         .arguments = "",
                                         .summary =
                                             "Draw a Gaussian random field, free or given measurements",
                                         .details = "The covariance is variance * prod_i rho(d_i/L_i) with "
                                                    "rho(r) = exp(-r^2) for squared_exponential (no 1/2), "
                                                    "exp(-r)\n"
                                                    "for exponential. Columns: the coordinates of the cell "
                                                    "centres, y, and k = exp(y); with --kriging y and "
                                                    "y_std.\n"
                                                    "A problem file can name the table as its truth.\n",
                                         .option_sets = OPTIONS_FIELD | OPTIONS_REFERENCE | OPTIONS_JSON,
                                         .run = run_field};

/* ---- solve ---- */

static int parse_flow(const Options *options, char names[2][NAME_SIZE], RpinnReferenceWell *wells,
                      RpinnReferenceFlow *flow) {
  static const char *const flags[4] = {"--left", "--right", "--bottom", "--top"};
  int code = parse_number("--source", options->source, &flow->source);
  for (size_t side = 0; side < 4 && code < 0; side++)
    code = parse_side(flags[side], options->sides[side], &flow->sides[side]);
  for (size_t w = 0; w < options->num_wells && code < 0; w++) {
    double numbers[MAX_NUMBERS];
    size_t count;
    code = parse_numbers("--well", options->wells[w], 3, numbers, &count);
    if (code < 0 && count < 2) code = report_usage("--well is '%s'; expected X,Y,RATE", options->wells[w]);
    if (code < 0)
      wells[w] = (RpinnReferenceWell){{numbers[0], count > 2 ? numbers[1] : (double)NAN}, numbers[count - 1]};
  }
  flow->num_wells = options->num_wells;
  flow->wells = wells;
  return code < 0 ? parse_names(options->coordinates, names, flow->coordinates) : code;
}

static int run_solve(const Options *options) {
  static RpinnReferenceWell wells[MAX_WELLS];
  char names[2][NAME_SIZE];
  RpinnReferenceFlow flow = {.conductivity_file = options->conductivity,
                             .column = options->column,
                             .is_logarithm = options->is_logarithm};
  if (!options->conductivity)
    return report_usage(
        "rpinn reference solve needs --conductivity FILE.csv; try rpinn reference solve --help");
  if (options->is_logarithm && !options->column)
    return report_usage("--log without a column; expected --column NAME beside it");
  int code = parse_flow(options, names, wells, &flow);
  if (code >= 0) return code;
  RpinnContext *context = make_context();
  RpinnReference *reference = NULL;
  if (!context) return EXIT_MACHINE;
  RpinnStatus status = rpinn_reference_solve(context, &flow, &reference);
  return show(context, status, reference, options);
}

const Command command_reference_solve = {
    .name = "reference solve",
    .arguments = "",
    .summary = "Solve steady flow, div(k grad h) = s, by finite volumes",
    .details = "The rows of the table are the centres of equal cells, in any order. A head stands at the "
               "face of its "
               "side, half\n"
               "a cell from the centres; one side at least has one. Fluxes are positive inwards; sources and "
               "wells are "
               "positive\n"
               "outwards. Columns: the coordinates, y = log k, k and the head h.\n",
    .option_sets = OPTIONS_SOLVE | OPTIONS_REFERENCE | OPTIONS_JSON,
    .run = run_solve};
