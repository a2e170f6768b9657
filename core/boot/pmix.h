/* The bootstrap of processes that a PMIx server started: Open MPI's mpirun,
 * srun --mpi=pmix, PRRTE. A plugin speaks with the server.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_BOOT_PMIX_H
#define WF_BOOT_PMIX_H

#include "base.h"

struct wf_boot;
struct wf_config;

/* Whether the environment is one that a PMIx server makes. */
bool wf_boot_has_pmix(void);

/* The number of processes that the launcher says beside PMIx; 0: unknown. */
uint32_t wf_boot_pmix_size(void);

/* Fills *out; or err holds a sentence, and a negative WEFT_E* is returned. A
 * process has one connection in its life, and programs that it starts have
 * none. */
int wf_boot_pmix_open(const struct wf_config *, struct wf_boot **out, char *err,
                      size_t err_len);

#endif
