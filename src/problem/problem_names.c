/* What a name in an expression means: constants, coordinates, fields, quantities, unknowns. Quantities and
 * constants are parsed when first used, which finds cycles and makes their order in the file free. */
#include "problem.h"

#include <string.h>

typedef struct Scope {
  RpinnContext *context;
  RpinnProblem *problem;
  RpinnNameKinds kinds;
  RpinnExtraNames extra;
  void *extra_user;
  RpinnNameScope names; /* user points back here */
} Scope;

static RpinnStatus resolve(void *user, const char *name, RpinnPlace place, RpinnExpression *expression);

static Scope make_scope(RpinnContext *context, RpinnProblem *problem, RpinnNameKinds kinds) {
  return (Scope){.context = context,
                 .problem = problem,
                 .kinds = kinds,
                 .names = {.resolve = resolve, .allow_derivatives = (kinds & RPINN_NAMES_COORDINATES) != 0}};
}

static RpinnStatus parse_in(Scope *scope, const char *text, RpinnPlace place, RpinnExpression *expression) {
  scope->names.user = scope;
  return rpinn_expression_parse(scope->context, scope->problem->pool, &scope->names, text, place, expression);
}

/* Parse a named expression unless it was parsed before. place is where the name was used. */
static RpinnStatus resolve_named(Scope *outer, RpinnNamedExpression *named, RpinnNameKinds kinds,
                                 const char *what, RpinnPlace place) {
  if (named->state == RPINN_RESOLVED) return RPINN_OK;
  if (named->state == RPINN_BEING_RESOLVED)
    return rpinn_fail_at(outer->context, place,
                         "%s '%s' depends on itself; expected definitions without a cycle", what,
                         named->name);
  named->state = RPINN_BEING_RESOLVED;
  Scope inner = make_scope(outer->context, outer->problem, kinds);
  inner.names.nesting = outer->names.nesting;
  RPINN_TRY(parse_in(&inner, named->text, named->place, &named->expression));
  named->state = RPINN_RESOLVED;
  return RPINN_OK;
}

static RpinnNamedExpression *find_named(RpinnNamedExpression *list, size_t count, const char *name) {
  for (size_t i = 0; i < count; i++)
    if (!strcmp(list[i].name, name)) return &list[i];
  return NULL;
}

enum { MAX_LISTED_NAMES = 12 };

/* What a name is elsewhere in the problem, or NULL. */
static const char *kind_of(RpinnProblem *problem, const char *name) {
  for (size_t i = 0; i < problem->num_coordinates; i++)
    if (!strcmp(problem->coordinates[i].name, name)) return "coordinate";
  for (size_t i = 0; i < problem->num_fields; i++)
    if (!strcmp(problem->fields[i].name, name)) return "field";
  for (size_t i = 0; i < problem->num_unknowns; i++)
    if (!strcmp(problem->unknowns[i].name, name)) return "unknown";
  return find_named(problem->quantities, problem->num_quantities, name) ? "quantity" : NULL;
}

