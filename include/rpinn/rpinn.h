/* All of the public API. */
#ifndef RPINN_RPINN_H
#define RPINN_RPINN_H

#include "rpinn/bench.h"
#include "rpinn/calibrate.h"
#include "rpinn/check.h"
#include "rpinn/choices.h"
#include "rpinn/convergence.h"
#include "rpinn/diagnose.h"
#include "rpinn/draws.h"
#include "rpinn/export.h"
#include "rpinn/merge.h"
#include "rpinn/methods.h"
#include "rpinn/nuts.h"
#include "rpinn/optimize.h"
#include "rpinn/posterior.h"
#include "rpinn/problem.h"
#include "rpinn/reference.h"
#include "rpinn/report.h"
#include "rpinn/run.h"
#include "rpinn/settings.h"
#include "rpinn/shard.h"
#include "rpinn/status.h"
#include "rpinn/stein.h"
#include "rpinn/study.h"
#include "rpinn/svgd.h"
#include "rpinn/target.h"
#include "rpinn/verdict.h"
#include "rpinn/version.h"
#include "rpinn/weights.h"

#endif
