/* Memory that peers may map. mem_alloc gives it out, so that a large message
 * from it needs one copy only.
 *
 *   receiver                               owner
 *   rkey_open of an area it has not
 *   mapped is refused, so the core lets
 *   the sender push; sends WANT id     --> MEMORY id, address, size, descriptor
 *   maps it for the next message       <--
 *                                      <-- FORGET id, when it is freed
 *
 * The messages travel on the socket of the pair. Neither side waits for them.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "shm.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { AREAS_MAX = 256 }; /* each costs a descriptor */

/* ---- the owner --------------------------------------------------------- */

weft_mr *wf_shm_area_of(weft_ep *ep, const void *base, uint64_t len)
{
    uintptr_t from = (uintptr_t)base;
    for (weft_mr *m = ep->areas; m; m = m->next) {
        uint64_t at = from - (uintptr_t)m->base;
        if (from >= (uintptr_t)m->base && at <= m->bytes &&
            len <= m->bytes - at)
            return m;
    }
    return NULL;
}

static void free_area(weft_mr *m)
{
    if (m->base)
        munmap(m->base, m->bytes);
    if (m->fd >= 0)
        close(m->fd);
    free(m);
}

int wf_shm_mem_alloc(weft_ep *ep, weft_mem *mem)
{
    if (mem->len < SHM_AREA_MIN || ep->alone || ep->areas_n >= AREAS_MAX)
        return WEFT_ENOTSUP;
    size_t bytes = (mem->len + SHM_PAGE - 1) & ~(size_t)(SHM_PAGE - 1);
    weft_mr *m = calloc(1, sizeof *m);
    if (bytes < mem->len || !m) {
        free(m);
        return WEFT_ENOMEM;
    }
    m->bytes = bytes;
    m->fd = wf_shm_make_memory("weft-shm-alloc", bytes,
                               mem->later < bytes ? bytes - mem->later : bytes);
    m->base = m->fd < 0 ? NULL : wf_shm_map_memory(m->fd, bytes);
    if (!m->base) {
        free_area(m);
        return WEFT_ENOMEM;
    }
    m->id = ++ep->area_id;
    WEFT_ASSERT(m->fd >= 0 && m->bytes >= mem->len);
    m->next = ep->areas;
    ep->areas = m;
    ep->areas_n++;
    mem->base = m->base;
    return WEFT_OK;
}

void wf_shm_mem_free(weft_ep *ep, weft_mem *mem)
{
    weft_mr **at = &ep->areas;
    while (*at && (*at)->base != mem->base)
        at = &(*at)->next;
    weft_mr *m = *at;
    if (!m)
        return;
    WEFT_ASSERT(ep->areas_n > 0);
    *at = m->next;
    ep->areas_n--;
    struct shm_area_message message = {.id = m->id};
    /* A peer whose socket is full keeps its mapping until the pair ends. */
    for (uint32_t i = 0; i < ep->live_n; i++)
        if (ep->live[i]->maps_my_areas)
            (void)wf_shm_message_send(ep->live[i]->watch.fd, SHM_FORGET,
                                      &message, sizeof message, NULL, 0);
    free_area(m);
}

void wf_shm_areas_free(weft_ep *ep)
{
    while (ep->areas) {
        weft_mr *m = ep->areas;
        ep->areas = m->next;
        free_area(m);
    }
}

static void handle_want(weft_peer *p, uint64_t id)
{
    weft_mr *m = p->ep->areas;
    while (m && m->id != id)
        m = m->next;
    if (!m)
        return; /* freed meanwhile */
    struct shm_area_message message = {m->id, (uintptr_t)m->base, m->bytes};
    if (wf_shm_message_send(p->watch.fd, SHM_MEMORY, &message, sizeof message,
                            &m->fd, 1) == 0)
        p->maps_my_areas = true;
}

/* ---- the peer ---------------------------------------------------------- */

static weft_rkey *find_mapped(weft_peer *p, uint64_t id)
{
    weft_rkey *k = p->mapped_areas;
    while (k && k->id != id)
        k = k->next;
    return k;
}

