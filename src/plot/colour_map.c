/* A path through Oklab, a space in which distances are those that the eye sees (Ottosson, 2020). Along the
 * position t = 0 … 1, with lightness L, chroma C and hue H,
 *
 *   L = L0 + (L1 - L0) t,   H = H0 + (H1 - H0) t,   a = C cos H,   b = C sin H,
 *
 *   (l', m', s') = A (L, a, b),   (l, m, s) = their cubes,   linear sRGB = B (l, m, s),   then the sRGB
 * curve.
 *
 * with C a parabola that stays within what a screen can show: where colours had to be cut, the map would have
 * edges that the data do not have. */
#include "colour_map.h"

#include <math.h>

typedef struct Path {
  double lightness[2], hue[2]; /* at both ends; hue in degrees */
  double chroma[3];            /* at t = 0, 1/2, 1 */
} Path;

static const Path paths[] = {[RPINN_COLOURS_VALUE] = {{0.26, 0.93}, {308, 105}, {0.13, 0.098, 0.18}},
                             [RPINN_COLOURS_SPREAD] = {{0.20, 0.97}, {295, 455}, {0.09, 0.17, 0.03}}};

static void linear_of_oklab(double lightness, double a, double b, double rgb[3]) {
  double l = lightness + 0.3963377774 * a + 0.2158037573 * b;
  double m = lightness - 0.1055613458 * a - 0.0638541728 * b;
  double s = lightness - 0.0894841775 * a - 1.2914855480 * b;
  l *= l * l;
  m *= m * m;
  s *= s * s;
  rgb[0] = 4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s;
  rgb[1] = -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s;
  rgb[2] = -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s;
}

static uint8_t srgb_of_linear(double linear) {
  double x = linear < 0 ? 0 : linear > 1 ? 1 : linear;
  double curved = x <= 0.0031308 ? 12.92 * x : 1.055 * pow(x, 1 / 2.4) - 0.055;
  return (uint8_t)lround(255 * curved);
}

void rpinn_colour(RpinnColourMap map, double position, uint8_t rgb[3]) {
  if (map == RPINN_COLOURS_INSIDE) {
    static const uint8_t outside[3] = {0xd5, 0x5e, 0x00}, inside[3] = {0x56, 0xb4, 0xe9};
    for (int i = 0; i < 3; i++) rgb[i] = position < 0.5 ? outside[i] : inside[i];
    return;
  }
  const Path *path = &paths[map];
  double t = position > 0 ? fmin(position, 1) : 0, linear[3];
  double lightness = path->lightness[0] + (path->lightness[1] - path->lightness[0]) * t;
  double hue = (path->hue[0] + (path->hue[1] - path->hue[0]) * t) * (acos(-1.0) / 180);
  double chroma = path->chroma[0] * (1 - t) * (1 - 2 * t) + path->chroma[1] * 4 * t * (1 - t) +
                  path->chroma[2] * t * (2 * t - 1);
  linear_of_oklab(lightness, chroma * cos(hue), chroma * sin(hue), linear);
  for (int i = 0; i < 3; i++) rgb[i] = srgb_of_linear(linear[i]);
}
