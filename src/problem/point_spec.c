/* Point sets as they are written: `at:` of a term and `predict:`.
 *
 * A region (the whole domain, one side, the whole boundary) and a way to place points on it. */
#include <math.h>
#include <string.h>

#include "problem_reader.h"

static const char *const point_keys[] = {"grid",    "boundary", "side",  "latin_hypercube", "sobol",
                                         "uniform", "points",   "cells", "same_as",         "csv"};
enum { NUM_POINT_KEYS = sizeof point_keys / sizeof point_keys[0], MAX_KEYS = NUM_POINT_KEYS + 4 };

/* Points per axis: one number for all axes, or a list with one per axis. */
static RpinnStatus read_grid(RpinnReader *reader, const RpinnYaml *node, const char *what,
                             RpinnPointSpec *points) {
  size_t num_axes = reader->problem->num_coordinates;
  points->sampling = RPINN_POINTS_GRID;
  if (node->kind == RPINN_YAML_SEQUENCE && node->count != num_axes)
    return rpinn_fail_at(
        reader->context, node->place,
        "%s has a grid of %zu counts; expected one number, or a list with one per coordinate (%zu)", what,
        node->count, num_axes);
  for (size_t i = 0; i < num_axes; i++) {
    const RpinnYaml *count = node->kind == RPINN_YAML_SEQUENCE ? node->items[i] : node;
    RPINN_TRY(rpinn_reader_count(reader, count, "the grid count", 1, RPINN_MAX_POINTS, &points->counts[i]));
    bool fixed = points->region == RPINN_REGION_SIDE && points->side_coordinate == i;
    if (fixed && node->kind == RPINN_YAML_SEQUENCE && points->counts[i] != 1)
      return rpinn_fail_at(reader->context, count->place,
                           "a grid of %zu in %s on a side where %s is fixed; expected 1", points->counts[i],
                           reader->problem->coordinates[i].name, reader->problem->coordinates[i].name);
    if (fixed) points->counts[i] = 1;
  }
  return RPINN_OK;
}

/* Points of the box or of one side, or of the two sides of each coordinate. */
static RpinnStatus check_total(RpinnReader *reader, const char *what, const RpinnPointSpec *points) {
  size_t num_axes = reader->problem->num_coordinates;
  bool boundary = points->region == RPINN_REGION_BOUNDARY;
  double total = 0;
  for (size_t side = 0; side < (boundary ? num_axes : 1); side++) {
    double part = boundary ? 2 : 1;
    for (size_t i = 0; i < num_axes && points->sampling == RPINN_POINTS_GRID; i++)
      if (!boundary || i != side) part *= (double)points->counts[i];
    if (points->sampling != RPINN_POINTS_GRID) part *= (double)points->counts[0];
    total += part;
  }
  if (total <= RPINN_MAX_POINTS) return RPINN_OK;
  return rpinn_fail_at(reader->context, points->place, "%s has %.4g points; expected at most %d", what, total,
                       RPINN_MAX_POINTS);
}

/* "x1=0": one end of one coordinate. */
static RpinnStatus read_side(RpinnReader *reader, const RpinnYaml *node, RpinnPointSpec *points) {
  const RpinnProblem *problem = reader->problem;
  const char *text;
  RPINN_TRY(rpinn_reader_text(reader, node, "the side", &text));
  const char *equals = strchr(text, '=');
  if (!equals)
    return rpinn_fail_at(reader->context, node->place,
                         "the side is '%s'; expected a coordinate and its end, such as %s=%.6g", text,
                         problem->coordinates[0].name, problem->coordinates[0].low);
  size_t length = (size_t)(equals - text);
  while (length && text[length - 1] == ' ') length--;
  char *name = rpinn_arena_copy_text(problem->arena, text, length);
  if (!name) return rpinn_fail_memory(reader->context);
  const char *known[RPINN_MAX_COORDINATES];
  size_t coordinate = problem->num_coordinates;
  for (size_t i = 0; i < problem->num_coordinates; i++) {
    known[i] = problem->coordinates[i].name;
    if (!strcmp(known[i], name)) coordinate = i;
  }
  if (coordinate == problem->num_coordinates)
    return rpinn_reader_fail_unknown(reader, node->place, "coordinate", name, known,
                                     problem->num_coordinates);
  RpinnPlace place = rpinn_reader_text_place(node);
  if (place.column) place.column += (size_t)(equals + 1 - text);
  RpinnExpression expression;
  RPINN_TRY(rpinn_problem_expression(reader->context, reader->problem, RPINN_NAMES_CONSTANTS, equals + 1,
                                     place, &expression));
  double value = NAN, low = problem->coordinates[coordinate].low,
         high = problem->coordinates[coordinate].high;
  rpinn_expression_is_number(problem->pool, expression, &value);
  double tolerance = 1e-9 * (high - low);
  points->region = RPINN_REGION_SIDE;
  points->side_coordinate = coordinate;
  points->side_high = fabs(value - high) <= tolerance;
  if (points->side_high || fabs(value - low) <= tolerance) return RPINN_OK;
  return rpinn_fail_at(reader->context, node->place, "%s=%.10g is not a side; expected %s=%.10g or %s=%.10g",
                       name, value, name, low, name, high);
}

