/* Measured rows in folds, each of which is left out in turn. */
#ifndef RPINN_STUDY_MEASURED_FOLDS_H
#define RPINN_STUDY_MEASURED_FOLDS_H

#include "posterior.h"

/* Is a fitted term of the problem measured? */
bool rpinn_term_is_measured(const RpinnPosterior *posterior, size_t term);
/* The fold of every row of the measured terms: *folds [num_terms][points], in the arena; NULL for terms that are never left out.
 * blocks: folds that are regions of space, and not rows at random, which the seed decides. Bad input: fewer rows than folds. */
RpinnStatus rpinn_measured_folds(RpinnContext *context, RpinnArena *arena, const RpinnPosterior *posterior,
                                 size_t num_folds, bool blocks, size_t ***folds);

#endif
