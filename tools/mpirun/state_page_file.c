/* This file makes and reads state pages for the launcher: see
 * state_page_file.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "state_page_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proc_stat.h"

enum { ROUNDS = 4 /* reads of a page in which something changes */ };

/* Create a page whose size is sealed: the ranks map it, and a page cut short
 * would kill them. */
int wf_state_page_create(int ranks)
{
    struct wf_state_head head = {
        .magic = wf_state_le(WF_STATE_MAGIC),
        .ranks = wf_state_le((uint64_t)ranks),
        .slots = wf_state_le(wf_state_slot_count((uint64_t)ranks))};
    int fd = memfd_create("weft-state", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0)
        return -1;
    if (ftruncate(fd, (off_t)wf_state_bytes((uint64_t)ranks)) == 0 &&
        pwrite(fd, &head, sizeof head, 0) == sizeof head &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        return fd;
    close(fd);
    return -1;
}

bool wf_state_page_name(int fd, char *text, size_t size)
{
    struct stat st;

    if (fd < 0 || fstat(fd, &st) != 0)
        return false;
    snprintf(text, size, "%d:%llu", fd, (unsigned long long)st.st_ino);
    return true;
}

int wf_state_page_inherited(const char *variable)
{
    const char *text = getenv(variable);
    unsigned long long inode;
    struct stat st;
    int fd;

    if (!text || sscanf(text, "%d:%llu", &fd, &inode) != 2 ||
        fstat(fd, &st) != 0 || st.st_ino != inode)
        return -1;
    return fd;
}

static bool read_all(int fd, void *to, size_t size)
{
    size_t at = 0;

    while (at < size) {
        ssize_t n = pread(fd, (char *)to + at, size - at, (off_t)at);
        if (n <= 0)
            return false;
        at += (size_t)n;
    }
    return true;
}

struct wf_state_place *wf_state_page_places(struct wf_state_head *h)
{
    return (struct wf_state_place *)(h + 1);
}

struct wf_state_slot *wf_state_page_slots(struct wf_state_head *h, int ranks)
{
    return (struct wf_state_slot *)(wf_state_page_places(h) + ranks);
}

static bool is_slot_stable(const struct wf_state_slot *a,
                           const struct wf_state_slot *b)
{
    uint64_t version = wf_state_le(atomic_load_explicit(&a->version,
                                                        memory_order_relaxed));

    return version % 2 == 0 && memcmp(a, b, sizeof *a) == 0;
}

/* Keep in `to` what two reads agree about; returns how many slots they disagree
 * about. */
static int merge_reads(struct wf_state_head *to, struct wf_state_head *again,
                  int ranks, bool *settled)
{
    int open = 0, n = (int)wf_state_slot_count((uint64_t)ranks);
    struct wf_state_slot *a = wf_state_page_slots(to, ranks);
    struct wf_state_slot *b = wf_state_page_slots(again, ranks);

    for (int i = 0; i < n; i++) {
        if (settled[i])
            continue;
        settled[i] = is_slot_stable(&a[i], &b[i]);
        if (settled[i])
            continue;
        open++;
        memcpy(&a[i], &b[i], sizeof a[i]);
    }
    return open;
}

struct wf_state_head *wf_state_page_read(int fd, int ranks)
{
    size_t size = wf_state_bytes((uint64_t)ranks);
    int slots = (int)wf_state_slot_count((uint64_t)ranks), open = slots;
    struct wf_state_head *page = malloc(size), *again = malloc(size);
    bool *settled = calloc((size_t)slots, sizeof *settled);
    bool good = page && again && settled && read_all(fd, page, size);

    for (int round = 0; good && open && round < ROUNDS; round++) {
        good = read_all(fd, again, size);
        if (good)
            open = merge_reads(page, again, ranks, settled);
    }
    for (int i = 0; good && i < slots; i++)
        if (!settled[i])
            wf_state_page_slots(page, ranks)[i].word[WF_STATE_KIND] =
                WF_STATE_FREE;
    free(settled);
    free(again);
    if (!good) {
        free(page);
        page = NULL;
    }
    return page;
}

char wf_state_page_process_state(pid_t pid)
{
    struct wf_proc_stat s;

    return wf_proc_stat_read(pid, &s) ? s.state : 0;
}