/* boundary: all (with a sampling beside it, or alone in one dimension), or a count per side. */
static RpinnStatus read_boundary(RpinnReader *reader, const RpinnYaml *node, const char *what, bool sampled,
                                 RpinnPointSpec *points) {
  size_t num_coordinates = reader->problem->num_coordinates;
  points->region = RPINN_REGION_BOUNDARY;
  points->sampling = RPINN_POINTS_GRID;
  for (size_t i = 0; i < num_coordinates; i++) points->counts[i] = 1;
  if (node->kind == RPINN_YAML_SCALAR && !strcmp(node->text, "all")) {
    if (num_coordinates == 1 || sampled) return RPINN_OK;
    return rpinn_fail_at(
        reader->context, node->place,
        "%s takes all of the boundary without a count; expected boundary: N (points per side), or "
        "grid: beside it",
        what);
  }
  size_t count;
  RPINN_TRY(rpinn_reader_count(reader, node, "the count per side", 1, RPINN_MAX_POINTS, &count));
  if (num_coordinates == 1 && count != 1)
    return rpinn_fail_at(reader->context, node->place,
                         "a side in one dimension has one point; expected boundary: all");
  if (sampled)
    return rpinn_fail_at(reader->context, node->place,
                         "both a count per side and a sampling; expected boundary: all");
  for (size_t i = 0; i < num_coordinates; i++) points->counts[i] = count;
  /* A side of a three-dimensional box is a rectangle: N points per side are spread evenly over it. */
  if (num_coordinates > 2) points->sampling = RPINN_POINTS_SOBOL;
  return RPINN_OK;
}

static RpinnStatus read_listed(RpinnReader *reader, const RpinnYaml *node, RpinnPointSpec *points) {
  RpinnProblem *problem = reader->problem;
  size_t num_coordinates = problem->num_coordinates;
  points->sampling = RPINN_POINTS_LISTED;
  if (node->kind != RPINN_YAML_SEQUENCE || node->count == 0)
    return rpinn_fail_at(
        reader->context, node->place, "points is %s; expected a list of points such as [[0, 1], [2, 3]]",
        node->kind == RPINN_YAML_SEQUENCE ? "an empty list" : rpinn_yaml_kind_name(node->kind));
  points->num_listed = node->count;
  points->listed = RPINN_ARENA_NEW(problem->arena, double, node->count *num_coordinates);
  if (!points->listed) return rpinn_fail_memory(reader->context);
  for (size_t i = 0; i < node->count; i++) {
    const RpinnYaml *point = node->items[i];
    bool bare = point->kind == RPINN_YAML_SCALAR && num_coordinates == 1;
    if (!bare && (point->kind != RPINN_YAML_SEQUENCE || point->count != num_coordinates))
      return rpinn_fail_at(reader->context, point->place, "this point has %zu coordinates; expected %zu",
                           point->kind == RPINN_YAML_SEQUENCE ? point->count : 1, num_coordinates);
    for (size_t k = 0; k < num_coordinates; k++) {
      const RpinnYaml *value = bare ? point : point->items[k];
      double *x = &points->listed[i * num_coordinates + k];
      const RpinnCoordinate *coordinate = &problem->coordinates[k];
      RPINN_TRY(rpinn_reader_number(reader, value, "the point", x));
      if (*x < coordinate->low || *x > coordinate->high)
        return rpinn_fail_at(reader->context, value->place,
                             "%s = %.10g is outside the domain; expected %.10g to %.10g", coordinate->name,
                             *x, coordinate->low, coordinate->high);
    }
  }
  return RPINN_OK;
}

static RpinnStatus read_cells(RpinnReader *reader, const RpinnYaml *node, RpinnPointSpec *points) {
  points->sampling = RPINN_POINTS_CELLS;
  if (!reader->problem->truth.has_cells && !reader->problem->truth.file)
    return rpinn_fail_at(reader->context, node->place,
                         "cells needs a gridded truth; expected truth: with csv: or cells: in this file");
  if (node->kind == RPINN_YAML_SCALAR && (!strcmp(node->text, "all") || !strcmp(node->text, "truth")))
    return RPINN_OK;
  return rpinn_reader_count(reader, node, "the number of cells", 1, RPINN_MAX_POINTS, &points->counts[0]);
}

