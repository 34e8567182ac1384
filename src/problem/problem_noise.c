/* The noise of a term: a number, or an expression of the coordinates where it differs by row. */
#include "problem_sections.h"

RpinnStatus rpinn_section_noise(RpinnReader *reader, const RpinnYaml *node, const char *owner,
                                RpinnTerm *term) {
  RpinnProblem *problem = reader->problem;
  RpinnNamedExpression noise = {.name = term->name, .place = rpinn_reader_text_place(node)};
  RPINN_TRY(rpinn_reader_text(reader, node, "the noise", &noise.text));
  RPINN_TRY(rpinn_problem_expression(reader->context, problem,
                                     RPINN_NAMES_CONSTANTS | RPINN_NAMES_COORDINATES, noise.text, noise.place,
                                     &noise.expression));
  noise.state = RPINN_RESOLVED;
  term->has_noise = rpinn_expression_is_number(problem->pool, noise.expression, &term->noise);
  if (!term->has_noise) term->row_noise = noise; /* where it is not above 0 is known with the points */
  if (term->noise < 0)
    return rpinn_fail_at(reader->context, node->place,
                         "the noise of %s is %.10g; expected a standard deviation of 0 or more", owner,
                         term->noise);
  return RPINN_OK;
}
