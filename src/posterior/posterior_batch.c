/* Energies and rows of many parameter vectors: as many at a time as the backend takes in one call. */
#include <stdlib.h>

#include "posterior.h"

/* For a backend that computes members one after the other: as many as fit into little memory. */
enum { USUAL_PIECE = 64 };

/* What one call of the backend is given. */
typedef struct Piece {
  size_t capacity;
  RpinnBatchMember *members; /* [capacity] */
  double **first, **second;  /* [capacity] results: gradients and energies of terms, or rows and Jacobians */
} Piece;

static void close_piece(Piece *piece) {
  free(piece->members);
  free(piece->first);
  free(piece->second);
}

static RpinnStatus open_piece(RpinnContext *context, const RpinnPosterior *posterior, Piece *piece) {
  size_t group = posterior->backend->group;
  piece->capacity = group > 1 ? group : USUAL_PIECE;
  piece->members = calloc(piece->capacity, sizeof *piece->members);
  piece->first = calloc(piece->capacity, sizeof *piece->first);
  piece->second = calloc(piece->capacity, sizeof *piece->second);
  if (piece->members && piece->first && piece->second) return RPINN_OK;
  close_piece(piece);
  return rpinn_fail_memory(context);
}

/* Row number `row` of an array of rows of `width` numbers; NULL where there is no array. */
static double *row_of(double *array, size_t row, size_t width) {
  return array ? array + row * width : NULL;
}

RpinnStatus rpinn_posterior_energy_batch(RpinnContext *context, RpinnPosterior *posterior, size_t count,
                                         const double *thetas, const double *offsets, double *energies,
                                         double *gradients, double *term_energies) {
  const RpinnEnergyModel *model = &posterior->model;
  size_t num_parameters = model->num_parameters, num_rows = model->num_rows;
  Piece piece = {0};
  RPINN_TRY(open_piece(context, posterior, &piece));
  RpinnStatus status = RPINN_OK;
  for (size_t done = 0; done < count && status == RPINN_OK; done += piece.capacity) {
    size_t size = count - done < piece.capacity ? count - done : piece.capacity;
    for (size_t k = 0; k < size; k++) {
      size_t member = done + k;
      piece.members[k] =
          (RpinnBatchMember){.theta = thetas + member * num_parameters,
                             .offsets = offsets ? offsets + member * (num_rows + num_parameters) : NULL};
      piece.first[k] = row_of(gradients, member, num_parameters);
      piece.second[k] = row_of(term_energies, member, model->num_terms + 1);
    }
    status = rpinn_backend_energies(context, posterior->backend, &(RpinnMemberBatch){size, piece.members},
                                    energies + done, piece.first, piece.second);
  }
  close_piece(&piece);
  return status;
}

RpinnStatus rpinn_posterior_residual_batch(RpinnContext *context, RpinnPosterior *posterior, size_t count,
                                           const double *thetas, double *rows, double *jacobians) {
  const RpinnEnergyModel *model = &posterior->model;
  Piece piece = {0};
  RPINN_TRY(open_piece(context, posterior, &piece));
  RpinnStatus status = RPINN_OK;
  for (size_t done = 0; done < count && status == RPINN_OK; done += piece.capacity) {
    size_t size = count - done < piece.capacity ? count - done : piece.capacity;
    for (size_t k = 0; k < size; k++) {
      size_t member = done + k;
      piece.members[k] = (RpinnBatchMember){.theta = thetas + member * model->num_parameters};
      piece.first[k] = row_of(rows, member, model->num_rows);
      piece.second[k] = row_of(jacobians, member, model->num_rows * model->num_parameters);
    }
    status = rpinn_backend_residuals(context, posterior->backend, &(RpinnMemberBatch){size, piece.members},
                                     piece.first, jacobians ? piece.second : NULL);
  }
  close_piece(&piece);
  return status;
}
