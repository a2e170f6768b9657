/* Memory that peers may map: what mem_alloc hands out, so that a large message
 * from it needs one copy only.
 *
 *   receiver                               owner
 *   rkey_open of an area it has not
 *   mapped: refused, the core lets the
 *   sender push; and WANT id           --> MEMORY id, address, size, descriptor
 *   maps it for the next message       <--
 *                                      <-- FORGET id, when it is freed
 *
 * The messages travel on the socket of the pair. Nobody waits for them.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "shm.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    SHARE_FROM = 64 << 10, /* smaller allocations stay on the heap */
    AREAS_MOST = 256       /* each costs a descriptor */
};

struct told {
    uint64_t id, at, bytes;
};

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

static void area_free(weft_mr *m)
{
    if (m->base)
        munmap(m->base, m->bytes);
    if (m->fd >= 0)
        close(m->fd);
    free(m);
}

int wf_shm_mem_alloc(weft_ep *ep, weft_mem *mem)
{
    if (mem->len < SHARE_FROM || ep->alone || ep->areas_n >= AREAS_MOST)
        return WEFT_ENOTSUP;
    size_t bytes = (mem->len + SHM_PAGE - 1) & ~(size_t)(SHM_PAGE - 1);
    weft_mr *m = calloc(1, sizeof *m);
    if (bytes < mem->len || !m) {
        free(m);
        return WEFT_ENOMEM;
    }
    m->bytes = bytes;
    m->fd = wf_shm_memory("weft-shm-alloc", bytes,
                          mem->later < bytes ? bytes - mem->later : bytes);
    m->base = m->fd < 0 ? NULL : wf_shm_map(m->fd, bytes);
    if (!m->base) {
        area_free(m);
        return WEFT_ENOMEM;
    }
    m->id = ++ep->area_id;
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
    *at = m->next;
    ep->areas_n--;
    struct told told = {.id = m->id};
    /* A peer whose socket is full keeps its mapping until the pair ends. */
    for (uint32_t i = 0; i < ep->live_n; i++)
        if (ep->live[i]->told)
            (void)wf_shm_message_send(ep->live[i]->watch.fd, SHM_FORGET, &told,
                                      sizeof told, NULL, 0);
    area_free(m);
}

void wf_shm_areas_free(weft_ep *ep)
{
    while (ep->areas) {
        weft_mr *m = ep->areas;
        ep->areas = m->next;
        area_free(m);
    }
}

static void on_want(weft_peer *p, uint64_t id)
{
    weft_mr *m = p->ep->areas;
    while (m && m->id != id)
        m = m->next;
    if (!m)
        return; /* freed meanwhile */
    struct told told = {m->id, (uintptr_t)m->base, m->bytes};
    if (wf_shm_message_send(p->watch.fd, SHM_MEMORY, &told, sizeof told,
                            &m->fd, 1) == 0)
        p->told = true;
}

/* ---- the peer ---------------------------------------------------------- */

static weft_rkey *find_theirs(weft_peer *p, uint64_t id)
{
    weft_rkey *k = p->theirs;
    while (k && k->id != id)
        k = k->next;
    return k;
}

/* The area that the peer calls id, or NULL: then it is asked for it. */
weft_rkey *wf_shm_theirs(weft_peer *p, uint64_t id)
{
    weft_rkey *k = id ? find_theirs(p, id) : NULL;
    if (!k && id && p->wanted != id && p->state == SHM_UP) {
        struct told told = {.id = id};
        if (wf_shm_message_send(p->watch.fd, SHM_WANT, &told, sizeof told,
                                NULL, 0) == 0)
            p->wanted = id;
    }
    return k;
}

static bool on_memory(weft_peer *p, const struct told *told, int fd)
{
    if (told->bytes == 0 || told->bytes > SIZE_MAX / 2 ||
        !wf_shm_memory_ok(fd, told->bytes))
        return false;
    weft_rkey *k = find_theirs(p, told->id) ? NULL : calloc(1, sizeof *k);
    if (!k)
        return true; /* messages go through the ring as before */
    *k = (weft_rkey){.base = wf_shm_map(fd, told->bytes),
                     .bytes = told->bytes,
                     .at = told->at,
                     .id = told->id};
    if (!k->base) {
        free(k);
        return true;
    }
    k->next = p->theirs;
    p->theirs = k;
    return true;
}

static void unmap(weft_rkey *k)
{
    munmap(k->base, k->bytes);
    free(k);
}

/* One that a copy under way still uses stays until the pair ends. */
static void on_forget(weft_peer *p, uint64_t id)
{
    weft_rkey **at = &p->theirs;
    while (*at && (*at)->id != id)
        at = &(*at)->next;
    weft_rkey *k = *at;
    if (!k)
        return;
    k->id = 0;
    if (wf_shm_direct_busy(p))
        return;
    *at = k->next;
    unmap(k);
}

/* A message on the silent socket; false: nonsense. */
bool wf_shm_on_memory(weft_peer *p, const struct shm_message *m, int fd)
{
    struct told told;
    if (m->len != sizeof told)
        return false;
    memcpy(&told, m->body, sizeof told);
    switch (m->type) {
    case SHM_WANT:
        on_want(p, told.id);
        return true;
    case SHM_MEMORY:
        return on_memory(p, &told, fd);
    case SHM_FORGET:
        on_forget(p, told.id);
        return true;
    default:
        return false;
    }
}

/* The pair has ended. */
void wf_shm_theirs_free(weft_peer *p)
{
    while (p->theirs) {
        weft_rkey *k = p->theirs;
        p->theirs = k->next;
        unmap(k);
    }
    p->wanted = 0;
    p->told = false;
}
