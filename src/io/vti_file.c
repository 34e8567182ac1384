/* Arrays are doubles in base64, preceded by their number of bytes: exact, and safe with NaN, which VTK's
 * reader of plain numbers is not. */
#include "vti_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "part_file.h"
#include "tensor_grid.h"

enum { MAX_AXES = 3 };

typedef struct Image {
  bool of_cells;
  size_t num_points;
  const size_t *slots; /* [num_points] place of each point in the image */
  size_t num_steps[MAX_AXES];
  double origin[MAX_AXES], spacing[MAX_AXES];
} Image;

/* ---- the grid ---- */

/* Coordinates may come from files with few digits. */
static bool has_even_steps(const double *axis, size_t count, double step) {
  for (size_t i = 1; i < count; i++)
    if (fabs(axis[i] - (axis[0] + (double)i * step)) > RPINN_DOMAIN_TOLERANCE * step * (double)count)
      return false;
  return true;
}

static RpinnStatus find_image(RpinnContext *context, RpinnArena *arena, const RpinnPosterior *posterior,
                              Image *image, bool *found) {
  const RpinnProblem *problem = posterior->problem;
  const RpinnPointSet *points = &posterior->data->predict;
  RpinnTensorGrid grid;
  *image = (Image){.spacing = {1, 1, 1}};
  *found = false;
  if (!problem->has_predict || problem->num_coordinates < 2 || problem->num_coordinates > MAX_AXES)
    return RPINN_OK;
  RPINN_TRY(rpinn_tensor_grid_find(context, arena, problem->num_coordinates, points, &grid, found));
  if (!*found) return RPINN_OK;
  image->of_cells = problem->predict_at.sampling == RPINN_POINTS_CELLS;
  image->num_points = points->count;
  image->slots = grid.slots;
  for (size_t i = 0; i < grid.num_axes; i++) {
    const RpinnCoordinate *coordinate = &problem->coordinates[i];
    size_t count = grid.counts[i];
    double first = grid.axes[i][0], last = grid.axes[i][count - 1];
    double step = count > 1 ? (last - first) / (double)(count - 1) : coordinate->high - coordinate->low;
    if (!has_even_steps(grid.axes[i], count, step)) *found = false;
    image->num_steps[i] = image->of_cells ? count : count - 1;
    image->origin[i] = image->of_cells ? first - step / 2 : first;
    image->spacing[i] = step;
  }
  return RPINN_OK;
}

/* ---- the text ---- */

static void append_base64(RpinnText *text, const unsigned char *bytes, size_t size) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < size; i += 3) {
    size_t left = size - i;
    unsigned word =
        (unsigned)bytes[i] << 16 | (left > 1 ? bytes[i + 1] << 8 : 0) | (left > 2 ? bytes[i + 2] : 0);
    char group[4] = {digits[word >> 18], digits[word >> 12 & 63], '=', '='};
    if (left > 1) group[2] = digits[word >> 6 & 63];
    if (left > 2) group[3] = digits[word & 63];
    rpinn_text_append_bytes(text, group, sizeof group);
  }
}

/* values [num_points], minus other where there is one; buffer: the number of bytes, then the numbers. */
static void append_array(RpinnText *text, const Image *image, const char *name, const char *suffix,
                         const double *values, const double *other, unsigned char *buffer) {
  uint64_t num_bytes = image->num_points * sizeof(double);
  memcpy(buffer, &num_bytes, sizeof num_bytes);
  for (size_t p = 0; p < image->num_points; p++) {
    double value = other ? values[p] - other[p] : values[p];
    memcpy(buffer + sizeof num_bytes + image->slots[p] * sizeof value, &value, sizeof value);
  }
  rpinn_text_append(text, "        <DataArray type=\"Float64\" Name=\"%s_%s\" format=\"binary\">\n", name,
                    suffix);
  append_base64(text, buffer, sizeof num_bytes + num_bytes);
  rpinn_text_append(text, "\n        </DataArray>\n");
}

