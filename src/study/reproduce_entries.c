/* The one list of what can be reproduced: a new entry is a line. */
#include "reproduce_figures.h"
#include "reproduce_studies.h"

static const RpinnReproduceKind tables = {.takes_methods = true,
                                          .plan = rpinn_reproduction_plan,
                                          .take = rpinn_reproduction_fill_rows,
                                          .finish = rpinn_reproduction_write_tables};

static const RpinnReproduceEntry entries[] = {
    {"table1", &tables, {"table1"}, "the linear Poisson equation by four methods"},
    {"table2", &tables, {"table2"}, "the non-linear Poisson equation by three methods"},
    {"table3", &tables, {"table3"}, "six chains of NUTS on the non-linear Poisson equation"},
    {"table4", &tables, {"table4"}, "Darcy flow by rPINN and ensembles"},
    {"darcy-nuts",
     &tables,
     {"darcy_nuts"},
     "four chains of NUTS on Darcy flow with sigma = 1, and their R-hat"},
    {"uniform-likelihood",
     &rpinn_uniform_likelihood,
     {"table1"},
     "do errors grow with more data under equal sigmas?"},
    {"sigma-p",
     &rpinn_prior_scale,
     {"table1", "table2", "table4"},
     "sigma_p by the rule with epsilon, and the printed sigmas"},
    {"fig-linear", &rpinn_curve_figures, {"table1"}, "curves of the runs of table1 with N_f = 32"},
    {"fig-nonlinear", &rpinn_curve_figures, {"table2", "table3"}, "curves of the runs of table2 and table3"},
    {"fig-nuts-convergence",
     &rpinn_convergence_figure,
     {"table1", "table3"},
     "traces and R-hat of the chains of table1 and table3"},
    {"fig-nuts-plane",
     &rpinn_plane_figure,
     {"table3"},
     "the posterior between chains of table3, and its curvature"},
    {"fig-darcy-y", &rpinn_darcy_maps, {"table4"}, "maps of the log conductivity in the runs of table4"},
    {"fig-darcy-h", &rpinn_darcy_maps, {"table4"}, "maps of the head in the runs of table4"},
    {"fig-reference", &rpinn_reference_maps, {"table4"}, "maps of the reference; no run is needed"},
    {"all", &rpinn_everything, {NULL}, "everything above, one after the other, and an index of it"},
};

size_t rpinn_num_reproduce_entries(void) {
  return sizeof entries / sizeof entries[0];
}
const RpinnReproduceEntry *rpinn_reproduce_entry(size_t index) {
  return &entries[index];
}
const char *rpinn_reproduce_name(size_t index) {
  return index < rpinn_num_reproduce_entries() ? entries[index].name : NULL;
}
const char *rpinn_reproduce_description(size_t index) {
  return index < rpinn_num_reproduce_entries() ? entries[index].description : NULL;
}
