/* The backend `cuda` without a GPU: its kernels, compiled for the host, run one thread to a block. What is tested so is the same source
 * as a GPU runs, but for what only many threads can get wrong. Groups have 7 members. For tests with LINKS emulated_device. */
#ifndef RPINN_TESTS_EMULATED_DEVICE_H
#define RPINN_TESTS_EMULATED_DEVICE_H

#include "backend.h"

enum { EMULATED_GROUP = 7, EMULATED_WORTH = 27000 /* operations */ };

extern const RpinnBackendOperations emulated_cuda_backend;

/* A device whose blocks have as much shared memory as this, in bytes; 0: as much as a GPU has. For small ones, members go slower ways. */
void emulated_device_limit(size_t shared_per_block);
/* The call of a device, counted from now on and from 0, that fails, as do all later ones of the same device; SIZE_MAX: none. */
void emulated_device_fail_at(size_t call);
/* Has it been made? */
bool emulated_device_has_failed(void);
/* The call from which on all devices wait, counted likewise, until this is called again; SIZE_MAX: none. */
void emulated_device_hold_at(size_t call);
/* Does one wait? */
bool emulated_device_is_held(void);
/* How many multiprocessors devices have that are made from now on: as many as an H200, unless another number is said. */
void emulated_device_have_multiprocessors(size_t count);
/* Blocks of the kernels of members, and of the fused ones, that all devices have run so far. */
size_t emulated_device_num_blocks(void);
size_t emulated_device_num_fused_blocks(void);
/* Batches of products in double that all devices have made so far. */
size_t emulated_device_num_products(void);
/* Whether devices made from now on have no library of products in double. */
void emulated_device_lack_products(bool lacks);
/* Whether this machine has no such device. */
void emulated_device_be_absent(bool absent);
/* Bytes that all devices have together; SIZE_MAX: as many as the host. */
void emulated_device_have_memory(size_t bytes);
/* Bytes that have been copied to devices, and from them. */
size_t emulated_device_num_written(void);
size_t emulated_device_num_read(void);
/* The most bytes that they have held since that was called. */
size_t emulated_device_most_held(void);
/* Do the lanes of a GPU's warps, one by one, make of a slab the products that they are to make in SVGD, by what PTX says that `ldmatrix` and
 * `mma` give them? And do no lanes that read together meet in a bank? */
bool emulated_products_are_right(void);

#endif
