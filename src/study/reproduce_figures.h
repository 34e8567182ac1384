/* The paper's figures: CSV files of what they show, and a script for gnuplot. */
#ifndef RPINN_STUDY_REPRODUCE_FIGURES_H
#define RPINN_STUDY_REPRODUCE_FIGURES_H

#include "reproduce_state.h"

extern const RpinnReproduceKind rpinn_darcy_maps, rpinn_reference_maps;

#endif
