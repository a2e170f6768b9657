/* The file of a trace: made, mapped, closed. See trace.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "report/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/error.h"

enum {
    RECORDS_MIN = 64,
    CALIBRATE_NS = 1000000, /* between the first two clock pairs */
    LAST_ENTRY = WF_TRACE_NAMES
};

static uint64_t read_wall_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- the path ------------------------------------------------------------ */

const char *wf_trace_check_path(const char *path)
{
    bool off = strcmp(path, "off") == 0;

    if (!WF_TRACE && !off)
        return "this Weft was built without traces (WEFT_TRACE=OFF)";
    if (!*path)
        return "it is empty; there are off and the path of a file";
    for (const char *p = strchr(path, '%'); p; p = strchr(p + 2, '%'))
        if (p[1] != 'r' && p[1] != '%')
            return "after % there may be r, the rank, or another %";
    return NULL;
}

/* Writes the path of a rank's file. False: it is too long. */
static bool expand_path(const struct wf_trace_params *p, char *to, size_t size)
{
    bool has_rank = false;
    size_t n = 0;

    for (const char *s = p->path; *s && n + 12 < size; s++) {
        if (*s != '%') {
            to[n++] = *s;
        } else if (*++s == 'r') {
            n += (size_t)snprintf(to + n, size - n, "%u", p->rank);
            has_rank = true;
        } else {
            to[n++] = '%';
        }
    }
    if (n + 12 >= size)
        return false;
    to[n] = 0;
    if (!has_rank && p->ranks > 1)
        snprintf(to + n, size - n, ".%u", p->rank);
    return true;
}

/* ---- the file ------------------------------------------------------------ */

static int refuse_file(const char *path, const char *why)
{
    return wf_fail(WEFT_ESYS, "core.trace: cannot write '%s': %s", path, why);
}

/* Tells whether the open file may be replaced: it is empty, or a trace. */
static bool is_replaceable(int fd)
{
    char magic[sizeof WF_TRACE_MAGIC - 1];
    struct stat st;

    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return false;
    return st.st_size == 0 ||
           (pread(fd, magic, sizeof magic, 0) == (ssize_t)sizeof magic &&
            memcmp(magic, WF_TRACE_MAGIC, sizeof magic) == 0);
}

static int open_file(const char *path, size_t bytes)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                  0600);
    int err;

    if (fd < 0)
        return refuse_file(path, strerror(errno));
    if (!is_replaceable(fd)) {
        close(fd);
        return refuse_file(path, "there is a file that is no trace; remove it, "
                                 "or name another");
    }
    err = ftruncate(fd, 0) != 0 ? errno : 0;
    if (!err) /* all of it: a full disk must be found here */
        err = posix_fallocate(fd, 0, (off_t)bytes);
    if (!err)
        return fd;
    close(fd);
    return refuse_file(path, strerror(err));
}

static uint64_t count_records(uint64_t bytes)
{
    uint64_t n = RECORDS_MIN;

    while (WF_TRACE_HEAD + 2 * n * sizeof(struct wf_trace_record) <= bytes)
        n *= 2;
    return n;
}

static struct wf_trace_clock read_pair(const struct wf_trace *t)
{
    struct wf_trace_clock c = {.ticks = wf_trace_ticks()};

    c.ns = wf_clock_ns() + t->wall_ns;
    return c;
}

void wf_trace_read_clock(struct wf_trace *t)
{
    uint32_t other = !t->head->newest;

    t->head->last[other] = read_pair(t);
    wf_fence_compiler();
    t->head->newest = other;
}

