/* Every file of tests/bad is a mistake. It is refused as bad input, at the place and with the words that its
 * first lines announce; see tests/bad/README.md. */
#include "check.h"
#include "paper_way.h"

#include <dirent.h>
#include <unistd.h>

#include "rpinn/rpinn.h"

enum { MAX_CASES = 2000, TEXT_SIZE = 2048, MAX_OVERRIDES = 8, FEWEST_CASES = 250 };

typedef struct Case {
  char name[256];
  char expect[TEXT_SIZE], args[TEXT_SIZE];
  bool data_required;
  /* out of expect: */
  char file[512];
  size_t line, column;
  char words[TEXT_SIZE];
} Case;

/* ---- what a file announces ---- */

static bool take_header(const char *line, const char *key, char value[TEXT_SIZE]) {
  size_t length = strlen(key);
  if (strncmp(line, key, length) != 0) return false;
  snprintf(value, TEXT_SIZE, "%s", line + length);
  value[strcspn(value, "\n")] = '\0';
  return true;
}

/* Take a number off the end of "a:b:3"; 0 when there is none. */
static size_t take_number(char *place) {
  char *digits = strrchr(place, ':');
  digits = digits ? digits + 1 : place;
  if (!*digits || strspn(digits, "0123456789") != strlen(digits)) return 0;
  size_t number = (size_t)strtoul(digits, NULL, 10);
  digits[digits > place ? -1 : 0] = '\0';
  return number;
}

/* "FILE:LINE:COLUMN: words", where FILE may be left out. */
static void split_expectation(Case *c) {
  const char *colon = strstr(c->expect, ": ");
  check_true(colon, "%s announces no place", c->name);
  snprintf(c->file, sizeof c->file, "%.*s", (int)(colon - c->expect), c->expect);
  snprintf(c->words, sizeof c->words, "%s", colon + 2);
  c->column = take_number(c->file);
  c->line = take_number(c->file);
  if (!c->line) { /* one number is a line */
    c->line = c->column;
    c->column = 0;
  }
  if (!c->file[0]) snprintf(c->file, sizeof c->file, "%s", c->name);
}

static bool read_case(const char *name, Case *c) {
  FILE *file = fopen(name, "rb");
  char line[TEXT_SIZE], ignored[TEXT_SIZE];
  assert_non_null(file);
  *c = (Case){.data_required = false};
  snprintf(c->name, sizeof c->name, "%s", name);
  bool announced = fgets(line, sizeof line, file) && take_header(line, "# expect: ", c->expect);
  while (announced && fgets(line, sizeof line, file) && line[0] == '#') {
    take_header(line, "# args: ", c->args);
    c->data_required |= take_header(line, "# needs: data", ignored);
  }
  fclose(file);
  if (announced) split_expectation(c);
  return announced;
}

/* ---- the command line's part ---- */

typedef struct Given {
  RpinnProblemOptions options;
  RpinnOverride overrides[MAX_OVERRIDES];
  char flags[MAX_OVERRIDES][64];
} Given;

/* "--set k=1 --preset p --samples 3"; cuts args into words. */
static void read_args(char *args, Given *given) {
  char *rest = args;
  for (char *flag = strtok_r(args, " ", &rest); flag; flag = strtok_r(NULL, " ", &rest)) {
    char *value = strtok_r(NULL, " ", &rest);
    assert_non_null(value);
    if (!strcmp(flag, "--preset")) {
      given->options.preset = value;
    } else if (!strcmp(flag, "--data")) {
      given->options.data_file = value;
    } else {
      size_t index = given->options.num_overrides++;
      RpinnOverride *override = &given->overrides[index];
      assert_true(index < MAX_OVERRIDES);
      *override = (RpinnOverride){.value = value, .origin = flag, .setting_only = true};
      if (!strcmp(flag, "--set")) {
        char *equals = strchr(value, '=');
        assert_non_null(equals);
        *equals = '\0';
        *override = (RpinnOverride){.name = value, .value = equals + 1, .origin = flag};
      } else { /* --prior-scale */
        snprintf(given->flags[index], sizeof given->flags[index], "%s", flag + 2);
        for (char *at = given->flags[index]; *at; at++) *at = *at == '-' ? '_' : *at;
        override->name = given->flags[index];
      }
    }
  }
  given->options.overrides = given->overrides;
}

