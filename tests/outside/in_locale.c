/* A host program with a locale of its own, which has a comma in its numbers: loads a problem, checks it, runs it,
 * reports it, predicts with it, and prints what it is told.
 * Usage: in_locale LOCALE PROBLEM FOLDER POINTS [SETTING VALUE]... ("C": none). Exit code 77: there is no such locale. */
#include <locale.h>
#include <rpinn/rpinn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_OVERRIDES = 16, NO_LOCALE = 77 };

static bool has_comma(void) {
  char text[16];
  snprintf(text, sizeof text, "%g", 0.5);
  return strcmp(text, "0,5") == 0;
}

static int fail(const RpinnContext *context) {
  char text[1024];
  rpinn_error_format(rpinn_context_error(context), text, sizeof text);
  fprintf(stderr, "in_locale: %s\n", text);
  return 1;
}

static bool show(const char *title, char *text) {
  if (!text) return false;
  printf("---- %s\n%s\n", title, text);
  free(text);
  return true;
}

/* A message with numbers in it. */
static void show_mistake(RpinnContext *context, const char *problem) {
  RpinnOverride mistake = {"target_acceptance", "1.5", "--set", false};
  RpinnProblemOptions options = {.num_overrides = 1, .overrides = &mistake};
  RpinnProblem *none;
  rpinn_problem_load(context, problem, &options, &none);
  printf("---- mistake\n%s\n", rpinn_context_error(context)->message);
  rpinn_context_clear_error(context);
}

static int work(RpinnContext *context, char **arguments, const RpinnProblemOptions *options) {
  const char *name = arguments[2], *folder = arguments[3];
  show_mistake(context, name);
  RpinnProblem *problem;
  if (rpinn_problem_load(context, name, options, &problem) != RPINN_OK) return fail(context);
  RpinnCheck *check;
  if (rpinn_check_create(context, problem, &check) != RPINN_OK) return fail(context);
  show("check", rpinn_check_text(check));
  show("check as JSON", rpinn_check_json(check));
  rpinn_check_destroy(check);

  RpinnRun *run;
  if (rpinn_run(context, problem, &(RpinnRunOptions){.folder = folder}, &run) != RPINN_OK)
    return fail(context);
  if (rpinn_report_write(context, run) != RPINN_OK) return fail(context);
  printf("---- table\n%s\n", rpinn_run_table(run));
  rpinn_run_destroy(run);
  rpinn_problem_destroy(problem);

  bool shown = show("report", rpinn_report(context, 1, &folder, &(RpinnReportOptions){0})) &&
               show("summary", rpinn_run_summary(context, folder, false)) &&
               show("predictions",
                    rpinn_run_predict(context, folder, &(RpinnPredictOptions){.points_file = arguments[4]}));
  return shown ? 0 : fail(context);
}

int main(int argc, char **argv) {
  if (argc < 5 || argc > 5 + 2 * MOST_OVERRIDES || argc % 2 == 0) return 2;
  bool wants_comma = strcmp(argv[1], "C") != 0;
  if (!setlocale(LC_ALL, argv[1]) || has_comma() != wants_comma) return NO_LOCALE;
  RpinnOverride overrides[MOST_OVERRIDES];
  size_t count = (size_t)(argc - 5) / 2;
  for (size_t i = 0; i < count; i++)
    overrides[i] = (RpinnOverride){argv[5 + 2 * i], argv[6 + 2 * i], "--set", false};
  RpinnContext *context = rpinn_context_create();
  int code = work(context, argv, &(RpinnProblemOptions){.num_overrides = count, .overrides = overrides});
  rpinn_context_destroy(context);
  if (has_comma() == wants_comma) return code;
  fprintf(stderr, "in_locale: the library has changed the locale\n");
  return 1;
}
