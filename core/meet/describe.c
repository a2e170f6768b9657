/* A group, as its root describes it to the root of another one: see describe.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "meet/describe.h"

#include <stdlib.h>

#include "boot/auth_inside.h"
#include "boot/auth_key.h"
#include "coll/args.h"
#include "config/config.h"
#include "core_api.h"
#include "datatype/predefined.h"
#include "group/comm.h"
#include "meet/ports.h"
#include "object/error.h"
#include "object/error_class.h"
#include "progress/engines.h"
#include "protocol/parting.h"
#include "route/card.h"
#include "route/jobs.h"

enum { HEAD = 12, MEMBER = 16, NAME = 4, BYTES_MAX = 1 << 27 };
static const unsigned char name[NAME] = "WFG1";

/* ---- describing ---------------------------------------------------------- */

/* Describes this process. NULL: no memory. */
static unsigned char *describe_self(struct wf_instance *wf, int32_t *n)
{
    struct wf_instance *home = wf_home(wf);
    const struct wf_rank *rank = home->rank;
    unsigned char *card = NULL, *bytes;
    size_t len = 0;
    int r;

    wf_engine_switch(wf, home);
    r = wf_card_make(home, &card, &len);
    wf_engine_switch(home, wf);
    bytes = r == 0 ? malloc(MEMBER + len) : NULL;
    *n = bytes ? (int32_t)(MEMBER + len) : 0;
    if (bytes) {
        wf_auth_put_u32(bytes, rank->job.tag);
        wf_auth_put_u32(bytes + 4, rank->id);
        wf_auth_put_u32(bytes + 8, rank->job.size);
        wf_auth_put_u32(bytes + 12, (uint32_t)len);
        memcpy(bytes + MEMBER, card, len);
    }
    free(card);
    return bytes;
}

struct gathering {
    int32_t *lengths, *places; /* of the members' bytes, behind the head */
    unsigned char *bytes;
    size_t n;
};

/* Makes room for the members. False: one of them, or this process, lacks
 * memory. */
static bool prepare_room(const struct wf_comm *comm, int root,
                         struct gathering *g)
{
    int64_t sum = 0;

    for (int i = 0; i < comm->size; i++) {
        if (g->lengths[i] <= 0 || sum + g->lengths[i] > BYTES_MAX)
            return false;
        g->places[i] = (int32_t)sum;
        sum += g->lengths[i];
    }
    g->n = HEAD + (size_t)sum;
    g->bytes = malloc(g->n);
    if (!g->bytes)
        return false;
    memcpy(g->bytes, name, NAME);
    wf_auth_put_u32(g->bytes + 4, (uint32_t)root);
    wf_auth_put_u32(g->bytes + 8, (uint32_t)comm->size);
    return true;
}

/* Gathers the bytes of all members at the root, which tells them first whether
 * it can take them. */
static int gather_members(struct wf_comm *comm, int root,
                          const unsigned char *mine, int32_t n,
                          struct gathering *g)
{
    struct wf_instance *wf = comm->wf;
    struct wf_type *word = wf_type_of(MPI_INT32_T), *byte = wf_coll_byte();
    bool is_root = comm->rank == root;
    int32_t good = 0;
    int rc = wf_mpi_gather(wf, &n, 1, word, g->lengths, 1, word, root, comm);

    if (rc == MPI_SUCCESS && is_root)
        good = g->lengths && prepare_room(comm, root, g);
    if (rc == MPI_SUCCESS)
        rc = wf_mpi_bcast(wf, &good, 1, word, root, comm);
    if (rc == MPI_SUCCESS && !good)
        rc = wf_error(MPI_ERR_NO_MEM, "no memory for the addresses of a group");
    if (rc != MPI_SUCCESS)
        return rc;
    return wf_mpi_gatherv(wf, mine, n, byte, is_root ? g->bytes + HEAD : NULL,
                          (struct wf_ints){g->lengths, 4},
                          (struct wf_ints){g->places, 4}, byte, root, comm);
}

int wf_describe_group(struct wf_comm *comm, int root, unsigned char **bytes,
                      size_t *n)
{
    struct gathering g = {0};
    int32_t mine_n = 0;
    unsigned char *mine = describe_self(comm->wf, &mine_n);
    int rc;

    g.lengths = calloc((size_t)comm->size * 2, sizeof *g.lengths);
    if (!g.lengths) {
        free(mine);
        return wf_error(MPI_ERR_NO_MEM, "no memory for a group");
    }
    g.places = g.lengths + comm->size;
    rc = gather_members(comm, root, mine, mine_n, &g);
    free(mine);
    free(g.lengths);
    if (rc != MPI_SUCCESS) {
        free(g.bytes);
        return rc;
    }
    *bytes = g.bytes;
    *n = g.n;
    return MPI_SUCCESS;
}

/* ---- adopting ------------------------------------------------------------ */

