#include "rpinn/version.h"

const char *rpinn_version(void) {
  return RPINN_VERSION;
}
