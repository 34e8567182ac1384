/* The verdict from evidence made by hand: every finding on both sides of its bound, word for word, and as files have it. */
#include "check.h"

#include <stddef.h>

#include "verdict.h"

enum { TERMS = 2, QUANTITIES = 2 };
static const double unknown = (double)NAN;

typedef struct Evidence {
  RpinnTermEvidence terms[TERMS]; /* measured, and a tolerance */
  RpinnQuantityEvidence quantities[QUANTITIES];
  RpinnHeldOutEvidence held_out[1];
  RpinnVerdictEvidence all;
} Evidence;

/* A run that nothing speaks against. */
static void make_good(Evidence *made) {
  const RpinnTermEvidence measured = {.name = "d",
                                      .is_measured = true,
                                      .sigma = 0.1,
                                      .noise = 0.1,
                                      .num_rows = 30,
                                      .loss = 1,
                                      .loss_freedom = 25,
                                      .z_error = 0.05,
                                      .z_square = 1,
                                      .z_freedom = 25};
  RpinnTermEvidence tolerance = measured;
  tolerance.name = "pde", tolerance.is_measured = false, tolerance.sigma = tolerance.noise = 0.02;
  *made = (Evidence){.terms = {measured, tolerance},
                     .quantities = {{"u", unknown, unknown, unknown, unknown, unknown, unknown},
                                    {"f", 0.1, 0.3, 1, unknown, unknown, unknown}},
                     .held_out = {{"later", 50, 0.94}},
                     .all = {.unit = "member",
                             .num_draws = 79,
                             .num_minimised = 79,
                             .median_gain = 1e-3,
                             .pareto_k = 0.9, /* of weights that are not used */
                             .likelihood = "noise",
                             .energy = 60,
                             .energy_expected = 60,
                             .misfit = 0.7,
                             .misfit_of_nothing = 40,
                             .num_parameters = 500,
                             .num_terms = TERMS,
                             .num_quantities = QUANTITIES,
                             .num_held_out = 1,
                             .terms = made->terms,
                             .quantities = made->quantities,
                             .held_out = made->held_out}};
}

static RpinnVerdict judged(const Evidence *made) {
  RpinnVerdict verdict;
  rpinn_verdict_judge(&made->all, &verdict);
  return verdict;
}

static void check_nothing(const Evidence *made) {
  RpinnVerdict verdict = judged(made);
  check_true(verdict.num_findings == 0, "found %s", verdict.findings[0].sentence);
  assert_int_equal(verdict.word, RPINN_VERDICT_GOOD);
}

/* The only finding, and the word that follows from it. */
static void check_only(const Evidence *made, const char *id, RpinnSeverity severity, const char *sentence) {
  RpinnVerdict verdict = judged(made);
  check_true(verdict.num_findings == 1, "%zu findings for %s, the first: %s", verdict.num_findings, id,
             verdict.findings[0].sentence);
  assert_string_equal(verdict.findings[0].id, id);
  assert_int_equal(verdict.findings[0].severity, severity);
  assert_int_equal(verdict.word, severity == RPINN_SEVERITY_BAD       ? RPINN_VERDICT_BAD
                                 : severity == RPINN_SEVERITY_CAUTION ? RPINN_VERDICT_FAIR
                                                                      : RPINN_VERDICT_GOOD);
  if (sentence) assert_string_equal(verdict.findings[0].sentence, sentence);
}

static void nothing_to_say(void **state) {
  (void)state;
  Evidence made;
  make_good(&made);
  check_nothing(&made);
}

static void failures(void **state) {
  (void)state;
  Evidence made;
  make_good(&made);
  made.all.num_draws = made.all.num_minimised = 98, made.all.num_failed = 2;
  check_only(&made, "failed", RPINN_SEVERITY_NOTE, NULL);
  made.all.num_draws = 97, made.all.num_failed = 3;
  check_only(&made, "failed", RPINN_SEVERITY_CAUTION,
             "3 of 100 members failed: their loss was not finite in any attempt, and they are left out. Try "
             "--optimizer lm or a smaller --learning-rate.");
  made.all.num_draws = 79, made.all.num_failed = 20;
  check_only(&made, "failed", RPINN_SEVERITY_BAD, NULL);
}

