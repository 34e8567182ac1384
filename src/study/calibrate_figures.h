/* The figures of a calibration's page. Each is a <figure>, or nothing where there is nothing to draw. */
#ifndef RPINN_STUDY_CALIBRATE_FIGURES_H
#define RPINN_STUDY_CALIBRATE_FIGURES_H

#include "calibrate_state.h"

/* Coverage of a subject against the nominal level, a line for each method. */
RpinnStatus rpinn_calibration_draw_coverage(const RpinnCalibration *calibration, size_t subject,
                                            RpinnText *page);
/* The ranks of a subject's truth as a histogram, and the band of what uniform ones do. */
RpinnStatus rpinn_calibration_draw_ranks(const RpinnCalibration *calibration, size_t method, size_t subject,
                                         RpinnText *page);
/* The distribution function of the ranks at single points, less that of uniform ones. */
RpinnStatus rpinn_calibration_draw_distribution(const RpinnCalibration *calibration, size_t method,
                                                size_t subject, RpinnText *page);
/* CRPS, or the width of intervals of 95 %, data set by data set. */
RpinnStatus rpinn_calibration_draw_scores(const RpinnCalibration *calibration, size_t subject, bool widths,
                                          RpinnText *page);
RpinnStatus rpinn_calibration_draw_scales(const RpinnCalibration *calibration, RpinnText *page);
/* The verdict on each run over the coverage that it came to. */
RpinnStatus rpinn_calibration_draw_verdicts(const RpinnCalibration *calibration, size_t method,
                                            RpinnText *page);

#endif
