/* The static bootstrap: ranks and addresses are in mpi.ini; there is no
 * launcher.
 *
 *   rank  WEFT_RANK, or the one [rank] whose host is this machine's name
 *   size  WEFT_SIZE, or as many ranks as mpi.ini gives a host
 *
 * There is no key-value space: put does nothing, get answers WEFT_EUNREACH, and
 * the core takes peers' addresses from the configuration instead, or derives
 * them from the job key (route/card.c).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "boot/static.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base.h"
#include "boot/boot.h"
#include "config/addresses.h"
#include "config/config.h"
#include "os/trust.h"

enum { STATIC_RANKS_MAX = 1 << 20 };

static int static_put(struct wf_boot *boot, const char *key, const void *value,
                      size_t n)
{
    return 0;
}

static int static_get(struct wf_boot *boot, const char *key, void **value,
                      size_t *n)
{
    return WEFT_EUNREACH;
}

static int static_fence_start(struct wf_boot *boot, int *fd)
{
    *fd = -1;
    boot->fence_passed = 1; /* nobody is waited for */
    return 0;
}

static int do_nothing(struct wf_boot *boot)
{
    return 0;
}

static void static_abort(struct wf_boot *boot, int code, const char *message)
{
    /* No launcher: peers learn of it when their connections break. */
}

static void static_close(struct wf_boot *boot)
{
    free(boot->node_of);
    free(boot);
}

static const struct wf_boot_ops static_ops = {
    .name = "static",
    .put = static_put,
    .get = static_get,
    .fence_start = static_fence_start,
    .fence_end = do_nothing,
    .abort = static_abort,
    .finalize = do_nothing,
    .close = static_close,
};

static const char *host_of(const struct wf_config *config, uint32_t rank)
{
    return config ? wf_config_host(config, rank) : NULL;
}

static int find_size(const struct wf_config *config, long *size, char *err,
                     size_t err_len)
{
    long n = wf_boot_env_number("WEFT_SIZE");
    if (n == -1) {
        n = 0;
        while (n < STATIC_RANKS_MAX && host_of(config, (uint32_t)n))
            n++;
    }
    if (n < 1 || n > STATIC_RANKS_MAX) {
        if (wf_trust_getenv("WEFT_SIZE"))
            snprintf(err, err_len,
                     "static bootstrap: WEFT_SIZE=%s is not a number of ranks",
                     wf_trust_getenv("WEFT_SIZE"));
        else
            snprintf(err, err_len,
                     "static bootstrap: the number of ranks is unknown: set "
                     "WEFT_SIZE, or give every rank a host in mpi.ini");
        return WEFT_EINVAL;
    }
    *size = n;
    return 0;
}

/* The only rank whose host is this machine; -1: none, -2: several. */
static long rank_of_this_host(const struct wf_config *config, long size)
{
    char own[256] = "";
    long found = -1;
    (void)gethostname(own, sizeof(own) - 1);
    for (long r = 0; r < size; r++) {
        const char *host = host_of(config, (uint32_t)r);
        if (host && strcmp(host, own) == 0) {
            if (found >= 0)
                return -2;
            found = r;
        }
    }
    return found;
}

static int find_rank(const struct wf_config *config, long size, long *rank,
                     char *err, size_t err_len)
{
    long r = wf_boot_env_number("WEFT_RANK");
    if (r == -1)
        r = rank_of_this_host(config, size);
    else if (r == -2)
        r = size; /* not a number: out of range */
    if (r >= 0 && r < size) {
        *rank = r;
        return 0;
    }
    if (wf_trust_getenv("WEFT_RANK"))
        snprintf(
            err, err_len,
            "static bootstrap: WEFT_RANK=%s is not in 0..%ld, the ranks of "
            "%s",
            wf_trust_getenv("WEFT_RANK"), size - 1,
            wf_trust_getenv("WEFT_SIZE") ? "WEFT_SIZE"
                                         : wf_config_source(config));
    else
        snprintf(err, err_len,
                 "static bootstrap: %s [rank] of mpi.ini has this machine as "
                 "its host: set WEFT_RANK",
                 r == -2 ? "more than one" : "no");
    return WEFT_EINVAL;
}

static bool all_have_hosts(const struct wf_config *config, uint32_t size)
{
    uint32_t r = 0;

    while (r < size && host_of(config, r))
        r++;
    return r == size;
}

/* Number the nodes. first[] holds the first rank of each. Neighbours usually
 * share a node, so the search begins at the newest one. */
static void number_nodes(const struct wf_config *config, struct wf_boot *b,
                         uint32_t *first)
{
    for (uint32_t r = 0; r < b->size; r++) {
        const char *host = host_of(config, r);
        uint32_t node = b->node_count;
        while (node > 0 && strcmp(host_of(config, first[node - 1]), host) != 0)
            node--;
        if (node == 0) {
            first[b->node_count] = r;
            node = ++b->node_count;
        }
        b->node_of[r] = node - 1;
    }
    b->one_host = b->node_count == 1;
}

/* Find the node of each rank: ranks with the same host share one. Nodes are
 * unknown unless all ranks have a host. The processes of a job must agree on
 * them, so lack of memory is an error. */
static int find_nodes(const struct wf_config *config, struct wf_boot *b)
{
    uint32_t *first;

    if (!all_have_hosts(config, b->size))
        return 0;
    first = malloc(b->size * sizeof(*first));
    b->node_of = malloc(b->size * sizeof(*b->node_of));
    if (first && b->node_of)
        number_nodes(config, b, first);
    free(first);
    return b->node_count ? 0 : WEFT_ENOMEM;
}

int wf_boot_static_open(const struct wf_config *config, struct wf_boot **out,
                        char *err, size_t err_len)
{
    long size, rank;
    int rc = find_size(config, &size, err, err_len);
    if (rc == 0)
        rc = find_rank(config, size, &rank, err, err_len);
    if (rc < 0)
        return rc;
    struct wf_boot *b = calloc(1, sizeof(*b));
    if (!b) {
        snprintf(err, err_len, "out of memory");
        return WEFT_ENOMEM;
    }
    const char *job = config ? wf_config_core(config)->job : NULL;
    b->ops = &static_ops;
    b->rank = (uint32_t)rank;
    b->size = (uint32_t)size;
    b->appnum = -1;
    b->is_static = 1;
    snprintf(b->job, sizeof(b->job), "%.63s", job && *job ? job : "weft");
    rc = find_nodes(config, b);
    if (rc < 0) {
        snprintf(err, err_len, "out of memory for the nodes of the job");
        static_close(b);
        return rc;
    }
    *out = b;
    return 0;
}