/* Members that still fall: a note where they are few, or where bands stay as they are when some go on. */
static void convergence(void **state) {
  (void)state;
  Evidence made;
  make_good(&made);
  made.all.num_unconverged = 39; /* of 79 */
  check_only(
      &made, "unconverged", RPINN_SEVERITY_NOTE,
      "39 of 79 members did not converge: the loss still fell. Raise --iterations, or use --optimizer lm.");
  made.all.num_unconverged = 40, made.all.median_gain = 4.26;
  for (size_t q = 0; q < QUANTITIES; q++) made.quantities[q].shift = 0.1, made.quantities[q].width = 1;
  check_only(&made, "unconverged", RPINN_SEVERITY_NOTE,
             "40 of 79 members did not converge: the loss still fell, at the median by 4.3 nats over the "
             "last tenth of "
             "their iterations. Their bands stay as they are when some are minimised further by "
             "Levenberg-Marquardt.");
  static const struct {
    double width, shift;
    bool confirmed;
  } cases[] = {{0.61, 0.1, true},  {0.59, 0.1, false}, {1.99, 0.1, true},
               {2.01, 0.1, false}, {1, 0.74, true},    {(double)NAN, (double)NAN, false}};
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
    made.quantities[1].width = cases[k].width, made.quantities[1].shift = cases[k].shift;
    check_only(&made, "unconverged", cases[k].confirmed ? RPINN_SEVERITY_NOTE : RPINN_SEVERITY_CAUTION, NULL);
  }
  check_only(&made, "unconverged", RPINN_SEVERITY_CAUTION,
             "40 of 79 members did not converge: the loss still fell, at the median by 4.3 nats over the "
             "last tenth of "
             "their iterations. Raise --iterations, or use --optimizer lm.");
  made.all.num_quantities = 0; /* nothing is predicted: nothing confirms */
  check_only(&made, "unconverged", RPINN_SEVERITY_CAUTION, NULL);
}

static void numbers_of_draws(void **state) {
  (void)state;
  Evidence made;
  make_good(&made);
  made.all.num_draws = made.all.num_minimised = 39;
  check_nothing(&made);
  made.all.num_draws = made.all.num_minimised = 38;
  check_only(&made, "few_draws", RPINN_SEVERITY_CAUTION,
             "38 members are too few for an interval of 95 %, which takes 39. Ask for 79 --samples or more.");
  made.all.num_draws = made.all.num_minimised = 1;
  check_only(&made, "one_draw", RPINN_SEVERITY_CAUTION,
             "One member says nothing about uncertainty: there are no bands. Ask for more --samples.");
  made.all.is_point = true;
  check_only(
      &made, "one_draw", RPINN_SEVERITY_NOTE,
      "One point says nothing about uncertainty: there are no bands. --method laplace or rpinn makes them.");
  make_good(&made);
  made.all.num_undone = 21;
  check_only(&made, "undone", RPINN_SEVERITY_NOTE,
             "The time limit left 21 draws undone; --resume makes them.");
}

/* Ensembles and particles are never good. */
static void spread_that_is_no_posterior(void **state) {
  (void)state;
  Evidence made;
  make_good(&made);
  made.all.spread = "The spread is that of the starts.";
  check_only(&made, "spread", RPINN_SEVERITY_CAUTION, "The spread is that of the starts.");
}

static void linearised_draws(void **state) {
  (void)state;
  Evidence made;
  make_good(&made);
  made.all.num_minimised = 0, made.all.is_linearised = true, made.all.above_minimum = 0.1;
  check_only(&made, "linearised", RPINN_SEVERITY_NOTE,
             "The draws are those of a linearised model: exact where the model is linear in its parameters. "
             "Compare with "
             "--method rpinn or nuts.");
  made.all.above_minimum = 0.125;
  RpinnVerdict verdict = judged(&made);
  assert_int_equal(verdict.word, RPINN_VERDICT_BAD);
  assert_int_equal(verdict.num_findings, 2);
  assert_string_equal(verdict.findings[0].id, "no_minimum");
  assert_string_equal(
      verdict.findings[0].sentence,
      "The point of linearisation is no minimum of the loss: that of the linearised model is lower by 0.125. "
      "The bands "
      "belong to another point than the most probable one. Use --method rpinn, or another --seed.");
}

