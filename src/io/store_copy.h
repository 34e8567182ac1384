/* What one store takes from another, piece by piece. */
#ifndef RPINN_IO_STORE_COPY_H
#define RPINN_IO_STORE_COPY_H

#include "member_store.h"

/* The text that the store was made with; the caller frees it. */
RpinnStatus rpinn_member_store_get_identity(RpinnContext *context, RpinnMemberStore *store, char **identity);
/* Call visit for all texts by their keys, in their order. A failure of visit stops and is returned. */
RpinnStatus rpinn_member_store_visit_texts(RpinnContext *context, RpinnMemberStore *store,
                                           RpinnStatus (*visit)(void *user, const char *key,
                                                                const char *value),
                                           void *user);
/* The least index from `from` on that has a state; *found is false where there is none. */
RpinnStatus rpinn_member_store_next_state(RpinnContext *context, RpinnMemberStore *store, uint64_t from,
                                          uint64_t *index, bool *found);

/* For one of many stores that are open at once: it keeps a few pages in memory. */
RpinnStatus rpinn_member_store_keep_small(RpinnContext *context, RpinnMemberStore *store);
/* For a store that nobody will miss before it is closed whole: no journal, no syncing. */
RpinnStatus rpinn_member_store_write_unsafely(RpinnContext *context, RpinnMemberStore *store);

#endif
