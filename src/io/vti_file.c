#include "vti_file.h"

#include "tensor_grid.h"
#include "vti_image.h"

enum { ARRAYS_OF_ONE = 4 };

static RpinnStatus find_image(RpinnContext *context, RpinnArena *arena, const RpinnPosterior *posterior,
                              RpinnVtiImage *image, bool *found) {
  const RpinnProblem *problem = posterior->problem;
  const RpinnPointSet *points = &posterior->data->predict;
  RpinnTensorGrid grid;
  *image = (RpinnVtiImage){.spacing = {1, 1, 1}};
  *found = false;
  if (!problem->has_predict || problem->num_coordinates < 2 || problem->num_coordinates > RPINN_VTI_AXES)
    return RPINN_OK;
  RPINN_TRY(rpinn_tensor_grid_find(context, arena, problem->num_coordinates, points, &grid, found));
  if (!*found) return RPINN_OK;
  image->of_cells = problem->predict_at.sampling == RPINN_POINTS_CELLS;
  image->num_values = points->count;
  image->slots = grid.slots;
  for (size_t i = 0; i < grid.num_axes; i++) {
    const RpinnCoordinate *coordinate = &problem->coordinates[i];
    size_t count = grid.counts[i];
    double step;
    if (!rpinn_tensor_grid_is_even(&grid, i, &step)) *found = false;
    if (count == 1) step = coordinate->high - coordinate->low;
    image->num_steps[i] = image->of_cells ? count : count - 1;
    image->origin[i] = grid.axes[i][0] - (image->of_cells ? step / 2 : 0);
    image->spacing[i] = step;
  }
  return RPINN_OK;
}

/* arrays [ARRAYS_OF_ONE * num_predicted]; returns how many there are. */
static size_t list_arrays(const RpinnPosterior *posterior, size_t num_values, const double *mean,
                          const double *std, RpinnVtiArray *arrays) {
  size_t count = 0;
  for (size_t q = 0; q < posterior->problem->num_predicted; q++) {
    const char *name = posterior->problem->predicted[q].name;
    const double *truth = posterior->data->predicted_truth[q], *own_mean = mean + q * num_values;
    arrays[count++] = (RpinnVtiArray){name, "mean", own_mean, NULL};
    if (std) arrays[count++] = (RpinnVtiArray){name, "std", std + q * num_values, NULL};
    if (!truth) continue;
    arrays[count++] = (RpinnVtiArray){name, "truth", truth, NULL};
    arrays[count++] = (RpinnVtiArray){name, "error", own_mean, truth};
  }
  return count;
}

RpinnStatus rpinn_vti_file_write(RpinnContext *context, const char *path, const RpinnPosterior *posterior,
                                 const double *mean, const double *std, bool *written) {
  *written = false;
  RpinnArena *arena = rpinn_arena_create();
  if (!arena) return rpinn_fail_memory(context);
  RpinnVtiImage image;
  bool found;
  RpinnStatus status = find_image(context, arena, posterior, &image, &found);
  if (status == RPINN_OK && found) {
    RpinnVtiArray *arrays =
        RPINN_ARENA_NEW(arena, RpinnVtiArray, ARRAYS_OF_ONE * posterior->problem->num_predicted);
    if (arrays) {
      size_t count = list_arrays(posterior, image.num_values, mean, std, arrays);
      status = rpinn_vti_image_write(context, path, &image, count, arrays);
    } else {
      status = rpinn_fail_memory(context);
    }
    *written = status == RPINN_OK;
  }
  rpinn_arena_destroy(arena);
  return status;
}
