/* A run directory that somebody finished: its summary.json. */
#ifndef RPINN_RESULTS_FINISHED_RUN_H
#define RPINN_RESULTS_FINISHED_RUN_H

#include "json_reader.h"
#include "text.h"

typedef struct RpinnFinishedRun {
  RpinnArena *arena;
  const char *folder;            /* in the arena */
  RpinnText text;                /* summary.json as it stands */
  const RpinnJsonValue *summary; /* … as a value: what the tables need is there and of the right kind */
} RpinnFinishedRun;

/* Bad input: no such directory, no run in it, one that is not finished, a damaged summary.json. Close it on
 * every path. */
RpinnStatus rpinn_finished_run_open(RpinnContext *context, const char *folder, RpinnFinishedRun *run);
void rpinn_finished_run_close(RpinnFinishedRun *run);

/* A number of an object; NaN when it is null, absent or no number. */
double rpinn_summary_number(const RpinnJsonValue *object, const char *key);
/* Is a flag of an object set? */
bool rpinn_summary_flag(const RpinnJsonValue *object, const char *key);
/* A text of an object; "-" when it is absent or no text. */
const char *rpinn_summary_text(const RpinnJsonValue *object, const char *key);

/* The columns of the tables of scores: rl2, linf, … */
void rpinn_summary_score_header(const char *first, int width, RpinnText *table);
/* A row of them, without its newline. */
void rpinn_summary_score_row(const char *first, int width, const RpinnJsonValue *score, RpinnText *table);

/* What was made, in the title of a table; and lines of it that methods share: losses, stops and weights of members; convergence of chains. */
void rpinn_summary_member_title(const RpinnJsonValue *summary, RpinnText *table);
void rpinn_summary_chain_title(const RpinnJsonValue *summary, RpinnText *table);
void rpinn_summary_member_lines(const RpinnJsonValue *summary, RpinnText *table);
void rpinn_summary_chain_lines(const RpinnJsonValue *summary, RpinnText *table);

/* A summary as a table for people, in the layout of the paper. */
void rpinn_summary_table(const RpinnJsonValue *summary, RpinnText *table);

#endif
