/* The plugin of an MPI, looked for beside the library: in the folder rpinn there, or in the same folder as after a build. */
#ifndef RPINN_RANKS_RANK_PLUGIN_H
#define RPINN_RANKS_RANK_PLUGIN_H

#include "launch.h"
#include "rank_link.h"

/* Where the plugin is; false: it is not there. */
bool rpinn_rank_plugin_find(RpinnMpi mpi, char path[4096]);
/* Unsupported, with the reason: it cannot be loaded. It stays loaded. */
RpinnStatus rpinn_rank_plugin_load(RpinnContext *context, RpinnMpi mpi, RpinnRankLinkOpen *open);

#endif
