/* A shared file pointer in memory: see pointer.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "io/pointer.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "comm/memory.h"
#include "group/comm.h"
#include "group/envelope.h"
#include "object/error.h"
#include "os/tuning.h"

/* Transports give out no less; the pages behind the first are not used. */
enum { BYTES = WF_SHARE_FROM, PAGE = 4096 };

void wf_pointer_init(struct wf_pointer *p, uint64_t value)
{
    *p = (struct wf_pointer){.words = &p->own};
    wf_store_relaxed(&p->own.value[0], value);
}

void wf_pointer_fini(struct wf_pointer *p)
{
    if (p->memory)
        wf_memory_settle(p->memory);
    free(p->memory);
    if (wf_pointer_is_mapped(p))
        munmap(p->words, BYTES);
    p->words = &p->own;
}

bool wf_pointer_add(struct wf_pointer *p, uint32_t age, uint64_t bytes,
                    uint64_t *old)
{
    wf_atomic_u64 *value = &p->words->value[age & 1];

    *old = wf_load_relaxed(value);
    do {
        if (*old > INT64_MAX || bytes > INT64_MAX - *old)
            return false;
    } while (!wf_cas_acq_rel(value, old, *old + bytes));
    return true;
}

int wf_pointer_report_overflow(void)
{
    return wf_error(MPI_ERR_ARG, "the shared file pointer would be beyond the "
                                 "largest file offset");
}

uint64_t wf_pointer_value(const struct wf_pointer *p, uint32_t age)
{
    return wf_load_relaxed(&p->words->value[age & 1]);
}

void wf_pointer_set(struct wf_pointer *p, uint32_t age, uint64_t value)
{
    wf_store_relaxed(&p->words->value[(age + 1) & 1], value);
    wf_store_release(&p->words->age, age + 1); /* pairs with has_age */
}

static struct wf_memory describe_memory(struct wf_comm *comm)
{
    return (struct wf_memory){.comm = comm,
                              .count = comm->size,
                              .space = WF_SPACE_FILE,
                              .bytes = BYTES,
                              .lazy_bytes = BYTES - PAGE};
}

const struct wf_memory_offer *wf_pointer_offer(struct wf_pointer *p,
                                               struct wf_comm *comm)
{
    struct wf_memory *m = p->memory;
    struct wf_pointer_words *words;

    if (m || !(m = malloc(sizeof *m)))
        return m && m->base ? &m->offer : NULL;
    p->memory = m;
    *m = describe_memory(comm);
    wf_memory_offer(m);
    words = m->base;
    if (!words)
        return NULL;
    *words = p->own;
    p->words = words;
    return &m->offer;
}

bool wf_pointer_accept(struct wf_pointer *p, struct wf_comm *comm,
                       const struct wf_memory_offer *offer)
{
    struct wf_memory m = describe_memory(comm);

    m.offer = *offer;
    wf_memory_accept(&m);
    if (m.base)
        p->words = m.base;
    return m.base != NULL;
}
