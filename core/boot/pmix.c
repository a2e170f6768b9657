/* The bootstrap of processes that a PMIx server started: see pmix.h.
 *
 * DESIGN  PMIX_NAMESPACE and PMIX_RANK are inherited, and a server would take a
 * program that a rank starts for that rank. So a process that has connected
 * notes its id in WEFT_PMIX_TAKEN, which a program that it starts inherits as
 * well.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "boot/pmix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adi/bootstrap.h"
#include "boot/boot.h"
#include "boot/by_plugin.h"
#include "boot/fatal_message.h"
#include "os/trust.h"

static const char taken[] = "WEFT_PMIX_TAKEN"; /* by the process with this id */

bool wf_boot_has_pmix(void)
{
    return getenv("PMIX_NAMESPACE") && getenv("PMIX_RANK");
}

uint32_t wf_boot_pmix_size(void)
{
    long n = wf_boot_env_number("OMPI_COMM_WORLD_SIZE");

    if (n < 0)
        n = wf_boot_env_number("SLURM_STEP_NUM_TASKS");
    return n > 0 ? (uint32_t)n : 0;
}

/* Refuse a process that must not connect. libpmix loads components from where
 * its environment says, so a program with rights that its caller lacks must not
 * load it. */
static int refuse_stranger(char *err, size_t err_len)
{
    const char *owner = wf_trust_getenv(taken);

    if (!wf_trust_caller())
        snprintf(err, err_len,
                 "a program with rights that its caller lacks does not join a "
                 "job by PMIx: start it as the user whose rights it needs, or "
                 "unset PMIX_NAMESPACE to run it alone");
    else if (owner && strtol(owner, NULL, 10) == getpid())
        snprintf(err, err_len,
                 "MPI has ended in this process, and PMIx does not start it "
                 "again");
    else if (owner)
        snprintf(err, err_len,
                 "process %s, which the PMIx server started, has started this "
                 "program: unset PMIX_NAMESPACE to run it alone",
                 owner);
    else
        return 0;
    return WEFT_EUNREACH;
}

/* Write why there is no plugin, and what to do. The files that were tried may
 * take more room than an error has: they are printed. */
static void describe_absence(char *why, char *err, size_t err_len)
{
    char line[2600], *tried = strchr(why, ';');
    int n;

    if (tried && wf_boot_pmix_size() != 1) {
        n = snprintf(line, sizeof line, "weft: weft_boot_pmix.so:%s\n",
                     tried + 1);
        wf_boot_print_fatal(line, (size_t)n);
    }
    if (tried)
        *tried = 0;
    snprintf(err, err_len,
             "a PMIx server started this process (PMIX_NAMESPACE=%.24s), and "
             "of weft_boot_pmix.so, Weft's plugin for that, %.80s: use the "
             "mpirun that was installed with Weft, or srun --mpi=pmi2, or name "
             "its directory in WEFT_PLUGIN_PATH, or set WEFT_SET="
             "core.bootstrap=single to run each process alone",
             getenv("PMIX_NAMESPACE"), why);
}

int wf_boot_pmix_open(const struct wf_config *config, struct wf_boot **out,
                      char *err, size_t err_len)
{
    const weft_bootstrap *plugin;
    char why[2500] = "", own[16];
    int rc = refuse_stranger(err, err_len);

    if (rc < 0)
        return rc;
    plugin = wf_bootstrap_find(config, "pmix", why, sizeof why);
    if (!plugin) {
        describe_absence(why, err, err_len);
        return WEFT_EUNREACH;
    }
    rc = wf_boot_by_plugin_open(plugin, out, why, sizeof why);
    if (rc < 0) {
        snprintf(err, err_len,
                 "no start by PMIx (PMIX_NAMESPACE=%.40s): %.255s",
                 getenv("PMIX_NAMESPACE"), why);
        return rc;
    }
    snprintf(own, sizeof own, "%ld", (long)getpid());
    setenv(taken, own, 1); /* without memory a child is not warned */
    return 0;
}
