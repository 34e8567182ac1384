/* Arrays are doubles in base64, preceded by their number of bytes: exact, and safe with NaN, which VTK's
 * reader of plain numbers is not. */
#include "vti_image.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "part_file.h"

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

/* buffer: the number of bytes, then the numbers. */
static void append_array(RpinnText *text, const RpinnVtiImage *image, const RpinnVtiArray *array,
                         unsigned char *buffer) {
  uint64_t num_bytes = image->num_values * sizeof(double);
  memcpy(buffer, &num_bytes, sizeof num_bytes);
  for (size_t p = 0; p < image->num_values; p++) {
    double value = array->subtracted ? array->values[p] - array->subtracted[p] : array->values[p];
    size_t slot = image->slots ? image->slots[p] : p;
    memcpy(buffer + sizeof num_bytes + slot * sizeof value, &value, sizeof value);
  }
  rpinn_text_append(text, "        <DataArray type=\"Float64\" Name=\"%s%s%s\" format=\"binary\">\n",
                    array->name, array->suffix ? "_" : "", array->suffix ? array->suffix : "");
  append_base64(text, buffer, sizeof num_bytes + num_bytes);
  rpinn_text_append(text, "\n        </DataArray>\n");
}

static void append_triple(RpinnText *text, const char *name, const double *values) {
  char number[RPINN_NUMBER_TEXT];
  rpinn_text_append(text, " %s=\"", name);
  for (size_t i = 0; i < RPINN_VTI_AXES; i++) {
    rpinn_number_format(values[i], number);
    rpinn_text_append(text, "%s%s", i ? " " : "", number);
  }
  rpinn_text_append(text, "\"");
}

static void append_image(RpinnText *text, const RpinnVtiImage *image, size_t num_arrays,
                         const RpinnVtiArray *arrays, unsigned char *buffer) {
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
  for (size_t k = 0; k < num_arrays; k++) append_array(text, image, &arrays[k], buffer);
  rpinn_text_append(text, "      </%s>\n    </Piece>\n  </ImageData>\n</VTKFile>\n", kind);
}

RpinnStatus rpinn_vti_image_write(RpinnContext *context, const char *path, const RpinnVtiImage *image,
                                  size_t num_arrays, const RpinnVtiArray *arrays) {
  RpinnText text = {0};
  unsigned char *buffer = malloc(sizeof(uint64_t) + image->num_values * sizeof(double));
  if (!buffer) return rpinn_fail_memory(context);
  append_image(&text, image, num_arrays, arrays, buffer);
  free(buffer);
  RpinnStatus status = rpinn_part_file_write(context, path, &text);
  rpinn_text_free(&text);
  return status;
}
