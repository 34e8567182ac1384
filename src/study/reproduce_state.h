/* A reproduction in memory, and the kinds that there are. */
#ifndef RPINN_STUDY_REPRODUCE_STATE_H
#define RPINN_STUDY_REPRODUCE_STATE_H

#include "reproduce_cases.h"
#include "rpinn/study.h"
#include "text.h"

typedef struct RpinnReproduceKind RpinnReproduceKind;
typedef struct RpinnMadeRun RpinnMadeRun; /* reproduce_run.h */

enum { RPINN_BOOTSTRAP_RESAMPLES = 200, RPINN_MAX_PAPER_RUNS = 64 };

enum { RPINN_MAX_RUN_OVERRIDES = 6 };

/* A method on a case. */
typedef struct RpinnReproducedRun {
  const RpinnPaperCase *paper_case;
  RpinnPaperMethod method;
  const char *name; /* of its directory */
  /* What studies change: settings, over those of the scale; epsilon of the prior; fresh noise in place of the
   * published data. */
  size_t num_overrides;
  RpinnOverride overrides[RPINN_MAX_RUN_OVERRIDES];
  double epsilon;
  bool is_synthetic;
  bool only_loaded;                      /* nothing is run: its problem tells enough */
  struct RpinnReproducedRun *costs_like; /* a run that takes as long; NULL: this one is tried itself */
  double trial_seconds;                  /* of a whole run, about; 0: not known */
  const char *reason;                    /* why it is not made; NULL: it is */
  const char *settings;                  /* in words */
  const char *departures;                /* from the preset `paper`, in words; "": none */
  double members;                        /* draws of all chains together */
  double chains, warmup;                 /* NaN without chains */
  double iterations;                     /* NaN with chains */
  double seconds;
} RpinnReproducedRun;

typedef enum RpinnAgreement {
  RPINN_AGREEMENT_NONE,     /* not judged */
  RPINN_AGREEMENT_REPORTED, /* not judged by intention */
  RPINN_AGREEMENT_AGREES,
  RPINN_AGREEMENT_DIFFERS
} RpinnAgreement;

/* One quantity of a run. */
typedef struct RpinnReproducedRow {
  const RpinnReproducedRun *run;
  size_t quantity;                    /* of the case */
  const RpinnPublishedRow *published; /* NULL in studies */
  const RpinnPublishedRow *rerun;     /* may be NULL */
  const RpinnPublishedRow *divided;   /* SVGD with the repulsion of the paper's formula; may be NULL */
  double ours[RPINN_NUM_FIGURES], errors[RPINN_NUM_FIGURES], tolerances[RPINN_NUM_TABLE_METRICS];
  RpinnAgreement verdicts[RPINN_NUM_TABLE_METRICS];
  double effective_size; /* of the draws of chains; NaN without chains */
  const char *unjudged;  /* why nothing is judged; NULL: it is */
  bool has_peak;         /* SVGD: the figures where LPP was highest on the way */
  double peak_iteration, peak[RPINN_NUM_TABLE_METRICS];
} RpinnReproducedRow;

typedef enum RpinnChainFigure {
  RPINN_CHAIN_RL2,
  RPINN_CHAIN_LPP_TABLE,
  RPINN_NUM_CHAIN_FIGURES
} RpinnChainFigure;

/* One chain of Table 3. */
typedef struct RpinnReproducedChain {
  size_t number; /* from 1 */
  double figures[RPINN_PAPER_QUANTITIES][RPINN_NUM_CHAIN_FIGURES];
} RpinnReproducedChain;

/* Over the parameters, or over the points of a quantity. */
typedef struct RpinnLargestRhat {
  double usual; /* rank-normalised, of split chains */
  double paper; /* TensorFlow Probability's, without a square root */
} RpinnLargestRhat;

/* The chains of a run, and the published ones, both in rising order of rl2 of the first quantity: chains have no order of their own. */
typedef struct RpinnReproducedChains {
  const RpinnReproducedRun *run;
  size_t num_ours, num_published;
  RpinnReproducedChain *ours, *published;
  const RpinnPublishedRow *worst[RPINN_PAPER_QUANTITIES]; /* of the re-run's; may be NULL */
  RpinnLargestRhat quantities[RPINN_PAPER_QUANTITIES], parameters;
} RpinnReproducedChains;

enum { RPINN_MAX_ENTRY_TABLES = 3 };

/* What of the paper can be asked for. */
typedef struct RpinnReproduceEntry {
  const char *name;
  const RpinnReproduceKind *kind;
  const char *tables[RPINN_MAX_ENTRY_TABLES]; /* of problems/published, whose runs it needs; NULL: no more */
  const char *description;                    /* one line */
} RpinnReproduceEntry;