static void weights(void **state) {
  (void)state;
  Evidence made;
  make_good(&made);
  made.all.uses_weights = true, made.all.pareto_k = 0.7;
  check_nothing(&made);
  made.all.pareto_k = 0.71;
  check_only(&made, "weights", RPINN_SEVERITY_BAD,
             "Pareto k of the weights is 0.71, above 0.7: the correction rests on a few draws. Leave out "
             "--correct mh, or use "
             "--method nuts.");
}

static void correction(void **state) {
  (void)state;
  Evidence made;
  RpinnVerdict verdict;
  make_good(&made);
  RpinnCorrectionEvidence correction = {.forgets = true,
                                        .nested_rhat = 1.01,
                                        .limit = 1.03,
                                        .length = 32,
                                        .shortest = 16,
                                        .worst = "u[3]",
                                        .gradients = 1200,
                                        .budget = 2000,
                                        .acceptance = 0.5,
                                        .num_draws = 40};
  made.all.correction = &correction;
  check_only(
      &made, "modes", RPINN_SEVERITY_NOTE,
      "Members are corrected within their modes; how many are in which mode stays what rPINN made it.");
  for (int k = 0; k < 2; k++) {
    correction.forgets = false;
    correction.nested_rhat = k ? 1.11 : 1.1;
    rpinn_verdict_judge(&made.all, &verdict);
    assert_int_equal(verdict.num_findings, 2);
    assert_string_equal(verdict.findings[0].id, "not_forgotten");
    assert_int_equal(verdict.findings[0].severity, k ? RPINN_SEVERITY_BAD : RPINN_SEVERITY_CAUTION);
  }
  assert_string_equal(verdict.findings[0].sentence,
                      "Members were continued by NUTS for 32 iterations, 1.2e+03 gradients each, and are not "
                      "seen to forget where they "
                      "began: nested R-hat of 'u[3]' is 1.11; 1.03 after 16 iterations or more is asked for. "
                      "The draws lie between "
                      "rPINN's and the posterior's, or in modes that no chain leaves. Raise "
                      "--correct-budget, which is 2000; under a wide prior make members with a "
                      "narrower one, --correct-scale.");
  correction.forgets = true;
  correction.acceptance = 0.49;
  rpinn_verdict_judge(&made.all, &verdict);
  assert_string_equal(verdict.findings[0].id, "acceptance");
  assert_int_equal(verdict.word, RPINN_VERDICT_FAIR);
  correction.acceptance = 0.9;
  for (int k = 0; k < 2; k++) {
    correction.divergent_share = k ? 0.051 : 0.05;
    correction.num_divergent = 7;
    rpinn_verdict_judge(&made.all, &verdict);
    assert_string_equal(verdict.findings[0].id, "divergences");
    assert_int_equal(verdict.word, k ? RPINN_VERDICT_BAD : RPINN_VERDICT_FAIR);
  }
  assert_non_null(strstr(verdict.findings[0].sentence,
                         "5.1 % of the iterations that continued members diverged, in 7 of 40"));
}

/* 25 degrees of freedom: 2.5 times the expected sum is 3.9 deviations of chance, 2.9 times 4.6, 4.1 times 6.5. */
static void misfit(void **state) {
  (void)state;
  Evidence made;
  for (size_t t = 0; t < TERMS; t++) { /* tolerances too: an equation that contradicts the data */
    make_good(&made);
    RpinnTermEvidence *term = &made.terms[t];
    term->loss = 2.5;
    check_nothing(&made);
    term->loss = 2.9;
    check_only(&made, "misfit", RPINN_SEVERITY_CAUTION, NULL);
    term->loss_freedom = 20; /* chance goes further */
    check_nothing(&made);
    term->loss = 4.1, term->loss_freedom = 25;
    check_only(&made, "misfit", RPINN_SEVERITY_BAD,
               t == 0 ? "The 30 rows of 'd' lie 2 times as far from the draws as their deviation of 0.1 "
                        "allows. Check its "
                        "data, units and equation, state a larger noise, or use --prior-scale loo."
                      : "The 30 rows of 'pde' lie 2 times as far from the draws as their deviation of 0.02 "
                        "allows. Check its "
                        "data, units and equation, state a larger noise, or use --prior-scale loo.");
    term->loss = 3.9;
    check_only(&made, "misfit", RPINN_SEVERITY_CAUTION, NULL);
    term->loss = 1.9, term->loss_freedom = 1000; /* sure, and small */
    check_nothing(&made);
  }
  made.terms[0].loss = 4.1, made.terms[1].loss = 3.9; /* the worst is named, by its severity first */
  made.terms[0].loss_freedom = made.terms[1].loss_freedom = 25;
  RpinnVerdict verdict = judged(&made);
  assert_int_equal(verdict.num_findings, 1);
  assert_int_equal(verdict.findings[0].severity, RPINN_SEVERITY_BAD);
  assert_non_null(strstr(verdict.findings[0].sentence, "'d'"));
}

