/* `rpinn check`: what a problem compiles to, with which standard deviations, and whether its derivatives are
 * right. */
#ifndef RPINN_CHECK_H
#define RPINN_CHECK_H

#include "rpinn/problem.h"
#include "rpinn/run.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct RpinnCheck RpinnCheck;

/* Compile the problem and compare its jets, Jacobian and gradient with finite differences in double. Needs no
 * data: missing data count as zeros. Keeps using the problem. Large networks are tried at fewer points and along fewer
 * directions; RPINN_ERROR_UNSUPPORTED for those that would take more than seconds even so. */
RPINN_API RpinnStatus rpinn_check_create(RpinnContext *context, const RpinnProblem *problem,
                                         RpinnCheck **check);
RPINN_API void rpinn_check_destroy(RpinnCheck *check);
/* All derivatives agree within RPINN_CHECK_TOLERANCE (relative) and every number is finite. */
#define RPINN_CHECK_TOLERANCE 1e-6
RPINN_API bool rpinn_check_passed(const RpinnCheck *check);
/* The largest relative errors found. */
RPINN_API double rpinn_check_jet_error(const RpinnCheck *check);
RPINN_API double rpinn_check_jacobian_error(const RpinnCheck *check);
RPINN_API double rpinn_check_gradient_error(const RpinnCheck *check);
/* For people and for programs. NULL when out of memory; the caller frees the text. */
RPINN_API char *rpinn_check_text(const RpinnCheck *check);
RPINN_API char *rpinn_check_json(const RpinnCheck *check);

/* What the prior alone says: the scale of the prior as rpinn_run would choose it, with the curve of the choice, and draws of the
 * prior beside the data, which must be there. */
typedef struct RpinnPriorCheckOptions {
  bool json;          /* a text for programs */
  const char *folder; /* where prior.html goes, with its figures; NULL: nowhere */
  void (*progress)(void *user, const RpinnProgress *progress); /* of the choice; may be NULL */
  void *user;
} RpinnPriorCheckOptions;
/* A text that the caller frees; NULL after a failure, with a message. options: NULL for the usual ones. */
RPINN_API char *rpinn_check_prior(RpinnContext *context, const RpinnProblem *problem,
                                  const RpinnPriorCheckOptions *options);

#ifdef __cplusplus
}
#endif
#endif
