/* The colours of maps at known places, as hexadecimal sRGB. Computed apart from the sources: Oklab by Ottosson's
 * matrices, lightness and hue straight between the ends, chroma a parabola through its three values. */
#include "check.h"

#include "colour_map.h"

typedef struct Anchor {
  RpinnColourMap map;
  double position;
  unsigned rgb;
} Anchor;

static const Anchor anchors[] = {
    {RPINN_COLOURS_VALUE, 0, 0x350252},
    {RPINN_COLOURS_VALUE, 0.25, 0x294f85},
    {RPINN_COLOURS_VALUE, 0.5, 0x158f9c},
    {RPINN_COLOURS_VALUE, 0.75, 0x69c990},
    {RPINN_COLOURS_VALUE, 1, 0xfaee40},
    {RPINN_COLOURS_SPREAD, 0, 0x1b0739},
    {RPINN_COLOURS_SPREAD, 0.25, 0x741366},
    {RPINN_COLOURS_SPREAD, 0.5, 0xcc455a},
    {RPINN_COLOURS_SPREAD, 0.75, 0xf5a063},
    {RPINN_COLOURS_SPREAD, 1, 0xfbf5df},
    /* vermilion outside, sky blue inside */
    {RPINN_COLOURS_INSIDE, 0, 0xd55e00},
    {RPINN_COLOURS_INSIDE, 0.49, 0xd55e00},
    {RPINN_COLOURS_INSIDE, 0.5, 0x56b4e9},
    {RPINN_COLOURS_INSIDE, 1, 0x56b4e9},
    /* clamped */
    {RPINN_COLOURS_VALUE, -0.5, 0x350252},
    {RPINN_COLOURS_VALUE, 1.5, 0xfaee40},
    {RPINN_COLOURS_VALUE, INFINITY, 0xfaee40},
    {RPINN_COLOURS_VALUE, NAN, 0x350252},
    {RPINN_COLOURS_SPREAD, -3, 0x1b0739},
    {RPINN_COLOURS_SPREAD, 1.01, 0xfbf5df},
    {RPINN_COLOURS_INSIDE, -1, 0xd55e00},
    {RPINN_COLOURS_INSIDE, 2, 0x56b4e9},
};

static void test_anchors(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof anchors / sizeof anchors[0]; k++) {
    uint8_t rgb[3];
    rpinn_colour(anchors[k].map, anchors[k].position, rgb);
    unsigned found = (unsigned)rgb[0] << 16 | (unsigned)rgb[1] << 8 | rgb[2];
    check_true(found == anchors[k].rgb, "map %d at %g is #%06x, expected #%06x", (int)anchors[k].map,
               anchors[k].position, found, anchors[k].rgb);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_anchors)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
