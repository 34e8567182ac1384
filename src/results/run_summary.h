/* Cells of the CSV files beside the summary. */
#ifndef RPINN_RESULTS_RUN_SUMMARY_H
#define RPINN_RESULTS_RUN_SUMMARY_H

#include "text.h"

/* A number that reads back exactly, nothing for NaN, and what ends the cell or the line. */
void rpinn_csv_append_number(RpinnText *csv, double value, bool last);

#endif
