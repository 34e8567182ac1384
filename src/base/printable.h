/* What of a text a terminal would act upon; rpinn_make_printable of rpinn/status.h takes it out. */
#ifndef RPINN_BASE_PRINTABLE_H
#define RPINN_BASE_PRINTABLE_H

#include "rpinn/status.h"

/* Has the text any control character, newlines and tabs among them? */
bool rpinn_has_control(const char *text);

#endif
