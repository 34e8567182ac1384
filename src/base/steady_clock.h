/* A clock that nobody sets. */
#ifndef RPINN_BASE_STEADY_CLOCK_H
#define RPINN_BASE_STEADY_CLOCK_H

/* Seconds since some moment. */
double rpinn_steady_seconds(void);

#endif
