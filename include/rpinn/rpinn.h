/* The whole public interface. Each header stands alone, so a program may include just the stage it uses. */
#ifndef RPINN_RPINN_H
#define RPINN_RPINN_H

#include "rpinn/draws.h"
#include "rpinn/export.h"
#include "rpinn/status.h"
#include "rpinn/target.h"
#include "rpinn/version.h"

#endif
