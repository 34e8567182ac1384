/* Numbers on a raster as an image inside a page: a PNG of 256 colours, as the text of a data: address. */
#ifndef RPINN_PLOT_RASTER_IMAGE_H
#define RPINN_PLOT_RASTER_IMAGE_H

#include "colour_map.h"
#include "context.h"
#include "text.h"

enum { RPINN_RASTER_LIMIT = 4096 }; /* columns and rows, each */

/* values [rows][columns], the first row at the top, each 1 … RPINN_RASTER_LIMIT; low and high are the ends of
 * the colours. A value that is not finite is grey. */
RpinnStatus rpinn_raster_image_append(RpinnText *page, RpinnColourMap map, size_t columns, size_t rows,
                                      const double *values, double low, double high);

#endif