struct RpinnReproduction {
  RpinnArena *arena;
  const RpinnReproduceOptions *options;
  const RpinnReproduceEntry *entry; /* what is asked for */
  RpinnPaperScale scale;
  bool has_data, interrupted;
  bool methods[RPINN_NUM_PAPER_METHODS];                 /* asked for */
  RpinnPublishedTable published[RPINN_MAX_ENTRY_TABLES]; /* the entry's tables */
  size_t num_runs, num_rows, num_chain_tables;
  RpinnReproducedRun *runs;
  RpinnReproducedRow *rows;
  RpinnReproducedChains *chain_tables; /* Table 3 */
  size_t num_parts;
  RpinnReproduction **parts;      /* all the other entries, of `all` */
  const RpinnReproduction *whole; /* `all`, of which it is a part; else NULL */
  void *own;                      /* what its kind keeps, in the arena */
  RpinnText text, json, csv;
  RpinnText outcome; /* one line of words */
};

/* How entries of one kind are made. */
struct RpinnReproduceKind {
  bool is_figure;     /* writes CSV files of its own and NAME.gp, a script for gnuplot */
  bool takes_methods; /* --methods chooses among its runs */
  bool needs_no_run;  /* the problem of a run is loaded and taken from, but nothing is run */
  /* Its runs, and room for what is taken from them. */
  RpinnStatus (*plan)(RpinnContext *context, RpinnReproduction *reproduction);
  /* Does it show this run? NULL: every one. */
  bool (*shows)(const RpinnReproducedRun *run);
  /* What it needs of a run that is finished. */
  RpinnStatus (*take)(RpinnMadeRun *made);
  /* The page, JSON and, where there is one, CSV: NAME.md, NAME.json and NAME.csv. */
  RpinnStatus (*finish)(RpinnContext *context, RpinnReproduction *reproduction);
};

/* Every entry, in the order in which `all` makes them; `all` is the last. */
size_t rpinn_num_reproduce_entries(void);
const RpinnReproduceEntry *rpinn_reproduce_entry(size_t index);

/* The next of the runs, for which there is room: a case by a method, in the directory FOLDER/case_method_SUFFIX, where
 * folder ends with / or is "". NULL: no memory. */
RpinnReproducedRun *rpinn_reproduction_add_run(RpinnReproduction *reproduction, const RpinnPaperCase *paper,
                                               RpinnPaperMethod method, const char *folder,
                                               const char *suffix);
/* Room for the runs, their rows and their chains, as the tables have them. */
RpinnStatus rpinn_reproduction_plan(RpinnContext *context, RpinnReproduction *reproduction);
/* Options read and runs planned; options must outlive it. */
RpinnStatus rpinn_reproduction_begin(RpinnContext *context, const RpinnReproduceOptions *options,
                                     RpinnReproduction **reproduction);
/* Make what was planned and write its files. */
RpinnStatus rpinn_reproduction_make(RpinnContext *context, RpinnReproduction *reproduction);
/* Tell how many runs are to be made, and about how long they take, at most. */
RpinnStatus rpinn_reproduction_estimate(RpinnContext *context, RpinnReproduction *reproduction);
/* Make the runs, or find them finished, and take from each what the entry needs, in their order. */
RpinnStatus rpinn_reproduction_make_runs(RpinnContext *context, RpinnReproduction *reproduction);
/* Fill the rows and the chains of a run. */
RpinnStatus rpinn_reproduction_fill_rows(RpinnMadeRun *made);
/* The published table of a case. */
const RpinnPublishedTable *rpinn_reproduction_published(const RpinnReproduction *reproduction,
                                                        const RpinnPaperCase *paper);
/* A file of the entry: NAME with a suffix, in the folder of the reproduction. */
RpinnStatus rpinn_reproduction_write_file(RpinnContext *context, const RpinnReproduction *reproduction,
                                          const char *suffix, const RpinnText *text);
/* Tolerances and verdicts of a row whose figures, errors and members are there. */
void rpinn_reproduction_judge(const RpinnReproduction *reproduction, RpinnReproducedRow *row);
/* In rising order of rl2 of the first quantity. */
void rpinn_chains_sort(size_t count, RpinnReproducedChain *chains);
/* Largest minus smallest rl2 of a quantity. */
double rpinn_chains_range(size_t count, const RpinnReproducedChain *chains, size_t quantity);

/* How many figures of all rows have this verdict. */
size_t rpinn_reproduction_count(const RpinnReproduction *reproduction, RpinnAgreement agreement);
/* Tables as a page of Markdown, as CSV and as JSON. */
RpinnStatus rpinn_reproduction_write_tables(RpinnContext *context, RpinnReproduction *reproduction);
void rpinn_reproduction_write_text(const RpinnReproduction *reproduction, RpinnText *text);
void rpinn_reproduction_write_csv(const RpinnReproduction *reproduction, RpinnText *csv);
void rpinn_reproduction_write_json(const RpinnReproduction *reproduction, RpinnText *text);
/* Chains as a section of the page. */
void rpinn_chains_write_text(const RpinnReproduction *reproduction, const RpinnReproducedChains *chains,
                             RpinnText *text);

#endif
