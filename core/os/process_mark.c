/* Marks by which processes find out that another one has ended: see
 * process_mark.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "os/process_mark.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Returns the number of the namespace of processes; 0: unknown. */
static uint64_t find_space(void)
{
    struct stat s;

    return stat("/proc/self/ns/pid", &s) == 0 ? (uint64_t)s.st_ino : 0;
}

void wf_process_mark_set(struct wf_process_mark *m)
{
    wf_store_relaxed(&m->space, find_space());
    wf_store_release(&m->pid, (uint32_t)getpid());
}

/* Asks the kernel, for which a process that nobody has waited for has ended,
 * too, if it has descriptors of processes (Linux 5.3). */
static bool is_process_gone(pid_t pid)
{
#ifdef SYS_pidfd_open
    struct pollfd p = {.events = POLLIN};

    p.fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (p.fd >= 0) {
        bool gone = poll(&p, 1, 0) == 1 && p.revents & POLLIN;

        close(p.fd);
        return gone;
    }
    if (errno == ESRCH)
        return true;
#endif
    return kill(pid, 0) != 0 && errno == ESRCH;
}

bool wf_process_mark_has_ended(const struct wf_process_mark *m)
{
    uint32_t pid = wf_load_acquire(&m->pid);
    uint64_t space = wf_load_relaxed(&m->space);

    return pid && space && space == find_space() && is_process_gone((pid_t)pid);
}
