#include "run_identity.h"

#include "gaussian_term.h"

RpinnStatus rpinn_run_statement(RpinnContext *context, const RpinnProblem *problem, bool truth_is_made,
                                RpinnText *text) {
  RpinnProblemFiles files = {.data = "data.csv",
                             .truth = "truth.csv",
                             .predict = "predict.csv",
                             .truth_is_made = truth_is_made,
                             .has_priors = true,
                             .only_fixed = true};
  return rpinn_problem_write(context, problem, &files, text);
}

RpinnStatus rpinn_run_identity(RpinnContext *context, const RpinnPosterior *posterior, RpinnText *identity) {
  bool truth_is_made = rpinn_posterior_saves_made_truth(posterior);
  RPINN_TRY(rpinn_run_statement(context, posterior->problem, truth_is_made, identity));
  rpinn_data_set_write(posterior->data, identity);
  for (size_t t = 0; t < posterior->problem->num_terms; t++) {
    const RpinnTermData *data = &posterior->data->terms[t];
    if (data->given.count) rpinn_gaussian_term_write_given(posterior->problem, data, identity);
    if (data->mix) rpinn_point_set_write(posterior->problem, &data->points, identity);
  }
  RPINN_TRY(rpinn_posterior_identify_backend(context, posterior, identity));
  return identity->failed ? rpinn_fail_memory(context) : RPINN_OK;
}
