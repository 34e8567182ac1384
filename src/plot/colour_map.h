/* Colours for maps, even to the eye and safe for the colour-blind: lightness rises evenly from dark to light,
 * so that order can be read without any hue. */
#ifndef RPINN_PLOT_COLOUR_MAP_H
#define RPINN_PLOT_COLOUR_MAP_H

#include <stdint.h>

typedef enum RpinnColourMap {
  RPINN_COLOURS_VALUE,  /* violet, blue, green, yellow: for values */
  RPINN_COLOURS_SPREAD, /* violet, red, orange, pale yellow: for magnitudes that begin at zero */
  RPINN_COLOURS_INSIDE  /* two of Okabe and Ito: vermilion below 1/2, outside; sky blue above, inside */
} RpinnColourMap;

/* The colour at position, 0 … 1 (clamped), as red, green, blue in sRGB. */
void rpinn_colour(RpinnColourMap map, double position, uint8_t rgb[3]);

#endif
