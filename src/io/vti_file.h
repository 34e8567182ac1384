/* fields.vti: the predictions of a problem in two or three dimensions as a VTK image, for ParaView. */
#ifndef RPINN_IO_VTI_FILE_H
#define RPINN_IO_VTI_FILE_H

#include "posterior.h"

/* mean and std [num_predicted][num_points]; std may be NULL. The arrays are <quantity>_mean, <quantity>_std
 * and, where the truth is known, <quantity>_truth and <quantity>_error, the mean minus the truth: data of
 * cells when the points are cells, otherwise of points. An image needs a grid of even steps: without one
 * nothing is written and *written is false. */
RpinnStatus rpinn_vti_file_write(RpinnContext *context, const char *path, const RpinnPosterior *posterior,
                                 const double *mean, const double *std, bool *written);

#endif
