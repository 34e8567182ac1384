/* What posterior.nc of a run holds, by name. */
#ifndef RPINN_TESTS_POSTERIOR_NUMBERS_H
#define RPINN_TESTS_POSTERIOR_NUMBERS_H

#include <netcdf.h>

#include "run_bench.h"

/* A variable of posterior.nc by its group and name, of `count` numbers. */
static inline void read_numbers(const RunBench *bench, const char *run, const char *group_name,
                                const char *name, size_t count, double *values) {
  int root, group, id, num_dimensions, dimensions[NC_MAX_VAR_DIMS];
  size_t total = 1, length;
  check_true(nc_open(run_path(bench, run, "posterior.nc"), NC_NOWRITE, &root) == NC_NOERR, "no posterior.nc");
  assert_int_equal(nc_inq_grp_full_ncid(root, group_name, &group), NC_NOERR);
  check_true(nc_inq_varid(group, name, &id) == NC_NOERR, "no variable %s", name);
  assert_int_equal(nc_inq_varndims(group, id, &num_dimensions), NC_NOERR);
  assert_int_equal(nc_inq_vardimid(group, id, dimensions), NC_NOERR);
  for (int i = 0; i < num_dimensions; i++) {
    assert_int_equal(nc_inq_dimlen(group, dimensions[i], &length), NC_NOERR);
    total *= length;
  }
  check_true(total == count, "%s has %zu numbers, expected %zu", name, total, count);
  assert_int_equal(nc_get_var_double(group, id, values), NC_NOERR);
  nc_close(root);
}

#endif
