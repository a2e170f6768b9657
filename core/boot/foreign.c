/* Recognising launchers that Weft cannot talk to.
 *
 * Under srun without PMI, for instance, every process would find no bootstrap
 * and become rank 0 of 1. If the environment says that there are several
 * processes, this is an error whose text names the remedy. PMIx servers are
 * recognised before (pmix.h).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "boot/foreign.h"

#include <stdio.h>
#include <stdlib.h>

#include "base.h"
#include "boot/boot.h"

struct launcher {
    const char *size;  /* variable that holds the number of processes */
    const char *needs; /* variable that must be there too, or NULL */
    const char *name, *remedy;
};

static const struct launcher launchers[] = {
    {"OMPI_COMM_WORLD_SIZE", NULL, "Open MPI's mpirun",
     "use the mpirun that was installed with Weft"},
    {"SLURM_STEP_NUM_TASKS", NULL, "srun without a PMI that Weft speaks",
     "use srun --mpi=pmi2"},
    {"SLURM_NTASKS", "PMIX_RANK", "srun with PMIx", "use srun --mpi=pmi2"},
    {"PMI_SIZE", "PMI_RANK", "a launcher whose PMI_FD did not arrive",
     "let every program between the launcher and this one pass PMI_FD and the "
     "descriptor it names"},
    {"PALS_SIZE", "PALS_RANKID", "PALS", "use Hydra's mpiexec"},
};

int wf_boot_refuse_foreign(char *err, size_t err_len)
{
    for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++) {
        const struct launcher *l = &launchers[i];
        long size = wf_boot_env_number(l->size);
        if (size <= 1 || (l->needs && !getenv(l->needs)))
            continue;
        snprintf(err, err_len,
                 "this process is one of %ld started by %s (%s=%ld), but Weft "
                 "has no connection to it: %s; or set WEFT_SET="
                 "core.bootstrap=single to run each process alone",
                 size, l->name, l->size, size, l->remedy);
        return WEFT_EUNREACH;
    }
    return 0;
}
