/* Words that a study is given by options. */
#ifndef RPINN_STUDY_STUDY_WORDS_H
#define RPINN_STUDY_STUDY_WORDS_H

#include "context.h"

/* The place of a word among the choices, or the message that it is none, with all of them and the nearest. */
RpinnStatus rpinn_study_read_choice(RpinnContext *context, const char *option, const char *found,
                                    const char *const *choices, size_t num_choices, size_t *place);

#endif
