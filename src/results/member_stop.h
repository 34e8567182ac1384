/* Why a member stopped, as the store has it in a word: the name of the stop, and "_in_double" behind it where the member went on in double
 * (sample/member.h). */
#ifndef RPINN_RESULTS_MEMBER_STOP_H
#define RPINN_RESULTS_MEMBER_STOP_H

#include "rpinn/optimize.h"

typedef struct RpinnMemberStop {
  RpinnStop stop;
  bool in_double;
} RpinnMemberStop;

const char *rpinn_member_stop_word(RpinnMemberStop stop);
/* RUNNING where it is none. */
RpinnMemberStop rpinn_member_stop_of_word(const char *word);

#endif