/* A chain, after the one that args may name. */
static RpinnStatus diagnose(RpinnContext *context, const Case *c) {
  const char *files[] = {c->args, c->name};
  size_t skipped = !c->args[0];
  bool healthy;
  char *text = rpinn_diagnose_csv(context, 2 - skipped, files + skipped, NULL, &healthy);
  free(text);
  return text ? RPINN_OK : rpinn_context_error(context)->status;
}

static RpinnStatus load(RpinnContext *context, Case *c) {
  Given given = {.options = {.preset = NULL}};
  size_t length = strlen(c->name);
  bool is_table = length > 4 && !strcmp(c->name + length - 4, ".csv");
  RpinnProblem *problem = NULL;
  RpinnPosterior *posterior = NULL;
  if (!strncmp(c->name, "chain_", 6)) return diagnose(context, c);
  read_args(c->args, &given);
  if (is_table) given.options.data_file = c->name;
  char path[300]; /* a bare name would be looked for among the shipped problems first */
  snprintf(path, sizeof path, "%s", is_table ? "good.yaml" : c->name);
  RpinnStatus status = rpinn_problem_load(context, path, &given.options, &problem);
  if (status == RPINN_OK) status = rpinn_posterior_create(context, problem, c->data_required, &posterior);
  rpinn_posterior_destroy(posterior);
  rpinn_problem_destroy(problem);
  return status;
}

/* ---- comparing ---- */

/* Pieces between "…" occur in this order; the first one at the start. */
static bool matches(const char *message, const char *words) {
  static const char gap[] = "…";
  char pieces[TEXT_SIZE];
  snprintf(pieces, sizeof pieces, "%s", words);
  bool first = true;
  for (char *piece = pieces; piece;) {
    char *end = strstr(piece, gap);
    if (end) *end = '\0';
    size_t length = strlen(piece);
    while (length && piece[length - 1] == ' ') piece[--length] = '\0';
    const char *found = strstr(message, piece);
    if (!found || (first && found != message)) return false;
    message = found + length;
    first = false;
    piece = end ? end + sizeof gap - 1 : NULL;
  }
  return true;
}

static bool check_case(Case *c) {
  RpinnContext *context = rpinn_context_create();
  assert_non_null(context);
  RpinnStatus status = load(context, c);
  const RpinnError *error = rpinn_context_error(context);
  bool good = status == RPINN_ERROR_INPUT && error->status == status && !strcmp(error->file, c->file) &&
              error->line == c->line && error->column == c->column && matches(error->message, c->words);
  if (!good)
    print_error("%s\n  expected %s:%zu:%zu: %s\n  found    %s:%zu:%zu: %s (%s)\n", c->name, c->file, c->line,
                c->column, c->words, error->file, error->line, error->column, error->message,
                rpinn_status_name(status));
  rpinn_context_destroy(context);
  return good;
}

static int compare_names(const void *left, const void *right) {
  return strcmp(left, right);
}

static void test_every_file(void **state) {
  (void)state;
  static char names[MAX_CASES][256];
  size_t num_files = 0, num_cases = 0, num_failed = 0;
  DIR *folder = opendir(".");
  assert_non_null(folder);
  for (struct dirent *entry; (entry = readdir(folder)) && num_files < MAX_CASES;)
    if (entry->d_name[0] != '.') snprintf(names[num_files++], sizeof names[0], "%s", entry->d_name);
  closedir(folder);
  qsort(names, num_files, sizeof names[0], compare_names);
  for (size_t i = 0; i < num_files; i++) {
    static Case c;
    if (!read_case(names[i], &c)) continue;
    num_cases++;
    num_failed += !check_case(&c);
  }
  print_message("%zu mistakes\n", num_cases);
  check_true(num_cases >= FEWEST_CASES, "only %zu files announce a mistake", num_cases);
  check_true(num_failed == 0, "%zu of %zu", num_failed, num_cases);
}

