/* Numbers behind activation_vectors.h. The polynomials are minimax fits (Remez) of the relative error of the
 * function they stand in for; the bound beside each is that of the exact polynomial, before rounding. */
#ifndef RPINN_BACKEND_CPU_ACTIVATION_COEFFICIENTS_H
#define RPINN_BACKEND_CPU_ACTIVATION_COEFFICIENTS_H

#include "real.h"

#ifdef RPINN_REAL_FLOAT

/* (e^r - 1 - r) / r^2 on |r| <= ln(2)/2: e^r - 1 within 2^-26.2 */
static const Real rpinn_exponential_coefficients[] = {0x1.fffffep-2f, 0x1.5554b0p-3f, 0x1.555674p-5f,
                                                      0x1.1227f6p-7f, 0x1.6bebf2p-10f};
/* (sin r - r) / r^3 in r^2 on |r| <= pi/4: within 2^-27.9 */
static const Real rpinn_sine_coefficients[] = {-0x1.555544p-3f, 0x1.1106fcp-7f, -0x1.992c06p-13f};
/* (cos r - 1 + r^2/2) / r^4 in r^2 on |r| <= pi/4: within 2^-33 */
static const Real rpinn_cosine_coefficients[] = {0x1.55554ap-5f, -0x1.6c0c22p-10f, 0x1.99e33ap-16f};
/* (atanh(u)/u - 1) / u^2 in u^2 on 0 <= u <= 1/3: within 2^-27.7 */
static const Real rpinn_logarithm_coefficients[] = {0x1.555500p-2f, 0x1.99d280p-3f, 0x1.1eb5bcp-3f,
                                                    0x1.1efa3ap-3f};

#define RPINN_INVERSE_LN2 0x1.715476p+0f
#define RPINN_LN2_HIGH    0x1.62e430p-1f
#define RPINN_LN2_LOW     -0x1.05c610p-29f

#define RPINN_INVERSE_HALF_PI 0x1.45f306p-1f
#define RPINN_HALF_PI_HIGH    0x1.921fb6p+0f
#define RPINN_HALF_PI_MIDDLE  -0x1.777a5cp-25f
#define RPINN_HALF_PI_LOW     -0x1.ee59dap-50f

#define RPINN_TANH_LIMIT        10.0f /* tanh(10) rounds to 1 */
#define RPINN_EXPONENTIAL_LIMIT 87.0f /* e^-87 is a normal number */

#else

/* within 2^-55.6 */
static const Real rpinn_exponential_coefficients[] = {
    0x1.0000000000005p-1,  0x1.5555555555539p-3,  0x1.555555555225bp-5,  0x1.1111111119092p-7,
    0x1.6c16c17ef58dep-10, 0x1.a01a0174da045p-13, 0x1.a019a71c513fep-16, 0x1.71de884cc63e5p-19,
    0x1.28a236dc80aaep-22, 0x1.ae6badebc36c3p-26};
/* within 2^-57.8 */
static const Real rpinn_sine_coefficients[] = {-0x1.5555555555547p-3,  0x1.111111110f5f0p-7,
                                               -0x1.a01a019bbd203p-13, 0x1.71de352c1013fp-19,
                                               -0x1.ae5e295615f5ap-26, 0x1.5d80ebc375389p-33};
/* within 2^-64 */
static const Real rpinn_cosine_coefficients[] = {0x1.555555555554ap-5,  -0x1.6c16c16c14ebep-10,
                                                 0x1.a01a019c6a5d2p-16, -0x1.27e4f7d4a35d1p-22,
                                                 0x1.1ee9c69c9a2fap-29, -0x1.8f9acbae06dcfp-37};
/* within 2^-64.6 */
static const Real rpinn_logarithm_coefficients[] = {
    0x1.5555555555556p-2, 0x1.999999999955cp-3, 0x1.24924924c1e51p-3, 0x1.c71c71a5d6af1p-4,
    0x1.745d1e04612eap-4, 0x1.3b12d5b3d5dcbp-4, 0x1.11234863db7d9p-4, 0x1.dfe2690896193p-5,
    0x1.c171626a30973p-5, 0x1.1e7543900b045p-5, 0x1.5147a0dd6a7c7p-4};

#define RPINN_INVERSE_LN2 0x1.71547652b82fep+0
#define RPINN_LN2_HIGH    0x1.62e42fefa39efp-1
#define RPINN_LN2_LOW     0x1.abc9e3b39803fp-56

#define RPINN_INVERSE_HALF_PI 0x1.45f306dc9c883p-1
#define RPINN_HALF_PI_HIGH    0x1.921fb54442d18p+0
#define RPINN_HALF_PI_MIDDLE  0x1.1a62633145c07p-54
#define RPINN_HALF_PI_LOW     -0x1.f1976b7ed8fbcp-110

#define RPINN_TANH_LIMIT        20.0  /* tanh(20) rounds to 1 */
#define RPINN_EXPONENTIAL_LIMIT 708.0 /* e^-708 is a normal number */

#endif

/* Adding this and taking it away rounds to the nearest integer, whose bits stand at the end of the sum. */
#define RPINN_ROUNDING_SHIFT ((Real)(INT64_C(3) << (RPINN_REAL_FRACTION_BITS - 1)))

#endif
