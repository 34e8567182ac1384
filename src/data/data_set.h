/* The data of a problem: points and values of every term, and the points of predictions with their truth. */
#ifndef RPINN_DATA_DATA_SET_H
#define RPINN_DATA_DATA_SET_H

#include "given_values.h"
#include "truth.h"

typedef struct RpinnTermData {
  RpinnPointSet points;
  double *values; /* [points.count]; of a gaussian term the mean of its prior */
  bool missing;   /* no data were given: the values are zeros */
  bool from_file; /* the values were read, not made */
  bool
      is_exact; /* they are those of the term's expression, read or made, without noise: a tolerance, and no measurement */
  double *noise; /* [points.count] stated deviations of the values where they differ by row; else NULL */
  bool noise_from_file;   /* they are a column of that file */
  double typical_noise;   /* the stated deviation, or the root mean square of those; NaN without one */
  size_t num_rows;        /* of the energy: points.count, or those of mix */
  const double *mix;      /* [num_rows][points.count] of a gaussian term, see gaussian_rows.h; else NULL */
  RpinnGivenValues given; /* what the prior of a gaussian term is conditioned on */
} RpinnTermData;

typedef struct RpinnDataSet {
  RpinnArena *arena;
  RpinnProblem *problem;
  RpinnTruth truth;
  RpinnTermData *terms; /* [problem->num_terms] */
  RpinnPointSet predict;
  double **predicted_truth; /* [problem->num_predicted][predict.count], NULL where it is not known */
} RpinnDataSet;

/* Points and noise follow from the problem's seeds. With data_required a term without data is an error;
 * otherwise its values are zeros and it is marked as missing. Keeps using the problem. */
RpinnStatus rpinn_data_set_create(RpinnContext *context, RpinnProblem *problem, bool data_required,
                                  RpinnDataSet **data);
void rpinn_data_set_destroy(RpinnDataSet *data);

/* Do the values tell of the world: not a prior, and not a tolerance, whose values the problem file states? A table of all data, which a run
 * leaves behind, has those of tolerances as well. */
bool rpinn_term_data_is_measured(const RpinnTerm *term, const RpinnTermData *data);

/* The stated deviation of a value; NaN without one. */
double rpinn_data_set_noise(const RpinnDataSet *data, size_t term, size_t point);

/* All terms with data as `term,<coordinates>,value`, and `noise` where a file gave one, each number so that it reads back
 * exactly. */
void rpinn_data_set_write(const RpinnDataSet *data, RpinnText *csv);
/* A CSV file of points, with one column per coordinate and no others. Points outside the domain are refused,
 * unless anywhere is set. */
RpinnStatus rpinn_point_set_read(RpinnContext *context, RpinnArena *arena, RpinnProblem *problem,
                                 const char *path, bool anywhere, RpinnPointSet *points);
/* Points alone, as `<coordinates>`. */
void rpinn_point_set_write(const RpinnProblem *problem, const RpinnPointSet *points, RpinnText *csv);

#endif