/* What the cases build upon is sound. */
static void test_good_files(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnProblem *problem;
  RpinnPosterior *posterior;
  assert_int_equal(rpinn_problem_load(context, "good.yaml", NULL, &problem), RPINN_OK);
  assert_int_equal(rpinn_posterior_create(context, problem, true, &posterior), RPINN_OK);
  rpinn_posterior_destroy(posterior);
  rpinn_problem_destroy(problem);
  rpinn_context_destroy(context);
}

static void check_message(RpinnContext *context, RpinnStatus status, const char *words) {
  assert_int_equal(status, RPINN_ERROR_INPUT);
  check_true(strstr(rpinn_context_error(context)->message, words), "%s",
             rpinn_context_error(context)->message);
}

/* Too large to keep as files, or no file at all. */
static void test_without_a_file(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnProblem *problem;
  size_t length = ((size_t)64 << 20) + 1;
  char *text = malloc(length);
  assert_non_null(text);
  memset(text, ' ', length);
  check_message(context, rpinn_problem_parse(context, "large.yaml", text, length, NULL, &problem), "64 MiB");
  assert_string_equal(rpinn_context_error(context)->file, "large.yaml");
  assert_null(problem);
  free(text);
  check_message(context, rpinn_problem_load(context, "poisson-liner", NULL, &problem),
                "did you mean 'poisson-linear'?");
  check_message(context, rpinn_problem_load(context, "nowhere.yaml", NULL, &problem), "cannot open");
  assert_string_equal(rpinn_context_error(context)->file, "nowhere.yaml");
  check_message(context, rpinn_problem_load(context, "./", NULL, &problem), "directory");
  rpinn_context_destroy(context);
}

/* A small file that asks for the derivative of a large expression again and again. */
static void test_endless_derivatives(void **state) {
  (void)state;
  enum { NESTED = 13, REPEATED = 4000 };
  char *text = malloc(1 << 20), *end = text;
  assert_non_null(text);
  end += sprintf(end, "name: long\ncoordinates: {x: [0, 1]}\nfields: {u: {network: [2]}}\nquantities:\n"
                      "  a: exp(sin(u*x)*cos(u/(1 + x^2)))^u\n  b: \"");
  for (int i = 0; i < NESTED; i++) end += sprintf(end, "d(");
  end += sprintf(end, "a");
  for (int i = 0; i < NESTED; i++) end += sprintf(end, ", x)");
  end += sprintf(end, "\"\n  c: u");
  for (int i = 0; i < REPEATED; i++) end += sprintf(end, " + d(b, x)");
  end += sprintf(end, "\nterms: {f: {expect: c, at: {grid: 2}, data: 0, noise: 1}}\n");
  RpinnContext *context = rpinn_context_create();
  RpinnProblem *problem;
  check_message(context,
                rpinn_problem_parse(context, "long.yaml", text, (size_t)(end - text), NULL, &problem),
                "steps to differentiate");
  assert_int_equal(rpinn_context_error(context)->line, 7);
  free(text);
  rpinn_context_destroy(context);
}

/* ---- doubtful, but not wrong: rpinn check warns ---- */

#define HEAD                                                                                                 \
  "name: doubt\ncoordinates: {x: [0, 1]}\nconstants: {s: 0.1}\nprior: {reference_term: a}\n"                 \
  "settings: {" PAPER_SETTINGS "}\n"                                                                         \
  "fields: {u: {network: [2]}, v: {network: [2]}}\n"
#define TERM_A "terms:\n  a: {expect: u + v, at: {grid: 4}, data: 0, noise: s}\n"

