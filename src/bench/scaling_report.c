/* What was measured with 1, 2, … ranks, the model that is fitted to it, and what that says of more: a table, JSON, a figure. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "folders.h"
#include "part_file.h"
#include "scaling_model.h"
#include "scaling_row.h"
#include "svg_plot.h"

static const double larger_ranks[] = {4, 16, 64, 256, 1024};
static const double member_seconds[] = {0.01, 0.1, 1, 10};
enum {
  NUM_LARGER = sizeof larger_ranks / sizeof larger_ranks[0],
  NUM_COSTS = sizeof member_seconds / sizeof member_seconds[0],
  MEMBERS_PER_RANK = 100
};

static char *give(RpinnText *text) {
  if (!text->failed) return text->bytes;
  rpinn_text_free(text);
  return NULL;
}

/* ---- for people ---- */

static void append_number(RpinnText *text, const char *format, double number) {
  if (isnan(number))
    rpinn_text_append(text, "%12s", "-");
  else
    rpinn_text_append(text, format, number);
}

static void append_row(RpinnText *text, const RpinnScalingRow *row, const RpinnScalingModel *model) {
  double predicted = rpinn_scaling_efficiency(model, row->ranks, row->weak_members, row->member_seconds) /
                     rpinn_scaling_efficiency(model, 1, row->weak_members, row->member_seconds);
  rpinn_text_append(text, "%6.0f%11.1f%%%11.1f%%%11.1f%%%11.1f%%", row->ranks, 100 * row->weak,
                    100 * row->weak_alone, 100 * predicted, 100 * row->strong);
  append_number(text, "%12.0f", rpinn_scaling_served(row));
  append_number(text, "%12.1f", row->latency * 1e6);
  append_number(text, "%12.0f", row->bandwidth * 1e-6);
  rpinn_text_append(text, "%8.1f\n", row->load);
}

static void append_model(RpinnText *text, const RpinnScalingModel *model) {
  rpinn_text_append(text,
                    "\nmodel: a run of n members of c seconds on each of P ranks takes t0 + t1 P + max(n c, "
                    "P n a) + c + P n u\n"
                    "  t0 = %.1f ms, t1 = %.2f ms   to begin, and for each rank that is told\n"
                    "  a  = %.1f us         rank 0 serves a member: at most %.0f per second\n"
                    "  u  = %.1f us         rank 0 copies a draw into the store of the run\n",
                    model->start * 1e3, model->start_per_rank * 1e3, model->serve * 1e6, 1 / model->serve,
                    model->collect * 1e6);
}

static void append_outlook(RpinnText *text, const RpinnScalingModel *model) {
  rpinn_text_append(text, "\nefficiency with %d members for each rank, by this model:\n%12s",
                    MEMBERS_PER_RANK, "members of");
  for (size_t k = 0; k < NUM_LARGER; k++) rpinn_text_append(text, "%7.0f ranks", larger_ranks[k]);
  for (size_t c = 0; c < NUM_COSTS; c++) {
    rpinn_text_append(text, "\n%10.2f s", member_seconds[c]);
    for (size_t k = 0; k < NUM_LARGER; k++)
      rpinn_text_append(
          text, "%12.1f%%",
          100 * rpinn_scaling_efficiency(model, larger_ranks[k], MEMBERS_PER_RANK, member_seconds[c]));
  }
  rpinn_text_append(text, "\n\nIt assumes that every rank has a core of its own, that the network and the "
                          "file system are as quick as those\n"
                          "between the ranks that were measured, that draws are as small as those of the "
                          "trial (25 numbers; larger ones\n"
                          "take longer to copy), that members take about the same time, and that what rank 0 "
                          "does for a member does not depend on\n"
                          "the number of ranks. What is learnt before the draws, and results, are made by "
                          "rank 0 and not counted.\n");
}

char *rpinn_scaling_text(const RpinnScalingRow *rows, size_t count) {
  RpinnText text = {0};
  RpinnScalingModel model = rpinn_scaling_fit(rows, count);
  rpinn_text_append(&text,
                    "scaling over ranks of one thread each, with members of %.1f ms, %.0f for each rank "
                    "(weak) or %.0f in all (strong), "
                    "on %.0f cores\n\n%6s%12s%12s%12s%12s%12s%12s%12s%8s\n",
                    rows[0].member_seconds * 1e3, rows[0].weak_members, rows[0].strong_members, rows[0].cores,
                    "ranks", "weak", "weak, alone", "model", "strong", "served/s", "latency us", "MB/s",
                    "load");
  for (size_t k = 0; k < count; k++) append_row(&text, &rows[k], &model);
  rpinn_text_append(
      &text, "\nweak: what each rank takes for its members by itself, all of them at the same time, as a "
             "share of what they take together;\n"
             "weak, alone: the same for one rank alone, which also tells what the cores share, and what "
             "else they have to do; strong: beside one rank alone\n");
  append_model(&text, &model);
  append_outlook(&text, &model);
  return give(&text);
}

/* ---- for programs ---- */

