/* The truth: reference values of fields and quantities, for synthetic data and for error metrics. Given as
 * expressions, as a CSV table whose rows are the cells, or as expressions of the table's columns. What is not
 * given directly follows from what is: with a truth of u, k*d(u, x, x) is known too. */
#ifndef RPINN_DATA_TRUTH_H
#define RPINN_DATA_TRUTH_H

#include "csv_table.h"
#include "point_set.h"

typedef struct RpinnTruth {
  RpinnProblem *problem;
  RpinnCsvTable *table;     /* NULL without a CSV */
  double *columns;          /* [table rows][table columns], numbers */
  RpinnPointSet cells;      /* of the table or of the declared grid; count 0: none */
  RpinnExpression *entries; /* of problem->truth.entries; CSV columns are CHANNEL leaves */
} RpinnTruth;

RpinnStatus rpinn_truth_create(RpinnContext *context, RpinnArena *arena, RpinnProblem *problem,
                               RpinnTruth *truth);

/* The truth of an expression of fields, as an expression of coordinates and columns. name is what the user
 * calls it: an entry of that name comes first. Returns false when it is not known. */
bool rpinn_truth_find(const RpinnTruth *truth, const char *name, RpinnExpression expression,
                      RpinnExpression *result);
/* … by way of the fields alone, whatever the entry of that name says: for comparing the two. */
bool rpinn_truth_derive(const RpinnTruth *truth, RpinnExpression expression, RpinnExpression *result);

/* Values at points. An expression of columns is known at the cells only. */
RpinnStatus rpinn_truth_evaluate(RpinnContext *context, const RpinnTruth *truth, RpinnExpression expression,
                                 const RpinnPointSet *points, const char *name, RpinnPlace place,
                                 double *values);

#endif