/* Fills the head; the magic bytes last, so that the file is a trace then. */
static void write_head(struct wf_trace *t, const struct wf_trace_params *p)
{
    struct wf_trace_head *h = t->head;
    uint64_t until;

    *h = (struct wf_trace_head){.order = WF_TRACE_ORDER,
                                .version = WF_TRACE_VERSION,
                                .head_bytes = WF_TRACE_HEAD,
                                .record_bytes = sizeof(struct wf_trace_record),
                                .records = t->mask + 1,
                                .rank = p->rank,
                                .ranks = p->ranks,
                                .pid = (uint32_t)getpid()};
    snprintf(h->host, sizeof h->host, "%s", p->host);
    t->wall_ns = read_wall_ns() - wf_clock_ns();
    h->start = h->last[0] = read_pair(t);
    if (t->in_memory)
        return; /* nobody reads it */
    for (until = wf_clock_ns() + CALIBRATE_NS; wf_clock_ns() < until;)
        ;
    wf_trace_read_clock(t);
    memcpy(h->magic, WF_TRACE_MAGIC, sizeof h->magic);
}

static void set_base(struct wf_trace *t, void *base)
{
    t->head = base;
    t->record = (void *)((char *)base + WF_TRACE_HEAD);
}

static int map_memory(struct wf_trace *t)
{
    void *base = mmap(NULL, t->bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (base == MAP_FAILED)
        return wf_fail(WEFT_ENOMEM, "no memory for the events of a tool");
    t->in_memory = true;
    set_base(t, base);
    return 0;
}

static int map_file(struct wf_trace *t, const struct wf_trace_params *p)
{
    char path[PATH_MAX];
    void *base;
    int fd, err;

    if (!p->path)
        return map_memory(t);
    if (!expand_path(p, path, sizeof path))
        return refuse_file(p->path, "the name is too long");
    fd = open_file(path, t->bytes);
    if (fd < 0)
        return fd;
    base = mmap(NULL, t->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    err = errno;
    close(fd);
    if (base == MAP_FAILED)
        return refuse_file(path, strerror(err));
    set_base(t, base);
    return 0;
}

int wf_trace_open(const struct wf_trace_params *p, struct wf_trace **out)
{
    uint64_t records = count_records(p->bytes);
    struct wf_trace *t = calloc(1, sizeof *t);
    int r;

    WF_ASSERT((records & (records - 1)) == 0);
    if (!t)
        return wf_fail(WEFT_ENOMEM, "core.trace: no memory for a trace");
    t->mask = records - 1;
    t->bytes = WF_TRACE_HEAD + records * sizeof(struct wf_trace_record);
    r = map_file(t, p);
    if (r != 0) {
        free(t);
        return r;
    }
    write_head(t, p);
    *out = t;
    return 0;
}

void wf_trace_close(struct wf_trace *t)
{
    if (!t)
        return;
    wf_trace_read_clock(t);
    t->head->closed = 1;
    munmap(t->head, t->bytes);
    free(t);
}

/* ---- names --------------------------------------------------------------- */

static uint8_t find_name(const struct wf_trace *t, const char *text)
{
    for (uint32_t i = 0; i < wf_load_acquire(&t->head->names); i++)
        if (t->known[i] == text || strcmp(t->known[i], text) == 0)
            return (uint8_t)(i + 1);
    return 0;
}

/* One thread at a time adds names, so that each has one number. */
WF_COLD static uint8_t add_name(struct wf_trace *t, const char *text)
{
    uint8_t number;

    /* acquire and release: pair with those of the other adders */
    while (wf_exchange_acq_rel(&t->naming, 1))
        wf_cpu_relax();
    number = find_name(t, text);
    if (!number && wf_load_relaxed(&t->head->names) < LAST_ENTRY) {
        uint32_t i = wf_load_relaxed(&t->head->names);
        t->known[i] = text;
        snprintf(t->head->name[i], WF_TRACE_NAME, "%s", text);
        /* pairs with the reader of the file, as an event does */
        wf_store_release(&t->head->names, i + 1);
        number = (uint8_t)(i + 1);
    }
    wf_store_release(&t->naming, 0);
    return number;
}

uint8_t wf_trace_name(struct wf_trace *t, const char *text)
{
    uint8_t number = text ? find_name(t, text) : 0;

    WF_ASSERT(wf_load_relaxed(&t->head->names) <= LAST_ENTRY);
    return number || !text ? number : add_name(t, text);
}
