/* Segments: anonymous shared memory that cannot fault under its users.
 *
 * DESIGN  memfd, so that nothing named outlives a crash; sealed against
 * shrinking, so that a peer cannot take pages away; pages reserved with
 * fallocate before the first touch, so that a full machine is an error text
 * and not SIGBUS.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "ring.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* Reserves pages. Returns 0 or an errno. */
static int reserve_pages(int fd, size_t at, size_t bytes)
{
    while (fallocate(fd, 0, (off_t)at, (off_t)bytes) != 0)
        if (errno != EINTR)
            return errno;
    return 0;
}

/* Says whether a file of this size is allowed. One above the limit of file
 * sizes would end the process with SIGXFSZ. */
static bool is_below_file_limit(size_t bytes)
{
    struct rlimit most;
    return getrlimit(RLIMIT_FSIZE, &most) != 0 || bytes <= most.rlim_cur;
}

/* Makes a sealed memory file of `bytes`, the first `reserve` of them backed by
 * pages. Returns its descriptor, or -errno. */
int wf_shm_make_memory(const char *name, size_t bytes, size_t reserve)
{
    WEFT_ASSERT(reserve <= bytes);
    if (!is_below_file_limit(bytes))
        return -EFBIG;
    unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    int fd = memfd_create(name, flags | MFD_NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL) /* before Linux 6.3 */
        fd = memfd_create(name, flags);
    if (fd < 0)
        return -errno;
    int err = ftruncate(fd, (off_t)bytes) != 0 ? errno : 0;
    if (!err)
        err = reserve_pages(fd, 0, reserve);
    if (!err &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        err = errno;
    if (!err)
        return fd;
    close(fd);
    return -err;
}

/* Maps a memory file. Returns NULL with errno set if that fails. */
void *wf_shm_map_memory(int fd, size_t bytes)
{
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return base == MAP_FAILED ? NULL : base;
}

/* Populates pages that will be used, by one call, which costs less than a fault
 * for each. On old kernels it fails with EINVAL, which does no harm. */
static void populate_pages(void *base, size_t bytes)
{
    (void)madvise(base, bytes, MADV_POPULATE_WRITE);
}

void wf_shm_populate_cells(const struct shm_out *out)
{
    populate_pages(out->cells.base, out->cells.size);
}

void wf_shm_populate_segment(weft_peer *p)
{
    populate_pages(p->base, shm_reserved_bytes(&p->geometry));
}

/* Says whether a descriptor that a peer passed is memory that stays this
 * large. */
bool wf_shm_is_memory_ok(int fd, size_t bytes)
{
    struct stat st;
    int seals = fcntl(fd, F_GET_SEALS);
    return seals >= 0 && (seals & F_SEAL_SHRINK) && fstat(fd, &st) == 0 &&
           st.st_size >= 0 && (uint64_t)st.st_size >= bytes;
}

static uint32_t round_to_power_of_two(uint64_t n, uint32_t low, uint32_t high)
{
    uint32_t p = low;
    while (p < n && p < high)
        p *= 2;
    return p;
}

/* The sizes that the options ask for, rounded up to those that the layout
 * allows. */
struct shm_geometry wf_shm_geometry(const struct shm_config *c,
                                    uint32_t local_count, bool oversubscribed)
{
    struct shm_geometry g = {
        .slots = round_to_power_of_two((uint64_t)c->ring, 16, 4096),
        .cells = round_to_power_of_two(c->cell, 4096, 1u << 20),
        .chunk = round_to_power_of_two(c->chunk, 4096, 1u << 20)};
    uint64_t chunks =
        c->chunks ? (uint64_t)c->chunks
                  : wf_shm_ring_bytes(local_count, oversubscribed) / g.chunk;
    g.chunks = round_to_power_of_two(chunks, SHM_FIRST_CHUNKS, SHM_CHUNKS);
    return g;
}

static bool is_power_of_two_within(uint32_t n, uint32_t low, uint32_t high)
{
    return n >= low && n <= high && (n & (n - 1)) == 0;
}

/* Says whether a peer's sizes are valid, so that positions can be computed. */
bool wf_shm_geometry_ok(const struct shm_geometry *g)
{
    return is_power_of_two_within(g->slots, 16, 4096) &&
           is_power_of_two_within(g->cells, 4096, 1u << 20) &&
           is_power_of_two_within(g->chunk, 4096, 1u << 20) &&
           is_power_of_two_within(g->chunks, SHM_FIRST_CHUNKS, SHM_CHUNKS);
}

static struct shm_slot *slots_at(weft_peer *p, uint32_t at)
{
    return (struct shm_slot *)(void *)(p->base + at);
}

static void attach_out(weft_peer *p, const struct shm_geometry *g, int dir)
{
    struct shm_out *out = &p->out;
    struct shm_slot *slots = slots_at(p, shm_first_at(dir));
    WEFT_ASSERT(p->base && (dir == 0 || dir == 1) && wf_shm_geometry_ok(g));
    *out = (struct shm_out){
        .slots = slots,
        .end = slots + SHM_FIRST_SLOTS,
        .next = slots,
        .word = shm_word(0, 0, SHM_HEAD, 1),
        .mask = SHM_FIRST_SLOTS - 1,
        .line = (struct shm_line *)(void *)p->base + dir,
        .cells = {.base = p->base + shm_cells_at(g, dir), .size = g->cells},
        .bulk = {.base = p->base + shm_first_bulk_at(g, dir),
                 .size = shm_first_bulk_bytes(g)},
        .want = out->want};
}

static void attach_in(weft_peer *p, const struct shm_geometry *g, int dir)
{
    WEFT_ASSERT(p->base && (dir == 0 || dir == 1) && wf_shm_geometry_ok(g));
    struct shm_slot *slots = slots_at(p, shm_first_at(dir));
    p->in = (struct shm_in){
        .slots = slots,
        .end = slots + SHM_FIRST_SLOTS,
        .next = slots,
        .mask = SHM_FIRST_SLOTS - 1,
        .wrap = 1,
        .line = (struct shm_line *)(void *)p->base + dir,
        .cells = {.base = p->base + shm_cells_at(g, dir), .size = g->cells},
        .bulk = {.base = p->base + shm_first_bulk_at(g, dir),
                 .size = shm_first_bulk_bytes(g)}};
    wf_shm_way_init(&p->in);
}

static int direction_of(const weft_peer *p, const struct shm_line *line)
{
    return line == (const struct shm_line *)(const void *)p->base ? 0 : 1;
}

static struct shm_slot *large_ring_of(weft_peer *p, const struct shm_line *line)
{
    return slots_at(p, shm_slots_at(&p->geometry, direction_of(p, line)));
}

/* Populates the large ring, which is used from here on. */
static struct shm_slot *begin_large(weft_peer *p, const struct shm_line *line)
{
    struct shm_slot *slots = large_ring_of(p, line);
    populate_pages(slots, p->geometry.slots * sizeof *slots);
    return slots;
}

/* Announces the large ring, because this one has been full or is used much. The
 * large one follows at the end of this pass, whose last slot is not published
 * yet: the receiver reads the announcement after that slot. */
void wf_shm_announce_large_ring(weft_peer *p)
{
    struct shm_out *out = &p->out;
    if (out->large || p->geometry.slots <= SHM_FIRST_SLOTS)
        return;
    out->large = SHM_LARGE | (uint32_t)(out->start + (out->end - out->slots));
    atomic_store_explicit(&out->line->large, out->large, memory_order_relaxed);
}

void wf_shm_wrap_out(weft_peer *p)
{
    WEFT_ASSERT(p->out.next == p->out.end);
    struct shm_out *out = &p->out;
    out->start = shm_head(out);
    shm_write_next(out, out->slots);
    out->fast_end = NULL;
    out->word += shm_word(0, 0, 0, 1);
    /* with the large ring counts are read less often */
    if (out->start == SHM_LARGE_RING_AFTER && !p->ep->oversubscribed)
        wf_shm_announce_large_ring(p);
    if (out->large != (SHM_LARGE | out->start))
        return;
    out->slots = begin_large(p, out->line);
    shm_write_next(out, out->slots);
    out->mask = p->geometry.slots - 1;
    out->end = out->slots + p->geometry.slots;
    out->word = shm_word(0, 0, SHM_HEAD, 1);
}

/* Goes on at the start of the ring, or of the large one if the sender has
 * announced it. Whatever the sender wrote, the slots are those of the segment,
 * and the ring changes once. */
void wf_shm_wrap_in(weft_peer *p)
{
    WEFT_ASSERT(p->in.next == p->in.end && p->in.wrap < 8);
    struct shm_in *in = &p->in;
    in->next = in->slots;
    in->wrap = (in->wrap + 1) & 7;
    if (in->mask + 1 != SHM_FIRST_SLOTS ||
        in->slots == large_ring_of(p, in->line) ||
        /* relaxed: ordered by the slot that was read before */
        atomic_load_explicit(&in->line->large, memory_order_relaxed) !=
            (SHM_LARGE | in->head))
        return;
    in->slots = in->next = begin_large(p, in->line);
    in->mask = p->geometry.slots - 1;
    in->end = in->slots + p->geometry.slots;
    in->wrap = 1;
}

/* ---- bulk rings ---------------------------------------------------------- */

/* Switches to the large bulk ring. Positions go on as before; only the memory
 * for them is another. */
static void switch_bulk(weft_peer *p, struct shm_bytes *b,
                        const struct shm_line *line)
{
    WEFT_ASSERT(shm_bulk_follows(&p->geometry));
    WEFT_ASSERT(b->size == shm_first_bulk_bytes(&p->geometry));
    b->base = p->base + shm_bulk_at(&p->geometry, direction_of(p, line));
    b->size = shm_bulk_bytes(&p->geometry);
}

/* Gives pages to bytes of the segment that will be used, and touches each:
 * where a hypervisor has page tables, too, the first access takes longer than
 * all before it. Returns 0 or an errno. */
static int take_pages(weft_peer *p, uint32_t at, uint32_t bytes)
{
    WEFT_ASSERT(p->memory >= 0);
    int err = reserve_pages(p->memory, at, bytes);
    if (err)
        return err;
    populate_pages(p->base + at, bytes);
    for (uint32_t i = 0; i < bytes; i += SHM_PAGE)
        *(volatile unsigned char *)(p->base + at + i) = 0;
    return 0;
}

/* Says whether the large bulk ring may still follow the first one. */
static bool may_grow(const weft_peer *p)
{
    return p->out.bulk.size < shm_bulk_bytes(&p->geometry) &&
           p->out.ahead != SHM_NEVER_LARGE;
}

/* Closes the segment's descriptor when it is needed for no more pages. */
static void close_unused_fd(weft_peer *p)
{
    if (p->out.reserved < p->out.bulk.size || may_grow(p))
        return;
    close(p->memory);
    p->memory = -1;
}

/* Reserves the pages for the next n bytes of the bulk ring, when they are used
 * for the first time: a message pays for its own pages only. If that fails the
 * link goes down. */
bool wf_shm_reserve_bulk(weft_peer *p, uint32_t n)
{
    struct shm_out *out = &p->out;
    const struct shm_bytes *b = &out->bulk;
    uint32_t end = (shm_place(b->at, n, b->size) & (b->size - 1)) + n;
    if (shm_likely(end <= out->reserved))
        return true;
    end = (end + SHM_PAGE - 1) & ~(uint32_t)(SHM_PAGE - 1);
    int err = take_pages(p, (uint32_t)(b->base - p->base) + out->reserved,
                         end - out->reserved);
    if (err) {
        wf_shm_fault(p, wf_shm_shortage_status(err),
                     "cannot reserve %u bytes of shared memory (memfd) for "
                     "large messages to process %u: %s; lower chunk in "
                     "[transport %s]",
                     out->bulk.size, p->loc_id, strerror(err), p->ep->instance);
        return false;
    }
    out->reserved = end;
    close_unused_fd(p);
    return true;
}

/* Gives pages to up to n further bytes of the large bulk ring, and switches to
 * it when it has all of them. The receiver still takes from the first one what
 * that holds. Returns false if there is no memory for it, or nothing to do. */
bool wf_shm_grow_bulk(weft_peer *p, uint64_t n)
{
    struct shm_out *out = &p->out;
    if (!may_grow(p) || !wf_shm_reserve_bulk(p, out->bulk.size))
        return false;
    uint32_t size = shm_bulk_bytes(&p->geometry), left = size - out->ahead;
    uint32_t now = n < left ? (uint32_t)n : left;
    uint32_t at = shm_bulk_at(&p->geometry, direction_of(p, out->line));
    if (take_pages(p, at + out->ahead, now) != 0) {
        out->ahead = SHM_NEVER_LARGE;
        close_unused_fd(p);
        return false;
    }
    out->ahead += now;
    if (now < left)
        return true;
    /* relaxed: ordered by the slot that is published next */
    atomic_store_explicit(&out->line->bulk_large, SHM_LARGE | out->bulk.at,
                          memory_order_relaxed);
    switch_bulk(p, &out->bulk, out->line);
    out->reserved = size;
    close_unused_fd(p);
    return true;
}

/* Takes the next n bytes of the bulk ring. Whatever the sender wrote, the
 * memory is that of the segment, and the ring changes once. */
unsigned char *wf_shm_take_bulk(weft_peer *p, uint32_t n)
{
    struct shm_in *in = &p->in;
    if (in->bulk.size != shm_bulk_bytes(&p->geometry) &&
        /* relaxed: ordered by the slot that was read before */
        atomic_load_explicit(&in->line->bulk_large, memory_order_relaxed) ==
            (SHM_LARGE | in->bulk.at))
        switch_bulk(p, &in->bulk, in->line);
    return shm_bytes_take(&in->bulk, n);
}

/* ---- a pair -------------------------------------------------------------- */

/* The counters of the copies that direction dir asks for. */
static struct shm_share *share_of(weft_peer *p, int dir)
{
    struct shm_line *lines = (struct shm_line *)(void *)p->base;
    return (struct shm_share *)(void *)(lines + 2) + dir;
}

/* Maps the segment of a pair and sets up both directions. Side 0 has dialled.
 * Returns 0, and keeps the descriptor, or an errno. */
int wf_shm_attach(weft_peer *p, int fd, const struct shm_geometry *g, int side)
{
    WEFT_ASSERT(!p->base && p->memory < 0 && (side == 0 || side == 1));
    p->base = wf_shm_map_memory(fd, shm_segment_bytes(g));
    if (!p->base)
        return errno;
    p->geometry = *g;
    p->memory = fd;
    attach_out(p, g, side);
    attach_in(p, g, 1 - side);
    p->out.share = share_of(p, side);
    p->in.share = share_of(p, 1 - side);
    return 0;
}

/* Releases everything that belongs to the connection. */
void wf_shm_detach(weft_peer *p)
{
    if (p->base)
        munmap(p->base, shm_segment_bytes(&p->geometry));
    if (p->page)
        munmap(p->page, SHM_PAGE);
    p->requested_area = 0;
    p->maps_my_areas = false;
    if (p->memory >= 0)
        close(p->memory);
    if (p->bell >= 0)
        close(p->bell);
    if (p->watch.fd >= 0)
        close(p->watch.fd);
    p->base = NULL;
    p->page = NULL;
    p->memory = p->bell = p->watch.fd = -1;
    p->out.slots = NULL;
    p->in.slots = NULL;
}