char *rpinn_scaling_json(const RpinnScalingRow *rows, size_t count) {
  RpinnText text = {0};
  RpinnJson json = {.text = &text};
  RpinnScalingModel model = rpinn_scaling_fit(rows, count);
  rpinn_json_open(&json, NULL, '{');
  rpinn_json_open(&json, "rows", '[');
  for (size_t k = 0; k < count; k++) rpinn_scaling_row_write(&rows[k], &json);
  rpinn_json_close(&json, ']');
  rpinn_json_open(&json, "model", '{');
  rpinn_json_number(&json, "start", model.start);
  rpinn_json_number(&json, "start_per_rank", model.start_per_rank);
  rpinn_json_number(&json, "serve", model.serve);
  rpinn_json_number(&json, "collect", model.collect);
  rpinn_json_close(&json, '}');
  rpinn_json_open(&json, "efficiency", '[');
  for (size_t c = 0; c < NUM_COSTS; c++)
    for (size_t k = 0; k < NUM_LARGER; k++) {
      rpinn_json_open(&json, NULL, '{');
      rpinn_json_number(&json, "ranks", larger_ranks[k]);
      rpinn_json_number(&json, "members_per_rank", MEMBERS_PER_RANK);
      rpinn_json_number(&json, "member_seconds", member_seconds[c]);
      rpinn_json_number(
          &json, "efficiency",
          rpinn_scaling_efficiency(&model, larger_ranks[k], MEMBERS_PER_RANK, member_seconds[c]));
      rpinn_json_close(&json, '}');
    }
  rpinn_json_close(&json, ']');
  rpinn_json_close(&json, '}');
  rpinn_text_append(&text, "\n");
  return give(&text);
}

/* ---- the figure ---- */

/* A picture that stands alone, around the plot, and what its lines are, below. */
static void open_picture(RpinnText *text) {
  rpinn_text_append(
      text,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"640\" height=\"430\" viewBox=\"0 0 640 430\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"640\" height=\"430\" fill=\"#ffffff\"/>\n"
      "<svg width=\"640\" height=\"400\">\n");
}

static void close_picture(RpinnText *text) {
  rpinn_text_append(text, "</svg>\n");
  for (size_t c = 0; c < NUM_COSTS; c++)
    rpinn_text_append(text, "<text x=\"%zu\" y=\"418\" fill=\"%s\">%s%g s</text>\n", c ? 200 + 60 * c : 64,
                      rpinn_series_ink(c), c ? "" : "model, members of ", member_seconds[c]);
  rpinn_text_append(text, "<text x=\"460\" y=\"418\">points: measured, %g s</text>\n", member_seconds[0]);
  rpinn_text_append(text, "</svg>\n");
}

/* Weak scaling: the model's lines for members of each cost, and the points that were measured. */
char *rpinn_scaling_svg(const RpinnScalingRow *rows, size_t count) {
  enum { NUM_STEPS = 41 };
  RpinnText text = {0};
  RpinnScalingModel model = rpinn_scaling_fit(rows, count);
  double ranks[NUM_STEPS], shares[NUM_STEPS], ends[] = {1, 1024}, limits[] = {0, 1};
  RpinnAxis x = rpinn_axis_empty("ranks", true), y = rpinn_axis_empty("efficiency of weak scaling", false);
  rpinn_axis_include(&x, 2, ends);
  rpinn_axis_include(&y, 2, limits);
  for (size_t k = 0; k < count; k++) rpinn_axis_include(&y, 1, &rows[k].weak);
  rpinn_axis_settle(&x, 0);
  rpinn_axis_settle(&y, 0.02);
  RpinnPlot plot = {.page = &text, .x = x, .y = y, .frame = {640, 400, 64, 16, 16, 48}};
  open_picture(&text);
  rpinn_plot_open(&plot, "efficiency of weak scaling over ranks, by the model and as measured");
  for (size_t k = 0; k < NUM_STEPS; k++) ranks[k] = exp2(10.0 * (double)k / (NUM_STEPS - 1));
  for (size_t c = 0; c < NUM_COSTS; c++) {
    for (size_t k = 0; k < NUM_STEPS; k++)
      shares[k] = rpinn_scaling_efficiency(&model, ranks[k], MEMBERS_PER_RANK, member_seconds[c]);
    rpinn_plot_line(&plot, NUM_STEPS, ranks, shares, (RpinnStroke){rpinn_series_ink(c), 1.5, 1, NULL});
  }
  for (size_t k = 0; k < count; k++)
    rpinn_plot_points(&plot, 1, &rows[k].ranks, &rows[k].weak, 0,
                      (RpinnPointStyle){RPINN_MARKER_CIRCLE, 4, rpinn_series_ink(0), RPINN_INK_BLACK});
  rpinn_plot_close(&plot);
  close_picture(&text);
  return give(&text);
}

/* ---- files ---- */

/* Takes the bytes; NULL: out of memory. */
static RpinnStatus write_file(RpinnContext *context, const char *folder, const char *name, char *bytes) {
  char path[RPINN_PATH_SIZE];
  if (!bytes) return rpinn_fail_memory(context);
  RpinnText text = {.bytes = bytes, .length = strlen(bytes)};
  snprintf(path, sizeof path, "%.4000s/%s", folder, name);
  RpinnStatus status = rpinn_part_file_write(context, path, &text);
  rpinn_text_free(&text);
  return status;
}

RpinnStatus rpinn_scaling_write(RpinnContext *context, const char *folder, const RpinnScalingRow *rows,
                                size_t count) {
  RPINN_TRY(rpinn_make_folders(context, folder));
  RPINN_TRY(write_file(context, folder, "scaling.json", rpinn_scaling_json(rows, count)));
  return write_file(context, folder, "scaling.svg", rpinn_scaling_svg(rows, count));
}