static void test_warnings(void **state) {
  (void)state;
  static const struct {
    const char *text, *warning; /* NULL: none */
  } doubts[] = {
      {HEAD TERM_A, NULL},
      {HEAD TERM_A "  b: {expect: u, at: {grid: 4}, data: truth, weight: 1}\ntruth: {u: x}\n",
       "term 'b' takes the truth as it is"},
      {HEAD TERM_A "  b: {expect: u, at: {grid: 4}, data: truth, noise: 0, weight: 1e4}\ntruth: {u: x}\n",
       "more than its stated noise"},
      {HEAD "terms:\n  a: {expect: u, at: {grid: 4}, data: 0, noise: s}\n",
       "field 'v' is in no fitted term: only the prior decides it"},
      {HEAD TERM_A "unknowns: {c: {start: 1}}\n", "unknown 'c' is in no fitted term"},
      {HEAD TERM_A "quantities: {q: 2*u}\n", "quantity 'q' is used nowhere"},
      {HEAD TERM_A "quantities: {q: 2*u}\npredict: {grid: 3, quantities: [q]}\n", NULL},
      {"name: doubt\ncoordinates: {x: [0, 1]}\nconstants: {s: 0.1, t: 2, w: 2*t}\nfields: {u: {network: "
       "[2]}}\n"
       "terms:\n  a: {expect: u, at: {grid: 4}, data: 0, noise: s}\nprior: {reference_term: a}\n"
       "settings: {likelihood: paper}\n",
       "constant 'w' is used nowhere"},
      {HEAD TERM_A "truth: {csv: truth_good.csv, v: 2*u}\n", NULL},
      {HEAD TERM_A "truth: {csv: truth_extra.csv, v: 2*u}\n", "column 'uu' of the truth is used nowhere"},
      {HEAD TERM_A "quantities: {q: 2*u}\ntruth: {u: x, q: 3*x}\npredict: {grid: 3, quantities: [q]}\n",
       "the truth of 'q' differs"},
  };
  for (size_t i = 0; i < sizeof doubts / sizeof doubts[0]; i++) {
    RpinnContext *context = rpinn_context_create();
    RpinnProblem *problem;
    RpinnCheck *check = NULL;
    RpinnStatus status =
        rpinn_problem_parse(context, "doubt.yaml", doubts[i].text, strlen(doubts[i].text), NULL, &problem);
    if (status == RPINN_OK) status = rpinn_check_create(context, problem, &check);
    check_true(status == RPINN_OK, "%s", rpinn_context_error(context)->message);
    char *text = rpinn_check_text(check);
    const char *warning = strstr(text, "warning: ");
    if (doubts[i].warning)
      check_true(warning && strstr(warning, doubts[i].warning), "case %zu:\n%s", i, text);
    else
      check_true(!warning, "case %zu:\n%s", i, text);
    free(text);
    rpinn_check_destroy(check);
    rpinn_problem_destroy(problem);
    rpinn_context_destroy(context);
  }
}

/* perturb: false keeps a truth clean, and says so in the file that is written. */
static void test_clean_truth(void **state) {
  (void)state;
  static const char text[] = HEAD TERM_A "  b: {expect: u, at: {points: [0.5]}, data: truth, noise: s, "
                                         "perturb: false}\ntruth: {u: x}\n";
  RpinnContext *context = rpinn_context_create();
  RpinnProblem *problem;
  RpinnPosterior *posterior;
  double *theta, *rows;
  assert_int_equal(rpinn_problem_parse(context, "clean.yaml", text, sizeof text - 1, NULL, &problem),
                   RPINN_OK);
  assert_int_equal(rpinn_posterior_create(context, problem, true, &posterior), RPINN_OK);
  theta = calloc(rpinn_posterior_num_parameters(posterior), sizeof *theta);
  rows = calloc(rpinn_posterior_num_rows(posterior), sizeof *rows);
  assert_true(theta && rows);
  assert_int_equal(rpinn_posterior_residuals(context, posterior, theta, rows, NULL), RPINN_OK);
  /* With theta = 0 the field is 0, and the row is (0 - data) / s_t. */
  check_relative(-rows[4] * rpinn_posterior_term_sigma(posterior, 1), 0.5, 1e-14);
  free(theta);
  free(rows);
  rpinn_posterior_destroy(posterior);
  rpinn_problem_destroy(problem);
  rpinn_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_file),     cmocka_unit_test(test_good_files),
      cmocka_unit_test(test_without_a_file), cmocka_unit_test(test_endless_derivatives),
      cmocka_unit_test(test_warnings),       cmocka_unit_test(test_clean_truth)};
  const char *source = getenv("RPINN_SOURCE_DIR");
  char folder[4096];
  snprintf(folder, sizeof folder, "%s/tests/bad", source ? source : "..");
  if (chdir(folder) != 0) {
    fprintf(stderr, "cannot enter %s; expected RPINN_SOURCE_DIR to be the source tree\n", folder);
    return 1;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
