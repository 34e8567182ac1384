/* Ranks without MPI: threads of one process, with queues between them. */
#ifndef RPINN_TESTS_MOCK_RANKS_H
#define RPINN_TESTS_MOCK_RANKS_H

#include "ranks.h"

enum { MOCK_MAX_RANKS = 8 };

typedef struct MockJob MockJob;

/* A job of so many ranks, and what one of them opens. */
MockJob *mock_job_create(size_t size);
void mock_job_destroy(MockJob *job);
RpinnRanks *mock_ranks_open(RpinnContext *context, MockJob *job, size_t rank);
/* From here on nothing that the rank sends arrives. */
void mock_job_silence(MockJob *job, size_t rank);
/* Has a rank asked to end all? */
bool mock_job_is_aborted(const MockJob *job);

#endif
