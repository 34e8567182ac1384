/* NetCDF as we write it: names that are taken, places of dimensions, and why a call failed. */
#include <errno.h>
#include <unistd.h>

#include "check.h"
#include "temporary_folder.h"

#include "netcdf_file.h"

static void names_that_are_taken_get_underscores(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnNetcdf netcdf;
  int group, dimension, axis, id;
  const double places[] = {0.5, 1.5}, table[2][3] = {{1, 2, 3}, {4, 5, 6}};
  double numbers[2];
  long long steps[2];
  assert_int_equal(rpinn_netcdf_create(context, "names.nc", "rpinn", 1 << 20, &netcdf), RPINN_OK);
  assert_int_equal(rpinn_netcdf_define_group(context, &netcdf, "g", &group), RPINN_OK);
  assert_int_equal(rpinn_netcdf_define_axis(context, &netcdf, group, "x", 2, places, &axis), RPINN_OK);
  assert_int_equal(rpinn_netcdf_define_numbers(context, &netcdf, group, "x", "_draw", 2, 7, &dimension),
                   RPINN_OK);
  assert_int_equal(rpinn_netcdf_write_column(context, &netcdf, group, "", "x", dimension, 2, &table[0][1], 3),
                   RPINN_OK);
  assert_int_equal(rpinn_netcdf_write(context, &netcdf, group, "x", "", 1, &axis, places), RPINN_OK);
  assert_int_equal(rpinn_netcdf_finish(context, &netcdf), RPINN_OK);
  rpinn_netcdf_destroy(&netcdf);
  assert_int_equal(access("names.nc.part", F_OK), -1);

  assert_int_equal(nc_open("names.nc", NC_NOWRITE, &id), NC_NOERR);
  assert_int_equal(nc_inq_grp_ncid(id, "g", &group), NC_NOERR);
  int variable;
  assert_int_equal(nc_inq_varid(group, "x", &variable), NC_NOERR);
  assert_int_equal(nc_get_var_double(group, variable, numbers), NC_NOERR);
  assert_memory_equal(numbers, places, sizeof places);
  assert_int_equal(nc_inq_varid(group, "x_draw", &variable), NC_NOERR);
  assert_int_equal(nc_get_var_longlong(group, variable, steps), NC_NOERR);
  assert_true(steps[0] == 0 && steps[1] == 7);
  assert_int_equal(nc_inq_varid(group, "x_", &variable), NC_NOERR);
  assert_int_equal(nc_get_var_double(group, variable, numbers), NC_NOERR);
  assert_true(numbers[0] == 2 && numbers[1] == 5);
  assert_int_equal(nc_inq_varid(group, "x__", &variable), NC_NOERR);
  assert_int_equal(nc_close(id), NC_NOERR);
  rpinn_context_destroy(context);
}

/* HDF5's failures are those of the system, where it has said which. */
static void failures_have_a_reason(void **state) {
  (void)state;
  static const struct {
    int code, reason;
    RpinnStatus status;
    const char *message;
  } failures[] = {
      {NC_EHDFERR, ENOSPC, RPINN_ERROR_IO, "cannot write 'run/posterior.nc': No space left on device"},
      {NC_EIO, EDQUOT, RPINN_ERROR_IO, "cannot write 'run/posterior.nc': Disk quota exceeded"},
      {NC_EHDFERR, 0, RPINN_ERROR_IO, "cannot write 'run/posterior.nc': NetCDF: HDF error"},
      {NC_ENAMEINUSE, ENOSPC, RPINN_ERROR_IO,
       "cannot write 'run/posterior.nc': NetCDF: String match to name in use"},
      {NC_ENOMEM, ENOSPC, RPINN_ERROR_MEMORY, "out of memory"}};
  RpinnContext *context = rpinn_context_create();
  RpinnNetcdf netcdf = {.path = (char[]){"run/posterior.nc"}};
  for (size_t k = 0; k < sizeof failures / sizeof failures[0]; k++) {
    errno = failures[k].reason;
    assert_int_equal(rpinn_netcdf_fail(context, &netcdf, failures[k].code), failures[k].status);
    assert_string_equal(rpinn_context_error(context)->message, failures[k].message);
  }
  rpinn_context_destroy(context);
}

/* A file that was not finished leaves the one that is there as it was. */
static void unfinished_files_leave_nothing(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnNetcdf netcdf;
  char text[8] = "";
  FILE *file = fopen("kept.nc", "w");
  fputs("before", file);
  fclose(file);
  assert_int_equal(rpinn_netcdf_create(context, "kept.nc", "rpinn", 1 << 20, &netcdf), RPINN_OK);
  assert_int_equal(access("kept.nc.part", F_OK), 0);
  rpinn_netcdf_destroy(&netcdf);
  assert_int_equal(access("kept.nc.part", F_OK), -1);
  file = fopen("kept.nc", "r");
  assert_non_null(fgets(text, sizeof text, file));
  fclose(file);
  assert_string_equal(text, "before");
  rpinn_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(names_that_are_taken_get_underscores),
                                     cmocka_unit_test(failures_have_a_reason),
                                     cmocka_unit_test(unfinished_files_leave_nothing)};
  return cmocka_run_group_tests(tests, enter_temporary_folder, leave_temporary_folder);
}
