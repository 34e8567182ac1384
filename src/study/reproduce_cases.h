/* What the paper ran: its cases, its methods, and what each scale leaves of its settings. */
#ifndef RPINN_STUDY_REPRODUCE_CASES_H
#define RPINN_STUDY_REPRODUCE_CASES_H

#include "method.h"
#include "published.h"
#include "rpinn/problem.h"

enum { RPINN_PAPER_QUANTITIES = 2 };

/* One block of a table: a problem with its noise and its number of points. */
typedef struct RpinnPaperCase {
  const char *table, *problem;
  const char *num_points; /* N_f; "" where the problem has none */
  const char *sigma;
  const char *quantities[RPINN_PAPER_QUANTITIES];
  double slack; /* a share of the re-run's figure, beside the standard errors */
  /* Figures of each quantity that are shown but not judged: bits by RpinnTableMetric. */
  unsigned reported[RPINN_PAPER_QUANTITIES];
  double rhat; /* which the largest R-hat of the paper exceeds, in its own form; 0: not stated */
} RpinnPaperCase;

/* Methods in the order of the paper's tables, and behind them what is in no table: X(ENUMERATOR, name). */
#define RPINN_PAPER_METHOD_LIST(X)                                                                           \
  X(RPINN, rpinn)                                                                                            \
  X(ENSEMBLE, ensemble)                                                                                      \
  X(NUTS, nuts)                                                                                              \
  X(SVGD, svgd)                                                                                              \
  X(MAP, map)

typedef enum RpinnPaperMethod {
#define RPINN_PAPER_METHOD_ENUM(enumerator, name) RPINN_PAPER_##enumerator,
  RPINN_PAPER_METHOD_LIST(RPINN_PAPER_METHOD_ENUM)
#undef RPINN_PAPER_METHOD_ENUM
      RPINN_NUM_PAPER_METHODS = RPINN_PAPER_MAP
} RpinnPaperMethod;

extern const char *const rpinn_paper_methods[RPINN_NUM_PAPER_METHODS + 1]; /* names */
const RpinnMethod *rpinn_paper_method(RpinnPaperMethod method);

typedef enum RpinnPaperScale {
  RPINN_SCALE_QUICK,
  RPINN_SCALE_MEDIUM,
  RPINN_SCALE_PAPER,
  RPINN_NUM_PAPER_SCALES
} RpinnPaperScale;

extern const char *const rpinn_paper_scales[RPINN_NUM_PAPER_SCALES];

size_t rpinn_num_paper_cases(void);
const RpinnPaperCase *rpinn_paper_case(size_t index);

enum { RPINN_MAX_SCALE_OVERRIDES = 32 };

/* What a run at this scale sets beside the preset `paper`, later ones over earlier ones. Returns how many. */
size_t rpinn_scale_overrides(const RpinnPaperCase *paper, RpinnPaperMethod method, RpinnPaperScale scale,
                             RpinnOverride overrides[RPINN_MAX_SCALE_OVERRIDES]);

#endif