static void rows_left_out(void **state) {
  (void)state;
  Evidence made;
  make_good(&made);
  RpinnTermEvidence *term = &made.terms[0];
  term->z_mean = -0.39;
  check_nothing(&made);
  term->z_mean = -0.41;
  check_only(&made, "left_out_mean", RPINN_SEVERITY_CAUTION,
             "Rows of 'd' lie 0.41 deviations below what the others foretell, on average over 30 rows: the "
             "model or the "
             "data are off to one side. Check the equation and its units.");
  term->z_error = 0.1; /* 4.1 deviations of chance */
  check_nothing(&made);
  make_good(&made);
  term->z_square = 2.4, term->z_freedom = 100;
  check_nothing(&made);
  term->z_square = 2.6;
  check_only(&made, "left_out_spread", RPINN_SEVERITY_CAUTION,
             "Rows of 'd' are foretold by the others with errors 1.6 times as large as stated: bands that "
             "rest on them are "
             "too narrow. State a larger noise, look for outliers, or use --prior-scale loo.");
  term->z_freedom = 20;
  check_nothing(&made);
  make_good(&made);
  made.terms[1].z_mean = 3, made.terms[1].z_square = 9; /* no data: nothing to foretell */
  check_nothing(&made);
}

/* Learnt noise has no stated one to be compared with: the spread of the data is what it must be below. */
static void learnt_noise_is_below_the_spread(void **state) {
  (void)state;
  Evidence made;
  make_good(&made);
  made.terms[0].noise = (double)NAN;
  made.terms[0].spread = 0.1052;
  check_only(
      &made, "all_noise", RPINN_SEVERITY_CAUTION,
      "The noise of 'd' is learnt as 0.1, as much as the spread of its data, 0.105: the model explains "
      "nothing of them. State the noise, give it a prior, or look at the other terms.");
  made.terms[0].spread = 0.1054; /* 0.95 of it is above 0.1 */
  check_nothing(&made);
}

/* 25 degrees of freedom: 0.18 is 4.52 deviations below. */
static void overstated_noise(void **state) {
  (void)state;
  Evidence made;
  make_good(&made);
  made.terms[0].z_square = 0.18;
  check_only(&made, "noise_too_large", RPINN_SEVERITY_CAUTION,
             "The 30 rows of 'd' are foretold by the others with 0.42 of the errors that their deviation of "
             "0.1 says: it is "
             "overstated, and the bands are wider than the data ask for. State the noise that they have.");
  made.terms[0].z_freedom = 23;
  check_nothing(&made);
  made.terms[0].z_freedom = 1000, made.terms[0].z_square = 0.29;
  check_only(&made, "noise_too_large", RPINN_SEVERITY_CAUTION, NULL);
  made.terms[0].z_square = 0.31;
  check_nothing(&made);
  make_good(&made);
  made.terms[1].z_square = 0.01; /* exact equations hold better than asked for */
  check_nothing(&made);
}

static void likelihood(void **state) {
  (void)state;
  Evidence made;
  make_good(&made);
  made.all.likelihood = "paper";
  made.terms[1].sigma = 5; /* no data */
  made.terms[0].sigma = 0.109;
  check_nothing(&made);
  made.terms[0].sigma = 0.139;
  check_only(&made, "likelihood", RPINN_SEVERITY_NOTE, NULL);
  made.terms[0].sigma = 0.141;
  check_only(&made, "likelihood", RPINN_SEVERITY_CAUTION,
             "Likelihood paper gives the data of 'd' a deviation of 0.141, their stated noise is 0.1: the "
             "bands are not those "
             "of the stated noise. Use --likelihood noise.");
  made.terms[0].sigma = 0.07;
  check_only(&made, "likelihood", RPINN_SEVERITY_CAUTION, NULL);
  made.terms[0].noise = unknown;
  check_nothing(&made);
}

