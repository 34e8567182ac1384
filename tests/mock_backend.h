/* A backend that only works on groups of 7. A call of fewer members is laid out to exactly 7 lanes, the free ones with copies, in
 * another order than given; another backend computes the lanes. A call of more members is refused. What a caller sees of it
 * is what it sees of the backend inside, in the precision asked for: the bits are the same or the caller is wrong.
 *
 * In the place of `cpu`, for runs in this process:
 *
 *   mock_backend_use(&mock_backend);
 *   …
 *   MockCounts counts = mock_backend_counts();
 *   mock_backend_stop();
 *
 * Every posterior has an instance of its own, and threads may use theirs at the same time. For tests with LINKS mock_backend. */
#ifndef RPINN_TESTS_MOCK_BACKEND_H
#define RPINN_TESTS_MOCK_BACKEND_H

#include "backend.h"

enum { MOCK_GROUP = 7 };

extern const RpinnBackendOperations mock_backend;       /* cpu inside, with all that it has */
extern const RpinnBackendOperations mock_bare_backend;  /* cpu inside, with the required functions alone */
extern const RpinnBackendOperations mock_plain_backend; /* plain inside */

/* From now on, where `cpu` is asked for, this computes, with counts that begin at 0. */
void mock_backend_use(const RpinnBackendOperations *mock);
/* `cpu` again. */
void mock_backend_stop(void);

/* Over all instances since the mock was taken into use; evaluations at points are not counted. */
typedef struct MockCounts {
  size_t num_calls;
  size_t num_full;  /* calls with 7 members */
  size_t num_lanes; /* lanes with a member of the caller's */
} MockCounts;
MockCounts mock_backend_counts(void);

#endif