/* Finds the area with this id of the peer. NULL: it is not mapped here, and the
 * peer is asked for it. */
weft_rkey *wf_shm_mapped_area(weft_peer *p, uint64_t id)
{
    weft_rkey *k = id ? find_mapped(p, id) : NULL;
    if (!k && id && p->requested_area != id && p->state == SHM_UP) {
        struct shm_area_message message = {.id = id};
        if (wf_shm_message_send(p->watch.fd, SHM_WANT, &message, sizeof message,
                                NULL, 0) == 0)
            p->requested_area = id;
    }
    return k;
}

void wf_shm_close_area(weft_rkey *k)
{
    if (k->fd >= 0)
        close(k->fd);
    k->fd = -1;
}

static int mapped_fd(weft_peer *p, const void *base)
{
    for (weft_rkey *k = p->mapped_areas; k; k = k->next)
        if (k->base == base)
            return k->fd;
    return -1;
}

/* The descriptor of an area of this process, or of a peer's whose key is
 * open. */
int wf_shm_map_fd(weft_ep *ep, const weft_mem *mem)
{
    int fd = -1;
    for (weft_mr *m = ep->areas; m; m = m->next)
        if (m->base == mem->base)
            return m->fd;
    for (uint32_t i = 0; i < ep->live_n && fd < 0; i++)
        fd = mapped_fd(ep->live[i], mem->base);
    return fd;
}

static bool map_area(weft_peer *p, const struct shm_area_message *message,
                     int fd)
{
    if (message->bytes == 0 || message->bytes > SIZE_MAX / 2 ||
        !wf_shm_is_memory_ok(fd, message->bytes))
        return false;
    weft_rkey *k = find_mapped(p, message->id) ? NULL : calloc(1, sizeof *k);
    if (!k)
        return true; /* messages go through the ring as before */
    *k = (weft_rkey){.base = wf_shm_map_memory(fd, message->bytes),
                     .bytes = message->bytes,
                     .at = message->at,
                     .id = message->id,
                     .fd = fcntl(fd, F_DUPFD_CLOEXEC, 0)};
    if (!k->base) {
        wf_shm_close_area(k);
        free(k);
        return true;
    }
    k->next = p->mapped_areas;
    p->mapped_areas = k;
    return true;
}

static void unmap_area(weft_rkey *k)
{
    wf_shm_close_area(k);
    munmap(k->base, k->bytes);
    free(k);
}

/* Unmaps an area that its owner has freed, and whose key nobody has open. If a
 * copy is under way it stays mapped until the pair ends. */
static void unmap_if_forgotten(weft_peer *p, weft_rkey *k)
{
    weft_rkey **at = &p->mapped_areas;
    if (k->id || k->opens || wf_shm_has_direct(p))
        return;
    while (*at != k)
        at = &(*at)->next;
    *at = k->next;
    unmap_area(k);
}

void wf_shm_release_area(weft_peer *p, weft_rkey *k)
{
    wf_shm_close_area(k);
    unmap_if_forgotten(p, k);
}

static void handle_forget(weft_peer *p, uint64_t id)
{
    weft_rkey *k = find_mapped(p, id);
    if (!k)
        return;
    k->id = 0;
    unmap_if_forgotten(p, k);
}

/* Handles a message about memory on the socket of a pair. Returns false if it
 * is nonsense. */
bool wf_shm_handle_memory(weft_peer *p, const struct shm_message *m, int fd)
{
    struct shm_area_message message;
    if (m->len != sizeof message)
        return false;
    memcpy(&message, m->body, sizeof message);
    switch (m->type) {
    case SHM_WANT:
        handle_want(p, message.id);
        return true;
    case SHM_MEMORY:
        return map_area(p, &message, fd);
    case SHM_FORGET:
        handle_forget(p, message.id);
        return true;
    default:
        return false;
    }
}

/* Unmaps areas of a peer because the pair has ended. */
void wf_shm_unmap_areas(weft_rkey *k)
{
    while (k) {
        weft_rkey *next = k->next;
        unmap_area(k);
        k = next;
    }
}
