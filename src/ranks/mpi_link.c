/* The one file that knows MPI: compiled once against Open MPI and once against MPICH, to a plugin each. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "rank_link.h"

enum { TAG = 17 };

static void *begin_send(void *data, size_t to, const void *bytes, size_t size) {
  MPI_Request *request = malloc(sizeof *request);
  (void)data;
  if (request && MPI_Isend(bytes, (int)size, MPI_BYTE, (int)to, TAG, MPI_COMM_WORLD, request) == MPI_SUCCESS)
    return request;
  free(request);
  return NULL;
}

/* What cannot be sent, because the other one is gone, counts as sent: that it is silent is found elsewhere. */
static bool is_sent(void *data, void *sending) {
  MPI_Request *request = sending;
  int is_complete = 0;
  (void)data;
  if (MPI_Test(request, &is_complete, MPI_STATUS_IGNORE) == MPI_SUCCESS && !is_complete) return false;
  free(request);
  return true;
}

static bool has_come(void *data, size_t *from, size_t *size) {
  MPI_Status status;
  int found = 0, count = 0;
  (void)data;
  if (MPI_Iprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &found, &status) != MPI_SUCCESS || !found) return false;
  MPI_Get_count(&status, MPI_BYTE, &count);
  *from = (size_t)status.MPI_SOURCE;
  *size = (size_t)count;
  return true;
}

static void receive(void *data, size_t from, void *bytes, size_t size) {
  (void)data;
  MPI_Recv(bytes, (int)size, MPI_BYTE, (int)from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void abort_all(void *data, int code) {
  (void)data;
  MPI_Abort(MPI_COMM_WORLD, code);
}

static void close_link(void *data) {
  (void)data;
  MPI_Finalize();
}

__attribute__((visibility("default"))) int rpinn_rank_link_open(int version, RpinnRankLink *link,
                                                                char message[256]) {
  int provided, rank, size;
  if (version != RPINN_RANK_LINK_VERSION) {
    snprintf(message, 256, "it is of another version: %d, and %d is asked for", RPINN_RANK_LINK_VERSION,
             version);
    return 1;
  }
  if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS ||
      provided < MPI_THREAD_FUNNELED) {
    snprintf(message, 256, "MPI does not start in a program with threads");
    return 1;
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  *link = (RpinnRankLink){.rank = (size_t)rank,
                          .size = (size_t)size,
                          .begin_send = begin_send,
                          .is_sent = is_sent,
                          .has_come = has_come,
                          .receive = receive,
                          .abort = abort_all,
                          .close = close_link};
  return 0;
}
