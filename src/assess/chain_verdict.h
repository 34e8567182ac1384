/* Can these chains be trusted? What is wrong with them, and what to try, in plain words. */
#ifndef RPINN_ASSESS_CHAIN_VERDICT_H
#define RPINN_ASSESS_CHAIN_VERDICT_H

#include "rpinn/convergence.h"
#include "rpinn/verdict.h"
#include "text.h"

/* One scalar in all chains. */
typedef struct RpinnScalarHealth {
  const char *name;
  bool constant;               /* every draw is the same: nothing to judge, and no fault */
  RpinnConvergence statistics; /* at least rhat, ess_bulk and ess_tail; NaN: could not be computed */
  double nested_rhat;          /* of superchains; 0 without them, NaN: could not be computed */
} RpinnScalarHealth;

/* One chain. */
typedef struct RpinnChainHealth {
  const char *name;                   /* of its file, or NULL */
  double energy_fraction;             /* E-BFMI; NaN: unknown */
  double acceptance;                  /* mean acceptance statistic; NaN: unknown */
  double step_size;                   /* the last; 0 or NaN: unknown */
  size_t num_divergent, num_at_limit; /* draws whose trajectory diverged, or had the largest depth */
} RpinnChainHealth;

typedef struct RpinnChainEvidence {
  size_t num_chains, num_draws; /* per chain */
  size_t num_scalars;
  size_t
      num_superchains; /* chains are many and short, and nested R-hat judges them; 0: each is judged by itself */
  const RpinnChainHealth *chains;   /* [num_chains] */
  const RpinnScalarHealth *scalars; /* [num_scalars] */
  bool has_divergences;             /* num_divergent is known */
  size_t max_depth;                 /* num_at_limit is known: the depth that it means; 0: unknown */
} RpinnChainEvidence;

/* The limits: R-hat and effective sizes per chain by Vehtari et al. (2021), E-BFMI as CmdStan and ArviZ. */
#define RPINN_RHAT_LIMIT            1.01
#define RPINN_ESS_PER_CHAIN         100.0
#define RPINN_ENERGY_FRACTION_LIMIT 0.3
/* A step so much smaller than the largest of the chains: that chain does not move. Steps of chains in modes of their own
 * differ by factors of ten. */
#define RPINN_STEP_SHARE_LIMIT      1e-4

/* X(name, name in JSON, whether it means that the draws cannot be trusted) */
#define RPINN_CHAIN_FINDING_LIST(X)                                                                          \
  X(RHAT, "rhat", true)                                                                                      \
  X(NESTED_RHAT, "nested_rhat", true)                                                                        \
  X(ESS_BULK, "ess_bulk", true)                                                                              \
  X(ESS_TAIL, "ess_tail", true)                                                                              \
  X(NO_STATISTICS, "no_statistics", true)                                                                    \
  X(ENERGY, "energy", true)                                                                                  \
  X(DIVERGENCES, "divergences", true)                                                                        \
  X(STUCK, "stuck", true)                                                                                    \
  X(DEPTH, "depth", false)                                                                                   \
  X(ONE_CHAIN, "one_chain", false)

typedef enum RpinnChainFindingKind {
#define RPINN_CHAIN_FINDING_ENUM(name, text, is_problem) RPINN_FINDING_##name,
  RPINN_CHAIN_FINDING_LIST(RPINN_CHAIN_FINDING_ENUM)
#undef RPINN_CHAIN_FINDING_ENUM
      RPINN_NUM_CHAIN_FINDINGS
} RpinnChainFindingKind;

typedef struct RpinnChainFinding {
  RpinnChainFindingKind kind;
  const char *name;            /* in JSON */
  bool is_problem;             /* otherwise a remark */
  RpinnSeverity severity;      /* in the verdict on a run: a small problem is a caution */
  size_t count;                /* scalars, chains or draws concerned */
  double worst;                /* the worst value; for divergences and depth the share of the draws */
  const char *worst_name;      /* the scalar or the file it belongs to, or NULL */
  char what[512], advice[512]; /* sentences */
} RpinnChainFinding;

typedef struct RpinnChainFindings {
  bool healthy; /* no problem among the findings */
  size_t num_findings;
  RpinnChainFinding findings[RPINN_NUM_CHAIN_FINDINGS]; /* at most one of a kind, in their order */
} RpinnChainFindings;

/* worst_name borrows from the evidence. */
RpinnChainFindings rpinn_chain_findings(const RpinnChainEvidence *evidence);

/* How far a scalar is beyond its limits: above 1 it is, NaN statistics are infinitely far; a constant one is -1. */
double rpinn_scalar_badness(const RpinnScalarHealth *scalar, size_t num_chains);

/* ---- rendering ---- */

enum { RPINN_CHAIN_TABLE_ROWS = 20 };

/* A table of scalars (the worst RPINN_CHAIN_TABLE_ROWS of them unless `all`), and one of chains. False when out of memory, also
 * of the text. */
bool rpinn_chain_report_tables(const RpinnChainEvidence *evidence, bool all, RpinnText *text);
/* The findings, and what they come to in one line. */
void rpinn_chain_report_findings(const RpinnChainFindings *findings, RpinnText *text);
/* All of it for programs, always with all scalars, as one JSON object and a newline; with the verdict on the run that the
 * chains are of, where there is one (else NULL). */
void rpinn_chain_report_json(const RpinnChainEvidence *evidence, const RpinnChainFindings *findings,
                             const RpinnVerdict *verdict, RpinnText *text);

#endif
