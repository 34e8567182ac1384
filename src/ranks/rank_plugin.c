#define _GNU_SOURCE /* dladdr */
#include "rank_plugin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* With the slash at its end; "" is the working directory. */
static void find_own_folder(char folder[4000]) {
  static const char here = 0;
  Dl_info info;
  folder[0] = '\0';
  if (!dladdr(&here, &info) || !info.dli_fname) return;
  snprintf(folder, 4000, "%s", info.dli_fname);
  char *slash = strrchr(folder, '/');
  if (slash)
    slash[1] = '\0';
  else
    folder[0] = '\0';
}

bool rpinn_rank_plugin_find(RpinnMpi mpi, char path[4096]) {
  static const char *const folders[] = {"rpinn/", ""};
  char folder[4000];
  find_own_folder(folder);
  for (size_t k = 0; k < sizeof folders / sizeof folders[0]; k++) {
    snprintf(path, 4096, "%s%slibrpinn-%s.so", folder[0] ? folder : "./", folders[k], rpinn_mpi_name(mpi));
    if (access(path, R_OK) == 0) return true;
  }
  return false;
}

/* MPI loads parts of its own at run time, which look for its symbols: they must be seen by all. */
RpinnStatus rpinn_rank_plugin_load(RpinnContext *context, RpinnMpi mpi, RpinnRankLinkOpen *open) {
  char path[4096];
  if (!rpinn_rank_plugin_find(mpi, path))
    return rpinn_fail(
        context, RPINN_ERROR_UNSUPPORTED,
        "there is no librpinn-%s.so beside this program's library: it was built without %s; expected a build "
        "with it, another launcher, or shards (docs/clusters.md)",
        rpinn_mpi_name(mpi), mpi == RPINN_MPI_OPENMPI ? "Open MPI" : "MPICH");
  void *plugin = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  void *function = plugin ? dlsym(plugin, RPINN_RANK_LINK_FUNCTION) : NULL;
  if (!function) {
    const char *reason = dlerror();
    return rpinn_fail(context, RPINN_ERROR_UNSUPPORTED, "the plugin %.500s cannot be loaded: %.800s", path,
                      reason ? reason : "it has no function to open a link");
  }
  memcpy(open, &function, sizeof *open); /* C has no cast from an object to a function */
  return RPINN_OK;
}
