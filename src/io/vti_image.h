/* A VTK image: arrays of numbers on a grid of even steps in two or three dimensions, for ParaView. */
#ifndef RPINN_IO_VTI_IMAGE_H
#define RPINN_IO_VTI_IMAGE_H

#include "arena.h"
#include "context.h"

enum { RPINN_VTI_AXES = 3 };

typedef struct RpinnVtiImage {
  bool of_cells; /* else of points */
  size_t num_values;
  const size_t *slots;              /* [num_values] place of each value in the image; NULL: in order */
  size_t num_steps[RPINN_VTI_AXES]; /* cells per axis, or points less one; 0 for an axis that is not there */
  double origin[RPINN_VTI_AXES], spacing[RPINN_VTI_AXES];
} RpinnVtiImage;

typedef struct RpinnVtiArray {
  const char *name, *suffix; /* called name_suffix; suffix NULL: name */
  const double *values;      /* [num_values] */
  const double *subtracted;  /* taken off the values, or NULL */
} RpinnVtiArray;

RpinnStatus rpinn_vti_image_write(RpinnContext *context, const char *path, const RpinnVtiImage *image,
                                  size_t num_arrays, const RpinnVtiArray *arrays);

#endif
