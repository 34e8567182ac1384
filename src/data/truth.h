/* The truth: reference values of fields and quantities, for synthetic data and for error metrics. Given as
 * expressions, as a CSV table whose rows are the cells, as a random field and a flow through it on declared
 * cells, or as expressions of the columns that these make. What is not given directly follows from what is: with a
 * truth of u, k*d(u, x, x) is known too. */
#ifndef RPINN_DATA_TRUTH_H
#define RPINN_DATA_TRUTH_H

#include "csv_table.h"
#include "point_set.h"

typedef struct RpinnTruth {
  RpinnProblem *problem;
  size_t num_columns;  /* of the table, then what the truth draws and solves */
  const char **names;  /* [num_columns] */
  size_t row_length;   /* room in a row, at least num_columns */
  double *columns;     /* [cells.count][row_length] */
  RpinnPointSet cells; /* of the table or of the declared grid; count 0: none */
  size_t num_entries;
  RpinnExpression *entries; /* of problem->truth.entries; columns are CHANNEL leaves */
} RpinnTruth;

/* What the truth draws comes from the problem's seeds. It says nothing about data that come from a file: for a problem that
 * reads all its data from one, a truth with a drawn field keeps its cells and has no entries and no columns. */
RpinnStatus rpinn_truth_create(RpinnContext *context, RpinnArena *arena, RpinnProblem *problem,
                               RpinnTruth *truth);
/* The column of that name; -1 when there is none. */
int rpinn_truth_column(const RpinnTruth *truth, const char *name);
/* Is there a random field in it, and was it drawn? */
bool rpinn_truth_is_drawn(const RpinnTruth *truth);
/* The cells and their columns as a CSV table, each number so that it reads back exactly. */
void rpinn_truth_write(const RpinnTruth *truth, RpinnText *csv);

/* The truth of an expression of fields, as an expression of coordinates and columns. name is what the user
 * calls it: an entry of that name comes first. Returns false when it is not known. */
bool rpinn_truth_find(const RpinnTruth *truth, const char *name, RpinnExpression expression,
                      RpinnExpression *result);
/* … by way of the fields alone, whatever the entry of that name says: for comparing the two. */
bool rpinn_truth_derive(const RpinnTruth *truth, RpinnExpression expression, RpinnExpression *result);

/* The truth of an unknown, which is one number; false when it is not known. */
bool rpinn_truth_of_unknown(const RpinnTruth *truth, size_t unknown, double *value);

/* Values at points. An expression of columns is known at the cells only. */
RpinnStatus rpinn_truth_evaluate(RpinnContext *context, const RpinnTruth *truth, RpinnExpression expression,
                                 const RpinnPointSet *points, const char *name, RpinnPlace place,
                                 double *values);

#endif