static void collapse(void **state) {
  (void)state;
  Evidence made;
  make_good(&made);
  made.all.misfit = 35.9;
  check_nothing(&made);
  made.all.misfit = 36.1;
  check_only(&made, "collapse", RPINN_SEVERITY_BAD,
             "The model explains the data as noise about nothing: their mean square is 36.1 where stated "
             "noise gives 1 and "
             "networks of zero give 40. Check the noise of the terms, or use --prior-scale loo.");
  made.all.misfit = made.all.misfit_of_nothing = 1.9; /* nothing was measured but noise */
  check_nothing(&made);
}

static void prior(void **state) {
  (void)state;
  Evidence made;
  make_good(&made);
  made.quantities[0].leaning = 0.74;
  check_nothing(&made);
  made.quantities[0].leaning = 0.76, made.quantities[1].leaning = 2.99, made.all.energy = 123;
  check_only(&made, "prior_conflict", RPINN_SEVERITY_CAUTION,
             "The prior is too narrow for the data: the loss is 123 where 60 is expected, and a prior twice "
             "as wide moves 'f' "
             "by 3 of its standard deviations. Use --prior-scale loo.");
  made.quantities[0].leaning = 3.01;
  check_only(&made, "prior_conflict", RPINN_SEVERITY_BAD, NULL);
}

static void shift(void **state) {
  (void)state;
  Evidence made;
  make_good(&made);
  made.quantities[0].shift = 0.74;
  check_nothing(&made);
  made.quantities[0].shift = 0.76;
  check_only(
      &made, "off_posterior", RPINN_SEVERITY_CAUTION,
      "The mean of 'u' moves by 0.76 of its standard deviations when members are minimised further by "
      "Levenberg-Marquardt: they are not where the posterior is. Use --optimizer lm, or more --iterations.");
  made.quantities[0].shift = 2.01;
  check_only(&made, "off_posterior", RPINN_SEVERITY_BAD, NULL);
}

static void bands(void **state) {
  (void)state;
  Evidence made;
  make_good(&made);
  RpinnQuantityEvidence *f = &made.quantities[1];
  f->widest = 5.9;
  check_nothing(&made);
  f->widest = 6.1;
  check_only(&made, "bands", RPINN_SEVERITY_CAUTION,
             "Between its measured points 'f' has a standard deviation of up to 6.1, next to them of 0.1, "
             "and the data "
             "themselves spread by 1: the prior says next to nothing there. Use a smaller --prior-scale, or "
             "measure there.");
  f->at_points = 2.1; /* as wide at the points */
  check_nothing(&made);
}

static void held_out(void **state) {
  (void)state;
  Evidence made;
  make_good(&made);
  made.held_out[0] = (RpinnHeldOutEvidence){"later", 50, 0.84}; /* 3.6 deviations of chance */
  check_nothing(&made);
  made.held_out[0].coverage = 0.8;
  check_only(&made, "held_out", RPINN_SEVERITY_CAUTION,
             "Only 80 % of the 50 held-out data of 'later' lie within 1.96 of their standard deviations, "
             "noise included, where "
             "95 % should: its uncertainty is understated.");
  made.held_out[0] = (RpinnHeldOutEvidence){"later", 1000, 0.86}; /* sure, and small */
  check_nothing(&made);
  made.held_out[0] = (RpinnHeldOutEvidence){"later", 19, 0.2};
  check_nothing(&made);
}

static void what_was_not_judged(void **state) {
  (void)state;
  Evidence made;
  make_good(&made);
  for (size_t t = 0; t < TERMS; t++) {
    RpinnTermEvidence *term = &made.terms[t];
    term->loss = term->loss_freedom = term->z_mean = term->z_error = term->z_square = term->z_freedom =
        unknown;
  }
  made.all.energy = made.all.misfit = made.all.misfit_of_nothing = unknown;
  made.all.rows_unknown = "of this";
  check_only(&made, "not_judged", RPINN_SEVERITY_NOTE,
             "How well the data are foretold by each other was not judged: of this.");
  made.all.is_old = true;
  check_only(&made, "not_judged", RPINN_SEVERITY_CAUTION, NULL);
}