struct reader {
    const unsigned char *at, *end;
};

struct member {
    uint32_t tag, index, size, card_n;
    const unsigned char *card;
};

/* False: that is no description of a member. */
static bool read_member(struct reader *r, struct member *m)
{
    if (r->end - r->at < MEMBER)
        return false;
    m->tag = wf_auth_get_u32(r->at);
    m->index = wf_auth_get_u32(r->at + 4);
    m->size = wf_auth_get_u32(r->at + 8);
    m->card_n = wf_auth_get_u32(r->at + 12);
    m->card = r->at + MEMBER;
    if (m->card_n > (size_t)(r->end - m->card) || m->index >= m->size)
        return false;
    r->at = m->card + m->card_n;
    return true;
}

/* The job of the last member, and the key by which it is called; or NULL. */
struct keys {
    uint32_t tag;
    struct wf_auth_key *key;
};

/* Makes a member known. A status; keys remembers that of the last job. */
static int adopt_member(struct wf_instance *home, const struct member *m,
                        const unsigned char *key, struct keys *last,
                        uint32_t *number)
{
    struct wf_auth_key *made = NULL;
    struct wf_job *job;
    int r = 0;

    if (m->tag == home->rank->job.tag && m->size == home->rank->job.size) {
        *number = m->index; /* groups of one job may meet, too */
        return 0;
    }
    if (!last->key || last->tag != m->tag)
        r = wf_auth_key_create(key, WF_TOKEN, "pair of jobs", &made);
    if (r != 0)
        return wf_fail(r, "no memory for a key");
    r = wf_jobs_meet(home, m->tag, m->size, made, &job);
    if (r != 0)
        return r;
    if (made)
        *last = (struct keys){m->tag, made};
    *number = job->first + m->index;
    return wf_jobs_note_card(home, *number, last->key, m->card, m->card_n);
}

static int adopt_members(struct wf_instance *home, struct reader *r,
                         const unsigned char *key, uint32_t *numbers,
                         uint32_t n, uint32_t *known)
{
    struct keys last = {0};

    for (*known = 0; *known < n; ++*known) {
        struct member m;
        int status;
        if (!read_member(r, &m))
            return wf_fail(WEFT_EPROTO, "the other root has sent nonsense");
        status = adopt_member(home, &m, key, &last, &numbers[*known]);
        if (status != 0)
            return status;
    }
    return 0;
}

void wf_describe_forget(struct wf_instance *home, const uint32_t *numbers,
                        int n)
{
    struct wf_parting p = {home, numbers, n,
                           wf_now(home) + home->rank->options->close_timeout,
                           wf_meet_drive};

    wf_parting_leave(&p);
    wf_jobs_prune(home);
}

static uint32_t *copy_numbers(const uint32_t *numbers, uint32_t n)
{
    uint32_t *copy = malloc(n * sizeof *copy);

    if (copy)
        memcpy(copy, numbers, n * sizeof *copy);
    return copy;
}

int wf_describe_adopt(struct wf_instance *home, const void *bytes, size_t n,
                      const unsigned char *key, struct wf_met_group *out)
{
    struct reader r = {bytes, (const unsigned char *)bytes + n};
    uint32_t count = n < HEAD ? 0 : wf_auth_get_u32(r.at + 8), known = 0;
    uint32_t root = n < HEAD ? 0 : wf_auth_get_u32(r.at + 4), *procs;
    int status;

    *out = (struct wf_met_group){0};
    if (n < HEAD || memcmp(r.at, name, NAME) != 0 || count == 0 ||
        count > (n - HEAD) / MEMBER || root >= count)
        return wf_error(MPI_ERR_PORT, "the other root has sent nonsense");
    r.at += HEAD;
    procs = malloc(count * sizeof *procs);
    if (!procs)
        return wf_error(MPI_ERR_NO_MEM, "no memory for the remote group");
    status = adopt_members(home, &r, key, procs, count, &known);
    out->numbers = status == 0 ? copy_numbers(procs, count) : NULL;
    if (out->numbers &&
        !(out->group = wf_group_create(home, (int)count, procs)))
        procs = NULL; /* it was taken over */
    if (out->group) {
        out->root = (int)root;
        wf_group_count_comm(out->group, 1);
        return MPI_SUCCESS;
    }
    if (procs)
        wf_describe_forget(home, procs, (int)known);
    free(procs);
    free(out->numbers);
    return status == 0 ? wf_error(MPI_ERR_NO_MEM, "no memory for a group")
                       : wf_error_class(status);
}

void wf_met_group_drop(struct wf_instance *home, struct wf_met_group *m)
{
    int n;

    if (!m->group)
        return;
    n = m->group->size;
    wf_group_count_comm(m->group, -1);
    wf_group_put(m->group);
    wf_describe_forget(home, m->numbers, n);
    free(m->numbers);
    *m = (struct wf_met_group){0};
}
