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
#include "group/comm.h"
#include "meet/ports.h"
#include "object/error.h"
#include "object/error_class.h"
#include "object/status.h"
#include "progress/engines.h"
#include "protocol/death.h"
#include "protocol/failure.h"
#include "protocol/parting.h"
#include "protocol/receive.h"
#include "protocol/request.h"
#include "protocol/send.h"
#include "report/error.h"
#include "route/card.h"
#include "route/jobs.h"

enum { HEAD = 12, MEMBER = 16, NAME = 4, BYTES_MAX = 1 << 27 };
enum { MEMBER_MAX = MEMBER + WF_CARD_MAX };
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

/* The description of a group in the making. */
struct gathering {
    unsigned char *bytes;
    size_t n, room;
};

/* Appends bytes. False: no memory, or they are too many. */
static bool append_bytes(struct gathering *g, const void *bytes, size_t n)
{
    unsigned char *more;

    if (n > g->room - g->n) {
        size_t room = 2 * g->room + n;
        more = room < BYTES_MAX ? realloc(g->bytes, room) : NULL;
        if (!more)
            return false;
        g->bytes = more;
        g->room = room;
    }
    memcpy(g->bytes + g->n, bytes, n);
    g->n += n;
    return true;
}

/* wf_req.lost: the root will not have all descriptions then. */
static bool is_member_lost(const struct wf_req *r)
{
    return wf_comm_is_dead(r->context);
}

/* Waits for a message, whose start returned a status. */
static int await_message(struct wf_comm *comm, int started, struct wf_req *r,
                         MPI_Status *status)
{
    return wf_error_class(
        started ? started
                : wf_wait_unless_lost(r, is_member_lost, comm, status));
}

/* Sends the description of this process to the root, or no bytes if there is no
 * memory for it. */
static int send_self(struct wf_comm *comm, int root, int tag)
{
    struct wf_req *r = NULL;
    int32_t n;
    unsigned char *mine = describe_self(comm->wf, &n);
    int rc = wf_isend(comm, mine, (uint64_t)n, wf_coll_byte(), root, tag,
                      WF_SPACE_NBC, WF_SEND_STANDARD, &r);

    rc = await_message(comm, rc, r, MPI_STATUS_IGNORE);
    if (rc == MPI_SUCCESS && !mine)
        rc = wf_error(MPI_ERR_NO_MEM, "no memory for the own address");
    free(mine);
    return rc;
}

/* Takes the description of a member. */
static int take_member(struct wf_comm *comm, int from, int tag,
                       struct gathering *g)
{
    unsigned char one[MEMBER_MAX];
    struct wf_req *r = NULL;
    MPI_Status status;
    int rc = wf_irecv(comm, one, sizeof one, wf_coll_byte(), from, tag,
                      WF_SPACE_NBC, &r);
    uint64_t n;

    rc = await_message(comm, rc, r, &status);
    if (rc != MPI_SUCCESS)
        return rc;
    n = wf_status_bytes(&status);
    if (n == 0)
        return wf_error(MPI_ERR_NO_MEM, "rank %d has no memory for its address",
                        from);
    return append_bytes(g, one, n)
               ? MPI_SUCCESS
               : wf_error(MPI_ERR_NO_MEM, "no memory for the addresses of a "
                                          "group");
}

static int append_self(struct wf_instance *wf, struct gathering *g)
{
    int32_t n;
    unsigned char *mine = describe_self(wf, &n);
    bool good = mine && append_bytes(g, mine, (size_t)n);

    free(mine);
    return good ? MPI_SUCCESS
                : wf_error(MPI_ERR_NO_MEM, "no memory for the own address");
}

/* Takes the descriptions of all members, also after an error: each of them
 * sends one. */
static int gather_members(struct wf_comm *comm, int tag, struct gathering *g)
{
    unsigned char head[HEAD];
    struct wf_error_record cause = {0};
    int first, rc;

    memcpy(head, name, NAME);
    wf_auth_put_u32(head + 4, (uint32_t)comm->rank);
    wf_auth_put_u32(head + 8, (uint32_t)comm->size);
    first = append_bytes(g, head, HEAD)
                ? MPI_SUCCESS
                : wf_error(MPI_ERR_NO_MEM, "no memory for a group");
    for (int i = 0; i < comm->size; i++) {
        if (first != MPI_SUCCESS && !cause.text[0])
            cause = *wf_error_last();
        rc = i == comm->rank ? append_self(comm->wf, g)
                             : take_member(comm, i, tag, g);
        first = first != MPI_SUCCESS ? first : rc;
    }
    return cause.text[0] ? wf_error(first, "%s", cause.text) : first;
}

int wf_describe_group(struct wf_comm *comm, int root, unsigned char **bytes,
                      size_t *n)
{
    struct gathering g = {0};
    int tag = wf_comm_draw_tag(comm), rc;

    if (comm->rank != root)
        return send_self(comm, root, tag);
    rc = gather_members(comm, tag, &g);
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
                        int n, bool abrupt)
{
    struct wf_parting p = {.wf = home,
                           .numbers = numbers,
                           .n = n,
                           .deadline = wf_now(home) +
                                       home->rank->options->close_timeout,
                           .abrupt = abrupt,
                           .wait = wf_meet_drive};

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
    if (!procs || !wf_deaths_reserve(home, count)) {
        free(procs);
        return wf_error(MPI_ERR_NO_MEM, "no memory for the remote group");
    }
    status = adopt_members(home, &r, key, procs, count, &known);
    out->numbers = status == 0 ? copy_numbers(procs, count) : NULL;
    if (out->numbers &&
        !(out->group = wf_group_create(home, (int)count, procs)))
        procs = NULL; /* it was taken over */
    if (out->group) {
        out->root = (int)root;
        wf_group_count_comm(out->group, 1);
        for (uint32_t i = 0; i < count; i++)
            wf_deaths_recall(home, out->numbers[i]);
        return MPI_SUCCESS;
    }
    if (procs || out->numbers)
        wf_describe_forget(home, procs ? procs : out->numbers, (int)known,
                           true);
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
    wf_describe_forget(home, m->numbers, n, true);
    free(m->numbers);
    *m = (struct wf_met_group){0};
}
