/* report.html of a search for weights: figures of the criteria first. It is well-formed XML, as the page of a run is. */
#include <math.h>
#include <stddef.h>

#include "markup.h"
#include "report_page.h"
#include "report_table.h"
#include "weights_state.h"

static void write_head(const RpinnWeightSearch *search, RpinnText *page) {
  rpinn_text_append(page, "<header>\n<h1>");
  rpinn_markup_text(page, search->problem);
  rpinn_text_append(page, " <span>weights</span></h1>\n<p class=\"lead\">%s</p>\n<dl class=\"facts\">\n",
                    search->likelihood == RPINN_LIKELIHOOD_PAPER
                        ? "Weights of the terms decide all deviations of this likelihood: what each of them "
                          "says of the data, and of the truth where there is one."
                        : "Deviations of the terms are stated noise, so that weights and epsilon have no "
                          "meaning here: what the data say of the prior.");
  for (size_t a = 0; a < search->num_axes; a++) {
    rpinn_text_append(page, "<div><dt>");
    rpinn_markup_text(page, search->axes[a].name);
    rpinn_text_append(page, "</dt><dd>%zu values</dd></div>\n", search->axes[a].count);
  }
  rpinn_text_append(page, "<div><dt>Runs</dt><dd>%s, %s draws</dd></div>\n", search->draw_method,
                    search->base->problem->settings.values[RPINN_SETTING_SAMPLES].text);
  rpinn_text_append(page, "<div><dt>Scored on</dt><dd>");
  if (!search->num_quantities)
    rpinn_text_append(page, "no truth is known");
  else if (search->options->num_data_sets)
    rpinn_text_append(page, "%zu data sets of fresh noise", search->options->num_data_sets);
  else
    rpinn_text_append(page, "the data at hand");
  rpinn_text_append(page, "</dd></div>\n</dl>\n</header>\n");
}

static void write_figures(const RpinnWeightSearch *search, RpinnText *page) {
  rpinn_text_append(page,
                    "<section>\n<h2>Criteria</h2>\n<p>What each rule says of the grid; of errors light is "
                    "small.</p>\n<div class=\"figures maps\">\n");
  for (size_t r = 0; r < search->num_rules; r++)
    if (search->rules[r]->criterion) rpinn_weights_draw(search, search->rules[r], page);
  rpinn_text_append(page, "</div>\n</section>\n");
}

/* ---- what was chosen ---- */

enum { MOST_COLUMNS = 64 };

/* "f 27000, b 2700, epsilon 0" */
static void write_values(const RpinnWeightSearch *search, const RpinnWeightValues *values, RpinnText *page) {
  const char *comma = "";
  for (size_t t = 0; t < search->num_terms; t++) {
    bool has_weight = !isnan(values->weights[t]), has_noise = values->noise[t] != 1;
    if (!has_weight && !has_noise) continue;
    rpinn_text_append(page, "%s", comma);
    rpinn_markup_text(page, search->term_names[t]);
    rpinn_text_append(page, has_weight ? "&#160;" : "&#160;noise&#8201;&#215;&#8201;");
    rpinn_markup_number(page, has_weight ? values->weights[t] : values->noise[t], 4);
    comma = ", ";
  }
  if (!isnan(values->epsilon)) {
    rpinn_text_append(page, "%sepsilon&#160;", comma);
    rpinn_markup_number(page, values->epsilon, 4);
    comma = ", ";
  }
  if (!isnan(values->shape))
    rpinn_text_append(page, "%s%s", comma, rpinn_prior_shape_names[(size_t)values->shape]);
}

static void write_choice(const RpinnWeightSearch *search, const RpinnWeightChoice *choice, RpinnText *page) {
  const RpinnWeightCandidate *candidate = &search->candidates[choice->candidate],
                             *found = &search->candidates[candidate->same_as];
  rpinn_table_open_row(page, choice->label);
  rpinn_text_append(page, "<td class=\"text\">");
  write_values(search, &candidate->values, page);
  rpinn_text_append(page, "</td>");
  rpinn_table_number(page, candidate->prior, 4);
  for (size_t r = 0; r < search->num_rules; r++)
    if (search->rules[r]->criterion)
      rpinn_table_number(page, search->rules[r]->criterion(search, found),
                         search->rules[r]->takes_lowest ? 3 : 5);
  rpinn_text_append(page, "<td class=\"text\">");
  for (size_t a = 0; a < search->num_axes; a++) {
    if (!choice->is_at_end[a]) continue;
    rpinn_text_append(page, "at the end of ");
    rpinn_markup_text(page, search->axes[a].name);
    rpinn_text_append(page, " ");
  }
  rpinn_text_append(page, "</td></tr>\n");
}