/* Terms are all known by name before their points are read. */
static RpinnStatus read_same_as(RpinnReader *reader, const RpinnYaml *node, RpinnPointSpec *points) {
  const RpinnProblem *problem = reader->problem;
  const char *text;
  RPINN_TRY(rpinn_reader_text(reader, node, "same_as", &text));
  const char **names = RPINN_ARENA_NEW(problem->arena, const char *, problem->num_terms);
  if (!names) return rpinn_fail_memory(reader->context);
  for (size_t i = 0; i < problem->num_terms; i++) names[i] = problem->terms[i].name;
  points->sampling = RPINN_POINTS_SAME_AS;
  return rpinn_reader_choice(reader, node, "term", names, problem->num_terms, &points->term);
}

/* The one key that says how points are placed; *sampled tells whether there is one beside side or boundary.
 */
static RpinnStatus read_sampling(RpinnReader *reader, const RpinnYaml *node, const char *what, bool *sampled,
                                 RpinnPointSpec *points) {
  static const struct {
    const char *key;
    RpinnSampling sampling;
  } counted[] = {{"latin_hypercube", RPINN_POINTS_LATIN_HYPERCUBE},
                 {"sobol", RPINN_POINTS_SOBOL},
                 {"uniform", RPINN_POINTS_UNIFORM}};
  size_t found = 0;
  bool whole_domain_only = false;
  const RpinnYaml *value;
  if ((value = rpinn_yaml_get(node, "grid")) && ++found) RPINN_TRY(read_grid(reader, value, what, points));
  for (size_t k = 0; k < 3; k++)
    if ((value = rpinn_yaml_get(node, counted[k].key)) && ++found) {
      points->sampling = counted[k].sampling;
      RPINN_TRY(
          rpinn_reader_count(reader, value, "the number of points", 1, RPINN_MAX_POINTS, &points->counts[0]));
      for (size_t i = 1; i < RPINN_MAX_COORDINATES; i++) points->counts[i] = points->counts[0];
    }
  if ((value = rpinn_yaml_get(node, "points")) && ++found && (whole_domain_only = true))
    RPINN_TRY(read_listed(reader, value, points));
  if ((value = rpinn_yaml_get(node, "cells")) && ++found && (whole_domain_only = true))
    RPINN_TRY(read_cells(reader, value, points));
  if ((value = rpinn_yaml_get(node, "same_as")) && ++found && (whole_domain_only = true))
    RPINN_TRY(read_same_as(reader, value, points));
  if ((value = rpinn_yaml_get(node, "csv")) && ++found && (whole_domain_only = true)) {
    points->sampling = RPINN_POINTS_CSV;
    RPINN_TRY(rpinn_reader_text(reader, value, "the file of points", &points->file));
  }
  if (found > 1)
    return rpinn_fail_at(
        reader->context, node->place,
        "%s places its points in %zu ways; expected one of grid, latin_hypercube, sobol, uniform, "
        "points, cells, same_as, csv",
        what, found);
  if (whole_domain_only && points->region != RPINN_REGION_INSIDE)
    return rpinn_fail_at(reader->context, node->place,
                         "%s joins a side or boundary with points, cells, same_as or csv; expected grid, "
                         "latin_hypercube, sobol or uniform there",
                         what);
  *sampled = found > 0;
  return RPINN_OK;
}

RpinnStatus rpinn_reader_points(RpinnReader *reader, const RpinnYaml *node, const char *what,
                                const char *const *extra_keys, size_t num_extra, RpinnPointSpec *points) {
  const char *allowed[MAX_KEYS];
  memcpy(allowed, point_keys, sizeof point_keys);
  for (size_t i = 0; i < num_extra; i++) allowed[NUM_POINT_KEYS + i] = extra_keys[i];
  RPINN_TRY(rpinn_reader_keys(reader, node, what, allowed, NUM_POINT_KEYS + num_extra));
  *points = (RpinnPointSpec){.place = node->place};
  const RpinnYaml *side = rpinn_yaml_get(node, "side"), *boundary = rpinn_yaml_get(node, "boundary");
  if (side && boundary)
    return rpinn_fail_at(reader->context, node->place, "%s has both side and boundary; expected one of them",
                         what);
  if (side) RPINN_TRY(read_side(reader, side, points));
  if (boundary) points->region = RPINN_REGION_BOUNDARY;
  bool sampled;
  RPINN_TRY(read_sampling(reader, node, what, &sampled, points));
  RpinnPointSpec sampling = *points;
  if (boundary) {
    RPINN_TRY(read_boundary(reader, boundary, what, sampled, points));
    if (sampled) *points = sampling;
  } else if (!sampled && side && reader->problem->num_coordinates == 1) {
    points->counts[0] = 1; /* the end of an interval is one point */
  } else if (!sampled) {
    return rpinn_fail_at(
        reader->context, node->place,
        "%s does not say how to place points; expected one of grid, latin_hypercube, sobol, uniform, "
        "points, cells, same_as, csv, boundary",
        what);
  }
  return check_total(reader, what, points);
}
