/* What the captions of the paper's figures describe, in our words, and what ours shows in its place. */
#include <string.h>

#include "reproduce_figures.h"

enum { MAX_PANELS = 4 };

typedef struct Panel {
  const char *where, *paper, *ours;
} Panel;

typedef struct Caption {
  const char *name, *number; /* in the paper */
  Panel panels[MAX_PANELS];
} Caption;

static const Caption captions[] = {
    {"fig-linear",
     "Figure 2",
     {{"columns", "HMC, rPINN, SVGD, deep ensemble", "the same; HMC is NUTS in both"},
      {"rows", "u and f for (a) sigma = 0.1 and (b) sigma = 0.01, N_f = 32", "the same, one row each"},
      {"shaded", "mean plus and minus two standard deviations at each point", "the same"},
      {"HMC", "one chain, because all overlap",
       "all four chains, each in its colour: whether they overlap can be seen"}}},
    {"fig-nonlinear",
     "Figure 3",
     {{"columns", "HMC, rPINN, SVGD, deep ensemble", "the same; HMC is NUTS in both"},
      {"rows", "u and f for (a) sigma = 0.1 and (b) sigma = 0.01, N_f = 32", "the same, one row each"},
      {"shaded", "mean plus and minus two standard deviations at each point", "the same"},
      {"HMC", "the chains of Table 3", "six chains, each in its colour"}}},
    {"fig-reference",
     "Figure 4",
     {{"(a)", "the reference y with correlation length 0.5",
       "the same field; white dots are the measured cells"},
      {"(b)", "the reference h", "the same, as height above the right side"}}},
    {"fig-darcy-y",
     "Figure 5",
     {{"rows", "sigma = 1, 0.1, 0.01", "the same"},
      {"columns 1 to 3", "posterior mean, its error, standard deviation of y",
       "the same; means in the colours of the reference, errors in colours that are even around zero"},
      {"column 4", "1 inside the 95 % interval, 0 outside",
       "two colours, by mean plus and minus two standard deviations"}}},
    {"fig-darcy-h",
     "Figure 6",
     {{"rows", "sigma = 1, 0.1, 0.01", "the same"}, {"columns", "as in Figure 5, for h", "the same"}}},
    {"fig-nuts-convergence",
     "Figure 7",
     {{"rows", "linear and non-linear problem, several N_f and sigma", "every run of NUTS in Tables 1 and 3"},
      {"column 1", "log posterior density of each chain", "the same, after the warmup"},
      {"column 2", "histogram of R-hat over the parameters",
       "the same, with the usual R-hat (split chains, ranks); the paper's form is in the CSV file"},
      {"columns 3, 4", "traces of the parameters with R-hat next to 1 and with the largest", "the same"}}},
    {"fig-nuts-plane",
     "Figure 8",
     {{"(a)", "log density on the plane through the last draws of chains 1, 3 and 6, which differ in u",
       "chains with the smallest, the middle and the largest error of u; colours are log10 of 1 + the drop "
       "from the highest point"},
      {"(b)", "… through the first, middle and last draw of one chain", "of chain 1"},
      {"(c)", "eigenvalues of the Hessian of the log density at the end of each chain",
       "of the energy, its negative, over their rank; both axes logarithmic"}}}};

void rpinn_figure_append_caption(const char *name, RpinnText *text) {
  for (size_t i = 0; i < sizeof captions / sizeof captions[0]; i++) {
    if (strcmp(captions[i].name, name) != 0) continue;
    rpinn_text_append(text,
                      "Panel by panel beside the caption of %s:\n\n| | the paper | here |\n|---|---|---|\n",
                      captions[i].number);
    for (const Panel *panel = captions[i].panels; panel < captions[i].panels + MAX_PANELS && panel->where;
         panel++)
      rpinn_text_append(text, "| %s | %s | %s |\n", panel->where, panel->paper, panel->ours);
    rpinn_text_append(text, "\n");
  }
}
