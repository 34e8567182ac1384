/* Settings: how a run is made, as opposed to what it is about. One table gives each setting its name, type,
 * default, range and help; parsing, validation, `--help` and docs/settings.md are made from it. */
#ifndef RPINN_SETTINGS_H
#define RPINN_SETTINGS_H

#include <stdint.h>

#include "rpinn/choices.h"
#include "rpinn/methods.h"
#include "rpinn/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(enumerator, name, kind, role, default, lowest, highest, choices, help)
 * kind: INTEGER, REAL, CHOICE (one of choices, separated by |) or TEXT (a path, or one of choices). A default
 * "auto" stands for a value that the problem or the method decides; it may be written too.
 * role: FIXED decides the draws and so belongs to the identity of a run; ADDED likewise, but where it is its default it is not named
 * there, so that runs from before there was such a setting keep theirs; FREE does not, and may change when the run goes on; LOCAL likewise,
 * and is about the machine, so that run.yaml does not keep it. */
#define RPINN_SETTING_LIST(X)                                                                                \
  X(METHOD, "method", CHOICE, FIXED, "rpinn", 0, 0, RPINN_METHOD_CHOICES, "how draws are made")              \
  X(SAMPLES, "samples", INTEGER, FREE, "auto", 1, 1e9, "",                                                   \
    "draws: members, particles, or draws per chain; auto: by the method")                                    \
  X(ITERATIONS, "iterations", INTEGER, FIXED, "auto", 1, 1e12, "",                                           \
    "iterations of the optimiser per member, or of vi per start, at most; auto: 2000, 1000 for lm, 20000 "   \
    "for lbfgs and vi")                                                                                      \
  X(OPTIMIZER, "optimizer", CHOICE, FIXED, "auto", 0, 0, RPINN_CHOICES(RPINN_MINIMIZER_LIST),                \
    "what minimises the energy, or moves the particles of svgd: adam or adagrad there, never adagrad "       \
    "elsewhere; auto: by the method")                                                                        \
  X(LEARNING_RATE, "learning_rate", REAL, FIXED, "auto", 1e-300, 1e6, "",                                    \
    "first step size of Adam; auto: 1e-3, 0.05 for vi, whose means move in units of their deviations")       \
  X(DECAY_RATE, "decay_rate", REAL, FIXED, "0.9", 1e-300, 1, "",                                             \
    "Adam's step is learning_rate * decay_rate^(iteration / decay_steps)")                                   \
  X(DECAY_STEPS, "decay_steps", REAL, FIXED, "5000", 1e-300, 1e300, "", "see decay_rate")                    \
  X(GRADIENT_TOLERANCE, "gradient_tolerance", REAL, FIXED, "auto", 1e-300, 1e300, "",                        \
    "an optimiser stops below this gradient norm; auto: 1e-6, never for adam")                               \
  X(PROGRESS_TOLERANCE, "progress_tolerance", REAL, FIXED, "auto", 1e-300, 1, "",                            \
    "… or when the loss falls by no more than this share; auto: 1e-4 for lm, 1e-8 for lbfgs, never for "   \
    "adam")                                                                                                  \
  X(PROGRESS_AMOUNT, "progress_amount", REAL, FIXED, "auto", 0, 1e300, "",                                   \
    "… or by no more than this amount, in nats where the noise is stated; auto: 0.1 for lm where "         \
    "progress_tolerance is auto, otherwise 0")                                                               \
  X(PROGRESS_WINDOW, "progress_window", INTEGER, FIXED, "auto", 1, 1e12, "",                                 \
    "… over so many iterations; auto: 100, 20 for lm")                                                       \
  X(MOMENTUM, "momentum", CHOICE, FIXED, "auto", 0, 0, RPINN_CHOICES(RPINN_MOMENTUM_LIST),                   \
    "lm goes on along the way of its last step as long as the loss falls; auto: yes for lm where "           \
    "progress_tolerance is auto, otherwise no")                                                              \
  X(ACCELERATION, "acceleration", CHOICE, FIXED, "auto", 0, 0, RPINN_CHOICES(RPINN_ACCELERATION_LIST),       \
    "lm corrects its steps for the bend of their valley, and rejects those where it is strong; auto: yes "   \
    "for lm where progress_tolerance is auto, otherwise no")                                                 \
  X(CHAINS, "chains", INTEGER, FIXED, "4", 1, 1e6, "", "independent chains of NUTS")                         \
  X(WARMUP, "warmup", INTEGER, FIXED, "1000", 0, 1e12, "", "warmup iterations per chain of NUTS")            \
  X(METRIC, "metric", CHOICE, FIXED, "diagonal", 0, 0, RPINN_CHOICES(RPINN_METRIC_LIST),                     \
    "mass matrix of NUTS, adapted during warmup unless it is unit")                                          \
  X(TARGET_ACCEPTANCE, "target_acceptance", REAL, FIXED, "0.8", 1e-3, 0.9999, "",                            \
    "acceptance rate that the step size of NUTS is adapted to")                                              \
  X(FIRST_STEP, "first_step", REAL, FIXED, "auto", 1e-300, 1e7, "",                                          \
    "first step size of NUTS; auto: searched for")                                                           \
  X(STEP_ADAPTATION, "step_adaptation", REAL, FIXED, "1", 1e-3, 1, "",                                       \
    "share of the warmup over which NUTS adapts its step size")                                              \
  X(MAX_DEPTH, "max_depth", INTEGER, FIXED, "10", 1, 20, "",                                                 \
    "a trajectory of NUTS has at most 2^max_depth - 1 steps")                                                \
  X(THIN, "thin", INTEGER, FIXED, "1", 1, 1e9, "", "iterations of NUTS per draw")                            \
  X(KEEP_WARMUP, "keep_warmup", CHOICE, FIXED, "no", 0, 0, RPINN_CHOICES(RPINN_WARMUP_LIST),                 \
    "keep the warmup of NUTS in checkpoint.db and in warmup groups of posterior.nc")                         \
  X(REPULSION, "repulsion", CHOICE, FIXED, "divided", 0, 0, RPINN_CHOICES(RPINN_REPULSION_LIST),             \
    "SVGD's repulsion: divided by the number of particles, as its formula says, or not, as in the paper's "  \
    "code")                                                                                                  \
  X(KERNEL, "kernel", CHOICE, ADDED, "parameters", 0, 0, RPINN_CHOICES(RPINN_KERNEL_LIST),                   \
    "SVGD's distances between particles: of their parameters, or of what they predict at the points of all " \
    "terms, with unknowns")                                                                                  \
  X(FAMILY, "family", CHOICE, ADDED, "mean_field", 0, 0, RPINN_CHOICES(RPINN_FAMILY_LIST),                   \
    "normal distributions that vi chooses from: a deviation for each parameter, or factors common to all "   \
    "beside")                                                                                                \
  X(RANK, "rank", INTEGER, ADDED, "10", 1, 1e4, "", "factors of vi with family low_rank or precision")       \
  X(STARTS, "starts", INTEGER, ADDED, "4", 1, 1e4, "",                                                       \
    "starts of vi: the one that ends with the largest bound on the evidence is kept")                        \
  X(PAIRS, "pairs", INTEGER, ADDED, "8", 1, 1e6, "",                                                         \
    "pairs of draws in an iteration of vi, each and its mirror image")                                       \
  X(SEED, "seed", INTEGER, FIXED, "0", 0, 9007199254740992, "", "names every random stream of the run")      \
  X(DATA_SEED, "data_seed", INTEGER, FIXED, "auto", 0, 9007199254740992, "",                                 \
    "seed of synthetic noise, drawn points and frozen layers; auto: the same as seed")                       \
  X(NOISE_SEED, "noise_seed", INTEGER, FIXED, "auto", 0, 9007199254740992, "",                               \
    "seed of synthetic noise alone; auto: the same as data_seed")                                            \
  X(POINTS_SEED, "points_seed", INTEGER, FIXED, "auto", 0, 9007199254740992, "",                             \
    "seed of drawn points alone; auto: the same as data_seed")                                               \
  X(TRUTH_SEED, "truth_seed", INTEGER, FIXED, "auto", 0, 9007199254740992, "",                               \
    "seed of a drawn truth; auto: as the truth says, or the same as data_seed")                              \
  X(LIKELIHOOD, "likelihood", CHOICE, FIXED, "noise", 0, 0, RPINN_CHOICES(RPINN_LIKELIHOOD_LIST),            \
    "how weights and noise become variances: see docs/problem-files.md")                                     \
  X(PRIOR_SCALE, "prior_scale", REAL, FIXED, "auto", 1e-300, INFINITY, RPINN_CHOICES(RPINN_SCALE_RULE_LIST), \
    "standard deviation of the prior on network parameters, or how to choose it from the data; inf: no "     \
    "prior; auto: as prior: says, or loo under likelihood noise, by weights and noise under paper")          \
  X(PRIOR_SHAPE, "prior_shape", CHOICE, FIXED, "auto", 0, 0, RPINN_CHOICES(RPINN_PRIOR_SHAPE_LIST),          \
    "fan_in: weights have the prior's deviation divided by the root of their number per unit; auto: as "     \
    "prior: says, or fan_in where the data choose the scale, or iid")                                        \
  X(PRIOR_PER_FIELD, "prior_per_field", CHOICE, FIXED, "auto", 0, 0,                                         \
    RPINN_CHOICES(RPINN_SCALE_DIVISION_LIST),                                                                \
    "yes: where the data choose the scale, they choose one for every field; auto: as prior: says, or no")    \
  X(PRIOR_INTEGRATE, "prior_integrate", CHOICE, FIXED, "auto", 0, 0, RPINN_CHOICES(RPINN_SCALE_SPREAD_LIST), \
    "yes: every rPINN member draws a prior scale of its own from what the data say of scales; auto: as "     \
    "prior: says, or no")                                                                                    \
  X(SCALE_FIELDS, "scale_fields", CHOICE, FIXED, "yes", 0, 0, RPINN_CHOICES(RPINN_FIELD_MAP_LIST),           \
    "fields without scale_inputs and scale_output: map the domain to -1 to 1 and outputs to the mean and "   \
    "spread of what is measured of the field")                                                               \
  X(START, "start", TEXT, FIXED, "auto", 0, 0, RPINN_CHOICES_AND(RPINN_START_LIST, "a run directory"),       \
    "starting point; prior: a draw from the prior; member: a chain, or a start of vi, begins at an rPINN "   \
    "member of its own; "                                                                                    \
    "normal: N(0,1); zero_then_normal: the first at zero, the others normal; auto: by the "                  \
    "method")                                                                                                \
  X(BACKEND, "backend", CHOICE, FIXED, "cpu", 0, 0, RPINN_CHOICES_AND(RPINN_BACKEND_LIST, "auto"),           \
    "what computes energies: cpu is fast, plain the oracle, cuda a GPU; auto: cuda where there is a GPU "    \
    "and work enough for it, else cpu")                                                                      \
  X(PRECISION, "precision", CHOICE, FIXED, "auto", 0, 0, RPINN_CHOICES(RPINN_PRECISION_LIST),                \
    "arithmetic of the backend; auto: its usual one; members that lm cannot bring further in float go on "   \
    "in double")                                                                                             \
  X(CORRECT, "correct", CHOICE, FREE, "none", 0, 0, RPINN_CHOICES(RPINN_CORRECTION_LIST),                    \
    "mh: an independence Metropolis step on the weights of converged rPINN members; nuts: every member "     \
    "is continued by NUTS until it has forgotten where it began")                                            \
  X(CORRECT_BUDGET, "correct_budget", REAL, FREE, "1e5", 1, 1e15, "",                                        \
    "gradients that --correct nuts may take for a member, in the mean")                                      \
  X(CORRECT_SCALE, "correct_scale", REAL, ADDED, "auto", 1e-300, 1e300, "",                                  \
    "scale of the prior that members are made with before --correct nuts continues them under that of the "  \
    "run; auto: the same")                                                                                   \
  X(TIME_LIMIT, "time_limit", REAL, FREE, "auto", 1e-3, 1e300, "",                                           \
    "seconds after which no member but the first is begun; those under way are finished; auto: none")        \
  X(RETRIES, "retries", INTEGER, FIXED, "2", 0, 1000, "",                                                    \
    "fresh attempts for a member that turned non-finite")                                                    \
  X(THREADS, "threads", INTEGER, FREE, "0", 0, 65536, "",                                                    \
    "worker threads; 0: one per core that the process may use")                                              \
  X(SCRATCH, "scratch", TEXT, LOCAL, "none", 0, 0, "none|a folder",                                          \
    "a folder on a disk of the machine itself, where draws are kept that come into the run directory once "  \
    "a minute and at every end; none: they go there at once; run.yaml does not keep it")