static void write_choices(const RpinnWeightSearch *search, RpinnText *page) {
  const char *columns[MOST_COLUMNS] = {"@by", "@values", "<i>s</i><sub>p</sub>"};
  size_t count = 3;
  for (size_t r = 0; r < search->num_rules; r++)
    if (search->rules[r]->criterion) columns[count++] = search->rules[r]->name;
  columns[count++] = "@";
  rpinn_text_append(page, "<section>\n<h2>Chosen</h2>\n");
  rpinn_table_open(page, count, columns);
  for (size_t c = 0; c < search->num_choices; c++) write_choice(search, &search->choices[c], page);
  rpinn_table_close(page);
  rpinn_text_append(page, "<p class=\"note\">The first row is what the problem has now. ");
  for (size_t r = 0; r < search->num_rules; r++)
    rpinn_text_append(page, "<i>%s</i>: %s. ", search->rules[r]->name, search->rules[r]->meaning);
  rpinn_text_append(page, "</p>\n</section>\n");
}

/* ---- what it is worth ---- */

static void write_mean_cell(RpinnText *page, RpinnScoreMean mean, double factor, int digits) {
  rpinn_text_append(page, "<td>");
  rpinn_markup_number(page, factor * mean.mean, digits);
  if (!isnan(mean.error)) {
    rpinn_text_append(page, "&#8201;&#177;&#8201;");
    rpinn_markup_number(page, factor * mean.error, 2);
  }
  rpinn_text_append(page, "</td>");
}

static void write_scores(const RpinnWeightSearch *search, RpinnText *page) {
  static const char *const columns[] = {"@by", "@quantity", "rl2", "CRPS", "95&#8201;%", "LPP"};
  if (!search->num_quantities) return;
  rpinn_text_append(page, "<section>\n<h2>Against the truth</h2>\n");
  rpinn_table_open(page, 6, columns);
  for (size_t q = 0; q < search->num_quantities; q++)
    for (size_t c = 0; c < search->num_choices; c++) {
      const RpinnWeightCandidate *candidate = &search->candidates[search->choices[c].candidate];
      rpinn_table_open_row(page, search->choices[c].label);
      rpinn_table_code(page, search->quantity_names[q]);
      write_mean_cell(page, rpinn_weights_mean(search, candidate, q, offsetof(RpinnQuantityScore, rl2)), 1,
                      3);
      write_mean_cell(page, rpinn_weights_mean(search, candidate, q, offsetof(RpinnQuantityScore, crps)), 1,
                      3);
      write_mean_cell(page, rpinn_weights_mean(search, candidate, q, offsetof(RpinnQuantityScore, coverage)),
                      100, 3);
      write_mean_cell(page, rpinn_weights_mean(search, candidate, q, offsetof(RpinnQuantityScore, lpp)), 1,
                      4);
      rpinn_text_append(page, "</tr>\n");
    }
  rpinn_table_close(page);
  rpinn_text_append(page,
                    "<p class=\"note\">rl2, relative error of the mean; 95&#8201;%%, share of the truth that "
                    "intervals hold; CRPS, lower is better; LPP, higher.</p>\n</section>\n");
}

static void write_paste(const RpinnWeightSearch *search, RpinnText *page) {
  rpinn_text_append(page, "<section>\n<h2>To paste</h2>\n<pre>");
  rpinn_markup_text(page, search->yaml.bytes ? search->yaml.bytes : "");
  rpinn_text_append(page, "</pre>\n</section>\n");
  if (!search->left_out.bytes) return;
  rpinn_text_append(page, "<section>\n<h2>Left out</h2>\n<pre>");
  rpinn_markup_text(page, search->left_out.bytes);
  rpinn_text_append(page, "</pre>\n</section>\n");
}

RpinnStatus rpinn_weights_write_page(RpinnContext *context, const RpinnWeightSearch *search,
                                     RpinnText *page) {
  rpinn_report_open_page(search->problem, "weights", page);
  write_head(search, page);
  write_choices(search, page);
  write_figures(search, page);
  write_scores(search, page);
  write_paste(search, page);
  rpinn_report_close_page(&(RpinnReport){.page = page});
  return page->failed ? rpinn_fail_memory(context) : RPINN_OK;
}
