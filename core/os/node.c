/* The identity of the node and the number of its CPUs: see node.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "os/node.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/hash.h"
#include "os/shortage.h"
#include "os/trust.h"

/* Returns false, with errno set, if the id could not be read because memory or
 * descriptors are short: another process of the machine may have read it, so no
 * substitute is equal to it. */
static bool hash_boot_id(uint64_t *h)
{
    char id[64];
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, id, sizeof id);

    if (fd < 0 && wf_is_shortage(errno))
        return false;
    if (fd >= 0)
        close(fd);
    if (n > 0)
        *h = wf_hash_bytes(*h, id, (size_t)n);
    else if (gethostname(id, sizeof id) == 0) /* there is no /proc */
        *h = wf_hash_bytes(*h, id, strnlen(id, sizeof id));
    return true;
}

bool wf_node_id(uint64_t *id)
{
    const char *node = wf_trust_getenv("WEFT_NODE");
    uint64_t h = WF_HASH_EMPTY;
    struct stat st;

    if (!hash_boot_id(&h))
        return false;
    if (stat("/proc/self/ns/net", &st) == 0)
        h = wf_hash_bytes(h, &st.st_ino, sizeof st.st_ino);
    if (node)
        h = wf_hash_bytes(h, node, strlen(node));
    *id = h;
    return true;
}

void wf_node_name(char *name, size_t n)
{
    const char *node = wf_trust_getenv("WEFT_NODE");

    if (node && *node)
        snprintf(name, n, "%s", node);
    else if (gethostname(name, n) != 0)
        snprintf(name, n, "localhost");
    name[n - 1] = 0;
}

static bool read_affinity(pid_t process, cpu_set_t *set)
{
    return sched_getaffinity(process, sizeof *set, set) == 0;
}

uint32_t wf_node_own_cpus(void)
{
    cpu_set_t set;
    long n;

    if (read_affinity(0, &set))
        return (uint32_t)CPU_COUNT(&set);
    n = sysconf(_SC_NPROCESSORS_ONLN); /* more than 1024 CPUs */
    return n > 0 ? (uint32_t)n : 1;
}

/* Tells whether the parent may use more CPUs than this process, all of its own
 * included, and stores how many. Process 1 does not count: a service that it
 * starts is bound as a whole. */
static bool parent_has_more(uint32_t *count)
{
    cpu_set_t own, parents, both;
    pid_t parent = getppid();

    if (parent <= 1 || !read_affinity(0, &own) ||
        !read_affinity(parent, &parents))
        return false;
    CPU_AND(&both, &own, &parents);
    *count = (uint32_t)CPU_COUNT(&parents);
    return CPU_EQUAL(&both, &own);
}

uint32_t wf_node_cpus(void)
{
    const char *bound = wf_trust_getenv("WEFT_BOUND_CPUS");
    long n = bound ? atol(bound) : 0;
    uint32_t count;

    if (n > 0 && n <= INT32_MAX)
        return (uint32_t)n;
    return parent_has_more(&count) ? count : wf_node_own_cpus();
}
