/* Choosing a bootstrap provider.
 *
 * The launcher decides first (PMI_FD, PMI_PORT), then the configuration and
 * WEFT_RANK/WEFT_SIZE, then a PMIx server, which a process may have inherited
 * with its environment; without these the process is a singleton. A process
 * that is one of several under a launcher with another protocol is refused: N
 * programs that each take themselves for rank 0 of 1 would look like a job.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "boot/boot.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "boot/auth.h"
#include "boot/auth_key.h"
#include "boot/foreign.h"
#include "boot/memory.h"
#include "boot/pmi1.h"
#include "boot/pmix.h"
#include "boot/static.h"
#include "config/config.h"
#include "os/trust.h"

long wf_boot_env_number(const char *name)
{
    bool ours = strncmp(name, "WEFT_", 5) == 0;
    const char *text = ours ? wf_trust_getenv(name) : getenv(name);
    char *end;
    if (!text || !*text)
        return -1;
    errno = 0;
    long n = strtol(text, &end, 10);
    return errno || *end || n < 0 || n > INT32_MAX ? -2 : n;
}

void wf_boot_unique_name(char out[64], const char *prefix)
{
    uint64_t r = 0;
    if (getrandom(&r, sizeof(r), GRND_NONBLOCK) != (ssize_t)sizeof(r)) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        r = (uint64_t)now.tv_sec << 32 ^ (uint64_t)now.tv_nsec;
    }
    snprintf(out, 64, "%s-%ld-%016llx", prefix, (long)getpid(),
             (unsigned long long)r);
}

uint32_t wf_boot_announced_size(void)
{
    long n = wf_boot_env_number("PMI_SIZE");
    if (n < 0)
        n = wf_boot_env_number("WEFT_SIZE");
    return n > 0 ? (uint32_t)n : 0;
}

void wf_boot_close(struct wf_boot *boot)
{
    wf_auth_key_free(boot->key);
    if (boot->free_names)
        boot->free_names(boot->names);
    boot->ops->close(boot);
}

static int has_pmi(void)
{
    return getenv("PMI_FD") != NULL || getenv("PMI_PORT") != NULL;
}

/* Open PMI, unless the program runs as another user than its caller. A job
 * trusts its launcher with everything: its members, the key, and whose memory
 * is read; so such a program must not trust its caller's launcher. One with
 * capabilities of its file runs as the caller. */
static int open_pmi(struct wf_boot **out, char *err, size_t err_len)
{
    if (wf_trust_caller() || (getuid() == geteuid() && getgid() == getegid()))
        return wf_boot_pmi1_open(out, err, err_len);
    snprintf(err, err_len,
             "a set-user-ID or set-group-ID program does not join a job of its "
             "caller: start it as the user whose rights it needs, or unset "
             "PMI_FD and PMI_PORT to run it alone");
    return WEFT_EINVAL;
}

static bool has_static_variables(void)
{
    return wf_trust_getenv("WEFT_RANK") || wf_trust_getenv("WEFT_SIZE");
}

bool wf_boot_is_static(const struct wf_config *config)
{
    int mode = config ? wf_config_core(config)->bootstrap : WF_BOOT_AUTO;

    return mode == WF_BOOT_STATIC ||
           (mode == WF_BOOT_AUTO && !has_pmi() && has_static_variables());
}

static int open_singleton(const struct wf_config *config, struct wf_boot **out,
                          char *err, size_t err_len)
{
    int rc = wf_boot_singleton_open(out, err, err_len);

    if (rc == 0 && config)
        (*out)->launcher_path = wf_config_core(config)->launcher;
    return rc;
}

/* Open PMIx. A process that knows itself alone in its job may do without. */
static int open_pmix(const struct wf_config *config, struct wf_boot **out,
                     char *err, size_t err_len)
{
    int pmix = wf_boot_pmix_open(config, out, err, err_len);

    if (pmix == WEFT_EUNREACH && wf_boot_pmix_size() == 1)
        return open_singleton(config, out, err, err_len);
    return pmix;
}

static int open_auto(const struct wf_config *config, struct wf_boot **out,
                     char *err, size_t err_len)
{
    if (has_pmi()) {
        int pmi = open_pmi(out, err, err_len);
        /* A program started by the only rank of a job, with the descriptor
         * already taken or closed, may run alone. */
        if (pmi == WEFT_EUNREACH && wf_boot_env_number("PMI_SIZE") == 1)
            return open_singleton(config, out, err, err_len);
        return pmi;
    }
    if (has_static_variables())
        return wf_boot_static_open(config, out, err, err_len);
    if (wf_boot_has_pmix())
        return open_pmix(config, out, err, err_len);
    int rc = wf_boot_refuse_foreign(err, err_len);
    return rc ? rc : open_singleton(config, out, err, err_len);
}

int wf_boot_open(const struct wf_config *config, struct wf_boot **out,
                 char *err, size_t err_len)
{
    int mode = config ? wf_config_core(config)->bootstrap : WF_BOOT_AUTO;
    switch (mode) {
    case WF_BOOT_STATIC:
        return wf_boot_static_open(config, out, err, err_len);
    case WF_BOOT_SINGLE:
        return open_singleton(config, out, err, err_len);
    case WF_BOOT_PMI:
        if (has_pmi())
            return open_pmi(out, err, err_len);
        snprintf(err, err_len,
                 "core.bootstrap is pmi, but neither PMI_FD nor PMI_PORT is "
                 "set: start the program with mpirun, or set it to auto");
        return WEFT_EINVAL;
    case WF_BOOT_PMIX:
        if (wf_boot_has_pmix())
            return wf_boot_pmix_open(config, out, err, err_len);
        snprintf(err, err_len,
                 "core.bootstrap is pmix, but PMIX_NAMESPACE and PMIX_RANK are "
                 "not set: start the program by a PMIx server, or set it to "
                 "auto");
        return WEFT_EINVAL;
    default:
        return open_auto(config, out, err, err_len);
    }
}