static RpinnStatus fail_unknown(Scope *scope, const char *name, RpinnPlace place) {
  const RpinnProblem *problem = scope->problem;
  size_t room = problem->num_constants + problem->num_coordinates + problem->num_fields +
                problem->num_quantities + problem->num_unknowns + 1;
  const char **known = RPINN_ARENA_NEW(problem->arena, const char *, room);
  if (!known) return rpinn_fail_memory(scope->context);
  size_t count = 0;
  if (scope->kinds & RPINN_NAMES_COORDINATES)
    for (size_t i = 0; i < problem->num_coordinates; i++) known[count++] = problem->coordinates[i].name;
  if (scope->kinds & RPINN_NAMES_FIELDS) {
    for (size_t i = 0; i < problem->num_fields; i++) known[count++] = problem->fields[i].name;
    for (size_t i = 0; i < problem->num_quantities; i++) known[count++] = problem->quantities[i].name;
    for (size_t i = 0; i < problem->num_unknowns; i++) known[count++] = problem->unknowns[i].name;
  }
  if (scope->kinds & RPINN_NAMES_CONSTANTS)
    for (size_t i = 0; i < problem->num_constants; i++) known[count++] = problem->constants[i].name;
  known[count++] = "pi";
  RpinnText list = {0};
  for (size_t i = 0; i < count && i < MAX_LISTED_NAMES; i++)
    rpinn_text_append(&list, "%s%s", i ? ", " : "", known[i]);
  if (count > MAX_LISTED_NAMES) rpinn_text_append(&list, ", …");
  const char *near = rpinn_nearest_name(name, known, count), *kind = kind_of(scope->problem, name);
  const char *names = list.bytes ? list.bytes : "?";
  RpinnStatus status =
      kind ? rpinn_fail_at(scope->context, place,
                           "'%s' is a %s, which this expression must not depend on; expected one of %s", name,
                           kind, names)
           : rpinn_fail_at(scope->context, place, "unknown name '%s'; expected one of %s%s%s%s", name, names,
                           near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
  rpinn_text_free(&list);
  return status;
}

static RpinnStatus resolve(void *user, const char *name, RpinnPlace place, RpinnExpression *expression) {
  Scope *scope = user;
  RpinnProblem *problem = scope->problem;
  if (scope->extra && scope->extra(scope->extra_user, name, expression)) return RPINN_OK;
  if (scope->kinds & RPINN_NAMES_CONSTANTS) {
    RpinnNamedExpression *constant = find_named(problem->constants, problem->num_constants, name);
    if (constant) {
      constant->num_uses++;
      RPINN_TRY(resolve_named(scope, constant, RPINN_NAMES_CONSTANTS, "constant", place));
      *expression = constant->expression;
      return RPINN_OK;
    }
  }
  if (scope->kinds & RPINN_NAMES_COORDINATES)
    for (size_t i = 0; i < problem->num_coordinates; i++)
      if (!strcmp(problem->coordinates[i].name, name)) {
        *expression = rpinn_expression_coordinate(problem->pool, i);
        return RPINN_OK;
      }
  if (scope->kinds & RPINN_NAMES_FIELDS) {
    for (size_t i = 0; i < problem->num_fields; i++)
      if (!strcmp(problem->fields[i].name, name)) {
        *expression = rpinn_expression_field(problem->pool, i, (uint8_t[RPINN_MAX_COORDINATES]){0});
        return RPINN_OK;
      }
    for (size_t i = 0; i < problem->num_unknowns; i++)
      if (!strcmp(problem->unknowns[i].name, name)) {
        *expression = problem->unknowns[i].expression;
        return RPINN_OK;
      }
    RpinnNamedExpression *quantity = find_named(problem->quantities, problem->num_quantities, name);
    if (quantity) {
      quantity->num_uses++;
      RPINN_TRY(resolve_named(scope, quantity, RPINN_NAMES_ALL, "quantity", place));
      *expression = quantity->expression;
      return RPINN_OK;
    }
  }
  return fail_unknown(scope, name, place);
}

RpinnStatus rpinn_problem_expression(RpinnContext *context, RpinnProblem *problem, RpinnNameKinds kinds,
                                     const char *text, RpinnPlace place, RpinnExpression *expression) {
  return rpinn_problem_expression_with(context, problem, kinds, NULL, NULL, text, place, expression);
}

RpinnStatus rpinn_problem_expression_with(RpinnContext *context, RpinnProblem *problem, RpinnNameKinds kinds,
                                          RpinnExtraNames extra, void *user, const char *text,
                                          RpinnPlace place, RpinnExpression *expression) {
  Scope scope = make_scope(context, problem, kinds);
  scope.extra = extra;
  scope.extra_user = user;
  return parse_in(&scope, text, place, expression);
}