/* ---- chains ---- */

static void chains(void **state) {
  (void)state;
  Evidence made;
  RpinnChainHealth health[2] = {{.energy_fraction = 0.9, .acceptance = 0.8, .step_size = 0.25},
                                {.energy_fraction = 0.9, .acceptance = 0.8, .step_size = 0.25}};
  RpinnScalarHealth scalars[2];
  for (size_t i = 0; i < 2; i++)
    scalars[i] = (RpinnScalarHealth){.name = i ? "u[1]" : "u[0]",
                                     .statistics = {.rhat = 1.005, .ess_bulk = 900, .ess_tail = 900}};
  RpinnChainEvidence evidence = {.num_chains = 2,
                                 .num_draws = 1000,
                                 .num_scalars = 2,
                                 .chains = health,
                                 .scalars = scalars,
                                 .has_divergences = true,
                                 .max_depth = 10};
  make_good(&made);
  made.all.unit = "draw", made.all.num_draws = 2000, made.all.num_minimised = 0, made.all.chains = &evidence;
  check_nothing(&made);
  RpinnConvergence *worst = &scalars[1].statistics;
  worst->rhat = 1.09;
  check_only(&made, "rhat", RPINN_SEVERITY_CAUTION,
             "R-hat is above 1.01 for 1 of 2 scalars, up to 1.09 for 'u[1]': the chains disagree. Run the "
             "chains longer; if "
             "it stays, lengthen the warmup.");
  worst->rhat = 1.11;
  check_only(&made, "rhat", RPINN_SEVERITY_BAD, NULL);
  worst->rhat = 1, worst->ess_bulk = 20;
  check_only(&made, "ess_bulk", RPINN_SEVERITY_CAUTION, NULL);
  worst->ess_bulk = 19.9;
  check_only(&made, "ess_bulk", RPINN_SEVERITY_BAD, NULL);
  worst->ess_bulk = 900;
  health[0].energy_fraction = 0.2;
  check_only(&made, "energy", RPINN_SEVERITY_CAUTION, NULL);
  health[0].energy_fraction = 0.9;
  health[1].num_divergent = 100;
  check_only(&made, "divergences", RPINN_SEVERITY_CAUTION, NULL);
  health[1].num_divergent = 101;
  check_only(&made, "divergences", RPINN_SEVERITY_BAD, NULL);
  health[1].num_divergent = 0, health[1].num_at_limit = 1;
  check_only(&made, "depth", RPINN_SEVERITY_NOTE, NULL);
  health[1].num_at_limit = 0;
  /* All chains at one point: they agree in everything, and are worth nothing. */
  for (size_t i = 0; i < 2; i++)
    scalars[i] =
        (RpinnScalarHealth){.name = "u[0]",
                            .constant = true,
                            .statistics = {.rhat = unknown, .ess_bulk = unknown, .ess_tail = unknown}};
  check_only(&made, "stuck", RPINN_SEVERITY_BAD,
             "Nothing moves: every scalar has one and the same value in all 2000 draws. Start elsewhere, or "
             "lengthen the "
             "warmup, so that steps are found that are accepted; compute in double.");
  scalars[0] =
      (RpinnScalarHealth){.name = "u[0]", .statistics = {.rhat = 1, .ess_bulk = 900, .ess_tail = 900}};
  check_nothing(&made); /* an exact boundary value is no fault */
  /* One chain is never said to disagree. */
  evidence.num_chains = 1;
  scalars[0].statistics.rhat = 1.3;
  RpinnVerdict verdict = judged(&made);
  assert_int_equal(verdict.num_findings, 2);
  assert_string_equal(verdict.findings[0].id, "rhat");
  assert_non_null(
      strstr(verdict.findings[0].sentence,
             "up to 1.3 for 'u[0]': the halves of the chain differ, so that it has not settled."));
  assert_string_equal(verdict.findings[1].id, "one_chain");
  assert_int_equal(verdict.findings[1].severity, RPINN_SEVERITY_CAUTION);
  assert_non_null(
      strstr(verdict.findings[1].sentence, "There is one chain, which cannot disagree with any other"));
  for (size_t i = 0; i < 2; i++) assert_null(strstr(verdict.findings[i].sentence, "the chains disagree"));
}

