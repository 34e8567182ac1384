/* The sections of a problem file, each read into the problem by one function. They are called in the order in
 * which they need one another: see problem_load.c. node: the value of the section's key, or NULL where it may
 * be absent. */
#ifndef RPINN_PROBLEM_PROBLEM_SECTIONS_H
#define RPINN_PROBLEM_PROBLEM_SECTIONS_H

#include "problem_reader.h"

/* problem_constants.c */
RpinnStatus rpinn_section_constants(RpinnReader *reader, const RpinnYaml *node);
RpinnStatus rpinn_section_settings(RpinnReader *reader, const RpinnYaml *node);
RpinnStatus rpinn_section_presets(RpinnReader *reader, const RpinnYaml *node);
/* Every preset must make sense, chosen or not. */
RpinnStatus rpinn_section_check_presets(RpinnReader *reader);
/* The preset and the overrides that were given from outside. */
RpinnStatus rpinn_section_apply_options(RpinnReader *reader, const RpinnProblemOptions *options);
RpinnStatus rpinn_section_resolve_constants(RpinnReader *reader);

/* problem_fields.c */
RpinnStatus rpinn_section_coordinates(RpinnReader *reader, const RpinnYaml *node);
RpinnStatus rpinn_section_fields(RpinnReader *reader, const RpinnYaml *node);
RpinnStatus rpinn_section_unknowns(RpinnReader *reader, const RpinnYaml *node);
RpinnStatus rpinn_section_quantities(RpinnReader *reader, const RpinnYaml *node);

/* problem_prior.c: the section, after the terms; and shape and scale in the mapping `node`, which is called `what`. */
RpinnStatus rpinn_section_prior(RpinnReader *reader, const RpinnYaml *node);
RpinnStatus rpinn_section_prior_spec(RpinnReader *reader, const RpinnYaml *node, const char *what,
                                     RpinnPriorSpec *prior);

/* problem_units.c */
RpinnStatus rpinn_section_units(RpinnReader *reader, const RpinnYaml *node);

/* problem_truth.c: what the truth draws and solves. Its cells are known. */
RpinnStatus rpinn_section_drawn_field(RpinnReader *reader, const RpinnYaml *node);
RpinnStatus rpinn_section_solved_flow(RpinnReader *reader, const RpinnYaml *node);

/* problem_gaussian.c: covariance, length, mean and variance of the mapping `node`, which is called `what`; and a term
 * that has `gaussian`. */
RpinnStatus rpinn_section_law(RpinnReader *reader, const RpinnYaml *node, const char *what,
                              RpinnFieldLaw *law);
RpinnStatus rpinn_section_gaussian(RpinnReader *reader, const RpinnYaml *node, const char *owner,
                                   RpinnTerm *term);

/* problem_noise.c: the noise of a term, which is called `owner`; and, when the rest of it is read, whether it can be
 * unknown. */
RpinnStatus rpinn_section_noise(RpinnReader *reader, const RpinnYaml *node, const char *owner,
                                RpinnTerm *term);
RpinnStatus rpinn_section_check_unknown_noise(RpinnReader *reader, const char *owner, const RpinnTerm *term);

/* problem_terms.c */
RpinnStatus rpinn_section_truth(RpinnReader *reader, const RpinnYaml *node);
RpinnStatus rpinn_section_terms(RpinnReader *reader, const RpinnYaml *node);
RpinnStatus rpinn_section_predict(RpinnReader *reader, const RpinnYaml *node);

#endif