typedef enum RpinnSetting {
#define RPINN_SETTING_ENUM(name, text, kind, role, initial, lowest, highest, choices, help)                  \
  RPINN_SETTING_##name,
  RPINN_SETTING_LIST(RPINN_SETTING_ENUM)
#undef RPINN_SETTING_ENUM
      RPINN_NUM_SETTINGS
} RpinnSetting;

typedef enum RpinnSettingKind {
  RPINN_SETTING_INTEGER,
  RPINN_SETTING_REAL,
  RPINN_SETTING_CHOICE,
  RPINN_SETTING_TEXT
} RpinnSettingKind;

typedef enum RpinnSettingRole {
  RPINN_SETTING_FIXED,
  RPINN_SETTING_ADDED,
  RPINN_SETTING_FREE,
  RPINN_SETTING_LOCAL
} RpinnSettingRole;

typedef struct RpinnSettingDefinition {
  const char *name;
  RpinnSettingKind kind;
  RpinnSettingRole role;
  const char *initial;    /* the default, as one would write it */
  double lowest, highest; /* INTEGER and REAL */
  const char *choices;    /* CHOICE and TEXT: "a|b|c"; REAL: words beside numbers */
  const char *help;
} RpinnSettingDefinition;

RPINN_API const RpinnSettingDefinition *rpinn_setting_definition(RpinnSetting setting);
/* The setting of that name, or RPINN_NUM_SETTINGS. */
RPINN_API RpinnSetting rpinn_setting_find(const char *name);
/* What `auto` stands for with the method at a place of the list of methods; NULL where no method decides. */
RPINN_API const char *rpinn_setting_default(RpinnSetting setting, size_t method);
/* The definition in words: type, range or choices, default. Writes at most size bytes. */
RPINN_API void rpinn_setting_describe(RpinnSetting setting, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