static void append_arrays(RpinnText *text, const RpinnPosterior *posterior, const Image *image,
                          const double *mean, const double *std, unsigned char *buffer) {
  for (size_t q = 0; q < posterior->problem->num_predicted; q++) {
    const char *name = posterior->problem->predicted[q].name;
    const double *truth = posterior->data->predicted_truth[q], *own_mean = mean + q * image->num_points;
    append_array(text, image, name, "mean", own_mean, NULL, buffer);
    if (std) append_array(text, image, name, "std", std + q * image->num_points, NULL, buffer);
    if (!truth) continue;
    append_array(text, image, name, "truth", truth, NULL, buffer);
    append_array(text, image, name, "error", own_mean, truth, buffer);
  }
}

static void append_triple(RpinnText *text, const char *name, const double *values) {
  char number[RPINN_NUMBER_TEXT];
  rpinn_text_append(text, " %s=\"", name);
  for (size_t i = 0; i < MAX_AXES; i++) {
    rpinn_number_format(values[i], number);
    rpinn_text_append(text, "%s%s", i ? " " : "", number);
  }
  rpinn_text_append(text, "\"");
}

static void append_image(RpinnText *text, const RpinnPosterior *posterior, const Image *image,
                         const double *mean, const double *std, unsigned char *buffer) {
  const uint16_t probe = 1;
  bool little_endian = *(const unsigned char *)&probe == 1;
  const char *kind = image->of_cells ? "CellData" : "PointData";
  char extent[96];
  snprintf(extent, sizeof extent, "0 %zu 0 %zu 0 %zu", image->num_steps[0], image->num_steps[1],
           image->num_steps[2]);
  rpinn_text_append(text, "<?xml version=\"1.0\"?>\n<VTKFile type=\"ImageData\" version=\"1.0\"");
  rpinn_text_append(text, " byte_order=\"%s\" header_type=\"UInt64\">\n",
                    little_endian ? "LittleEndian" : "BigEndian");
  rpinn_text_append(text, "  <ImageData WholeExtent=\"%s\"", extent);
  append_triple(text, "Origin", image->origin);
  append_triple(text, "Spacing", image->spacing);
  rpinn_text_append(text, ">\n    <Piece Extent=\"%s\">\n      <%s>\n", extent, kind);
  append_arrays(text, posterior, image, mean, std, buffer);
  rpinn_text_append(text, "      </%s>\n    </Piece>\n  </ImageData>\n</VTKFile>\n", kind);
}

/* ---- the file ---- */

static RpinnStatus write_text(RpinnContext *context, const char *path, const RpinnText *text) {
  char *part = rpinn_part_file_path(path);
  if (!part) return rpinn_fail_memory(context);
  RpinnStatus status = rpinn_part_file_create(context, part, text->length);
  FILE *file = status == RPINN_OK ? fopen(part, "wb") : NULL;
  if (status == RPINN_OK) {
    bool good = file && fwrite(text->bytes, 1, text->length, file) == text->length;
    good = file && fclose(file) == 0 && good;
    if (!good) status = rpinn_fail_file(context, RPINN_ERROR_IO, "write", path);
    if (good) status = rpinn_part_file_finish(context, part, path);
    if (status != RPINN_OK) remove(part);
  }
  free(part);
  return status;
}

RpinnStatus rpinn_vti_file_write(RpinnContext *context, const char *path, const RpinnPosterior *posterior,
                                 const double *mean, const double *std, bool *written) {
  *written = false;
  RpinnArena *arena = rpinn_arena_create();
  if (!arena) return rpinn_fail_memory(context);
  Image image;
  bool found;
  RpinnStatus status = find_image(context, arena, posterior, &image, &found);
  if (status == RPINN_OK && found) {
    RpinnText text = {0};
    unsigned char *buffer =
        RPINN_ARENA_NEW(arena, unsigned char, sizeof(uint64_t) + image.num_points * sizeof(double));
    if (buffer) append_image(&text, posterior, &image, mean, std, buffer);
    status = buffer && !text.failed ? write_text(context, path, &text) : rpinn_fail_memory(context);
    *written = status == RPINN_OK;
    rpinn_text_free(&text);
  }
  rpinn_arena_destroy(arena);
  return status;
}