/* ---- together ---- */

/* The gravest first, and the same after a way through JSON. */
static void order_and_files(void **state) {
  (void)state;
  Evidence made;
  make_good(&made);
  made.all.num_undone = 1;
  made.terms[0].sigma = 0.2;
  made.all.misfit = 39;
  made.terms[0].name = "d \"1\" <&>";
  RpinnVerdict verdict = judged(&made), again;
  static const char *const ids[] = {"collapse", "likelihood", "undone"};
  assert_int_equal(verdict.num_findings, 3);
  for (size_t i = 0; i < 3; i++) assert_string_equal(verdict.findings[i].id, ids[i]);
  assert_int_equal(verdict.word, RPINN_VERDICT_BAD);

  RpinnText text = {0}, page = {0};
  RpinnJson json = {.text = &text};
  rpinn_json_open(&json, NULL, '{');
  rpinn_verdict_json(&verdict, &json);
  rpinn_json_close(&json, '}');
  RpinnContext *context = rpinn_context_create();
  RpinnArena *arena = rpinn_arena_create();
  const RpinnJsonValue *value;
  assert_int_equal(rpinn_json_parse(context, arena, "verdict", text.bytes, text.length, &value), RPINN_OK);
  assert_true(rpinn_verdict_read(rpinn_json_find(value, "verdict"), &again));
  assert_int_equal(again.word, verdict.word);
  assert_int_equal(again.num_findings, 3);
  for (size_t i = 0; i < 3; i++) {
    assert_string_equal(again.findings[i].id, verdict.findings[i].id);
    assert_string_equal(again.findings[i].sentence, verdict.findings[i].sentence);
    assert_int_equal(again.findings[i].severity, verdict.findings[i].severity);
  }
  rpinn_verdict_text(&again, &page);
  assert_true(!strncmp(page.bytes, "verdict: bad\n  bad (collapse): The model explains", 49));
  assert_non_null(
      strstr(page.bytes, "\n  note (undone): The time limit left 1 draw undone; --resume makes them.\n"));
  rpinn_text_free(&text);
  rpinn_text_free(&page);

  static const char *const damaged[] = {
      "{}", "{\"word\": \"good\"}", "{\"word\": \"great\", \"findings\": []}",
      "{\"word\": \"good\", \"findings\": [{\"id\": \"x\"}]}",
      "{\"word\":\"good\",\"findings\":[{\"id\":\"x\",\"severity\":\"odd\",\"sentence\":\"s\"}]}"};
  for (size_t k = 0; k < sizeof damaged / sizeof damaged[0]; k++) {
    assert_int_equal(rpinn_json_parse(context, arena, "damaged", damaged[k], strlen(damaged[k]), &value),
                     RPINN_OK);
    assert_false(rpinn_verdict_read(value, &again));
  }
  rpinn_arena_destroy(arena);
  rpinn_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_to_say),
                                     cmocka_unit_test(failures),
                                     cmocka_unit_test(convergence),
                                     cmocka_unit_test(numbers_of_draws),
                                     cmocka_unit_test(spread_that_is_no_posterior),
                                     cmocka_unit_test(linearised_draws),
                                     cmocka_unit_test(weights),
                                     cmocka_unit_test(correction),
                                     cmocka_unit_test(misfit),
                                     cmocka_unit_test(rows_left_out),
                                     cmocka_unit_test(overstated_noise),
                                     cmocka_unit_test(learnt_noise_is_below_the_spread),
                                     cmocka_unit_test(likelihood),
                                     cmocka_unit_test(collapse),
                                     cmocka_unit_test(prior),
                                     cmocka_unit_test(shift),
                                     cmocka_unit_test(bands),
                                     cmocka_unit_test(held_out),
                                     cmocka_unit_test(what_was_not_judged),
                                     cmocka_unit_test(chains),
                                     cmocka_unit_test(order_and_files)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
