#include "member_stop.h"

#include <string.h>

static const char *const words[2][RPINN_NUM_STOPS] = {{
#define RPINN_STOP_WORD(name, text, meaning) text,
                                                          RPINN_STOP_LIST(RPINN_STOP_WORD)
#undef RPINN_STOP_WORD
                                                      },
                                                      {
#define RPINN_STOP_WORD(name, text, meaning) text "_in_double",
                                                          RPINN_STOP_LIST(RPINN_STOP_WORD)
#undef RPINN_STOP_WORD
                                                      }};

const char *rpinn_member_stop_word(RpinnMemberStop stop) {
  return words[stop.in_double][stop.stop];
}

RpinnMemberStop rpinn_member_stop_of_word(const char *word) {
  for (size_t in_double = 0; in_double < 2; in_double++)
    for (size_t stop = 0; stop < RPINN_NUM_STOPS; stop++)
      if (!strcmp(words[in_double][stop], word)) return (RpinnMemberStop){(RpinnStop)stop, in_double > 0};
  return (RpinnMemberStop){RPINN_STOP_RUNNING, false};
}
