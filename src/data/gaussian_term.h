/* The prior of a term with `gaussian`: mean and whitening matrix at its points, given measurements where there are some. */
#ifndef RPINN_DATA_GAUSSIAN_TERM_H
#define RPINN_DATA_GAUSSIAN_TERM_H

#include "data_set.h"

/* The points of data are there; values, rows and what is given are filled, in the arena. */
RpinnStatus rpinn_gaussian_term_fill(RpinnContext *context, RpinnArena *arena, RpinnProblem *problem,
                                     const RpinnTerm *term, RpinnTermData *data);
/* What a term is given as `<coordinates>,value,std`, each number so that it reads back exactly. */
void rpinn_gaussian_term_write_given(const RpinnProblem *problem, const RpinnTermData *data, RpinnText *csv);

#endif
