/* The results in words and numbers: summary.json, its table, and CSV files. */
#ifndef RPINN_RESULTS_RUN_SUMMARY_H
#define RPINN_RESULTS_RUN_SUMMARY_H

#include "rpinn/run.h"
#include "text.h"

/* Scores and verdict, run->json and run->table, and summary.json, summary.csv, predictions.csv and the file of the method. */
RpinnStatus rpinn_run_write_summary(RpinnContext *context, RpinnRun *run);

/* A cell of such a file: a number that reads back exactly, nothing for NaN, and what ends the cell or the line. */
void rpinn_csv_append_number(RpinnText *csv, double value, bool last);

#endif
