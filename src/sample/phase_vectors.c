/* Compiled once for each instruction set: RPINN_PHASE_TABLE names the result. */
#include "phase_vectors.h"

enum { LANES = 4 };

/* Four doubles: one register with AVX, two with SSE2. */
typedef double Lanes __attribute__((vector_size(LANES * sizeof(double))));
typedef Lanes StoredLanes __attribute__((may_alias));

#define AT(vector, i)  (*(const StoredLanes *)((vector) + (i)))
#define PUT(vector, i) (*(StoredLanes *)((vector) + (i)))
#define ADD_UP(lanes)  (((lanes)[0] + (lanes)[2]) + ((lanes)[1] + (lanes)[3]))

static void kick_drift(size_t length, double kick, double drift, const double *inverse, const double *p,
                       const double *g, const double *q, double *new_p, double *new_q) {
  for (size_t i = 0; i < length; i += 2 * LANES) {
    Lanes a = AT(p, i) + kick * AT(g, i), b = AT(p, i + LANES) + kick * AT(g, i + LANES);
    PUT(new_p, i) = a;
    PUT(new_p, i + LANES) = b;
    if (inverse) {
      a *= AT(inverse, i);
      b *= AT(inverse, i + LANES);
    }
    PUT(new_q, i) = AT(q, i) + drift * a;
    PUT(new_q, i + LANES) = AT(q, i + LANES) + drift * b;
  }
}

static double kick_momentum(size_t length, double kick, const double *inverse, const double *g, double *p,
                            double *sharp) {
  Lanes even = {0}, odd = {0};
  for (size_t i = 0; i < length; i += 2 * LANES) {
    Lanes a = AT(p, i) + kick * AT(g, i), b = AT(p, i + LANES) + kick * AT(g, i + LANES);
    Lanes a_sharp = a, b_sharp = b;
    PUT(p, i) = a;
    PUT(p, i + LANES) = b;
    if (inverse) {
      PUT(sharp, i) = a_sharp *= AT(inverse, i);
      PUT(sharp, i + LANES) = b_sharp *= AT(inverse, i + LANES);
    }
    even += a * a_sharp;
    odd += b * b_sharp;
  }
  even += odd;
  return ADD_UP(even);
}

static double kick_on(size_t length, double kick, double drift, const double *inverse, const double *g,
                      const double *q, double *p, double *sharp, double *new_p, double *new_q) {
  Lanes sums[2] = {{0}};
  for (size_t i = 0; i < length; i += 2 * LANES)
    for (size_t k = 0; k < 2; k++) { /* the two sums of kick_momentum */
      size_t at = i + k * LANES;
      Lanes push = kick * AT(g, at), full = AT(p, at) + push, full_sharp = full, half = full + push;
      PUT(p, at) = full;
      PUT(new_p, at) = half;
      if (inverse) {
        PUT(sharp, at) = full_sharp *= AT(inverse, at);
        half *= AT(inverse, at);
      }
      sums[k] += full * full_sharp;
      PUT(new_q, at) = AT(q, at) + drift * half;
    }
  sums[0] += sums[1];
  return ADD_UP(sums[0]);
}

static double dot(size_t length, const double *a, const double *b) {
  Lanes even = {0}, odd = {0};
  for (size_t i = 0; i < length; i += 2 * LANES) {
    even += AT(a, i) * AT(b, i);
    odd += AT(a, i + LANES) * AT(b, i + LANES);
  }
  even += odd;
  return ADD_UP(even);
}

static void join_pair(size_t length, const double *a, const double *b, const double *a_sharp,
                      const double *b_sharp, double *rho, double products[2]) {
  Lanes at_a = {0}, at_b = {0};
  for (size_t i = 0; i < length; i += LANES) {
    Lanes sum = AT(a, i) + AT(b, i);
    at_a += AT(a_sharp, i) * sum;
    at_b += AT(b_sharp, i) * sum;
    PUT(rho, i) = sum;
  }
  products[0] = ADD_UP(at_a);
  products[1] = ADD_UP(at_b);
}

static void join(size_t length, const RpinnPhaseHalves *halves, double *rho, double products[6]) {
  const RpinnPhaseHalves h = *halves;
  Lanes sums[6] = {{0}};
  for (size_t i = 0; i < length; i += LANES) {
    Lanes whole = AT(h.rho_a, i) + AT(h.rho_b, i);
    Lanes over = AT(h.rho_a, i) + AT(h.first_b, i), under = AT(h.rho_b, i) + AT(h.last_a, i);
    Lanes first = AT(h.first_a_sharp, i), last = AT(h.last_b_sharp, i);
    sums[0] += first * whole;
    sums[1] += last * whole;
    sums[2] += first * over;
    sums[3] += AT(h.first_b_sharp, i) * over;
    sums[4] += AT(h.last_a_sharp, i) * under;
    sums[5] += last * under;
    PUT(rho, i) = whole;
  }
  for (int k = 0; k < 6; k++) products[k] = ADD_UP(sums[k]);
}

extern const RpinnPhaseVectors RPINN_PHASE_TABLE;
const RpinnPhaseVectors RPINN_PHASE_TABLE = {kick_drift, kick_momentum, kick_on, dot, join_pair, join};
