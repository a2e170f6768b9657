/* Making real-time channels, and giving them back: see channel.h.
 *
 * Every member takes every step, also one that met an error: it says so in the
 * agreement that follows.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "comm/channel.h"

#include <stdlib.h>

#include "comm/agree.h"
#include "comm/channel_info.h"
#include "comm/engines.h"
#include "progress/progress.h"
#include "progress/wait.h"
#include "protocol/death.h"
#include "protocol/reserve.h"
#include "report/error.h"

/* The words of the agreement: one that is 0 where a member cannot, then each
 * number that must be the same in all members, and its complement. */
enum { ABLE, BYTES, NOT_BYTES, RATE, NOT_RATE, WORDS };

struct making {
    struct wf_comm *comm;
    struct wf_instance *engine;
    struct wf_reservation reservation;
    int reserved; /* members, in the order of ranks, to which all is there */
    int refused;  /* WEFT_E* of the member that has none; or 0 */
};

/* ---- agreeing ------------------------------------------------------------ */

/* Tell the others whether this member is able, and learn whether all are, and
 * want the same. */
static int agree_to_begin(struct wf_comm *parent,
                          const struct wf_channel_terms *t, bool *able)
{
    uint64_t w[WORDS] = {*able ? ~UINT64_C(0) : 0, t->bytes, ~t->bytes, t->rate,
                         ~t->rate};
    uint64_t input[WORDS];
    int rc = wf_agree_run(parent, w, input, WORDS);
    bool same = w[BYTES] == ~w[NOT_BYTES] && w[RATE] == ~w[NOT_RATE];

    if (rc == MPI_SUCCESS && !same)
        wf_channels_log_refusal(parent->wf,
                                "the members want different bytes or rates");
    else if (rc == MPI_SUCCESS && *able && !w[ABLE])
        wf_channels_log_refusal(parent->wf,
                                "another member could not open its engine");
    *able = w[ABLE] && same;
    return rc;
}

static int agree_to_end(struct wf_comm *parent, bool *able)
{
    uint64_t w[1] = {*able ? ~UINT64_C(0) : 0}, input[1];
    int rc = wf_agree_run(parent, w, input, 1);

    if (rc == MPI_SUCCESS && *able && !w[0])
        wf_channels_log_refusal(parent->wf, "another member could not reserve");
    *able = w[0] != 0;
    return rc;
}

/* ---- reserving ----------------------------------------------------------- */

/* Go on with the lanes to all members at once. Returns true when it is over:
 * all are there, or one will never be. */
static bool reserve_lanes(void *arg)
{
    struct making *m = arg;
    const struct wf_group *g = m->comm->peers;

    for (int i = m->reserved; i < g->size; i++) {
        int r =
            wf_reserve_lane(m->engine, wf_group_proc(g, i), &m->reservation);
        if (r == 0 && i == m->reserved)
            m->reserved++;
        if (r < 0 && r != WEFT_EAGAIN) {
            m->refused = r;
            return true;
        }
    }
    return m->reserved == g->size;
}

/* Reserve all that this member needs to send and to receive. Inside the section
 * of the channel's engine. */
static bool reserve_all(struct making *m)
{
    if (wf_reserve_memory(m->engine, &m->reservation) != 0) {
        wf_channels_log_refusal(m->engine, wf_error_last()->text);
        return false;
    }
    wf_progress_poll_until(m->engine, -1, reserve_lanes, m, 0);
    if (!m->refused)
        return true;
    wf_channels_log_refusal(m->engine, wf_error_last()->text);
    wf_unreserve_memory(m->engine, &m->reservation);
    return false;
}

/* The same, from inside the section of another engine. */
static bool reserve_from(struct wf_instance *wf, struct making *m)
{
    bool done;

    wf_engine_switch(wf, m->engine);
    done = reserve_all(m);
    wf_engine_switch(m->engine, wf);
    return done;
}

static void unreserve_from(struct wf_instance *wf, struct making *m)
{
    wf_engine_switch(wf, m->engine);
    wf_unreserve_memory(m->engine, &m->reservation);
    wf_engine_switch(m->engine, wf);
}

/* ---- the channel of a communicator --------------------------------------- */

static void free_channel(struct wf_comm *comm)
{
    struct wf_channel *c = comm->channel;

    wf_unreserve_memory(comm->wf, &c->reservation);
    wf_channels_give_back(comm->wf, 1u << c->number);
    free(c);
    comm->channel = NULL;
}

static void move_to_engine(struct wf_comm *comm, struct wf_instance *engine)
{
    comm->wf = engine;
    comm->losses_checked = 0; /* it has its own record of the dead */
    comm->endpoint_mask_at = 0;
}

static void install_channel(struct making *m, struct wf_channel *c)
{
    c->reservation = m->reservation;
    c->free = free_channel;
    m->comm->channel = c;
    move_to_engine(m->comm, m->engine);
    if (m->comm->local_comm)
        move_to_engine(m->comm->local_comm, m->engine);
}

/* Open the engine, then reserve, each with an agreement behind it. *able says
 * whether all members have. */
static int prepare_engine(struct wf_comm *parent, struct making *m,
                          const struct wf_channel_terms *t, unsigned number,
                          bool *able)
{
    int rc;

    if (*able && wf_channel_open(parent->wf, number) != 0) {
        wf_channels_log_refusal(parent->wf, wf_error_last()->text);
        *able = false;
    }
    rc = agree_to_begin(parent, t, able);
    if (rc != MPI_SUCCESS || !*able)
        return rc;
    m->engine = wf_engine(parent->wf, WF_ENGINES_MAX + number);
    bool mine = reserve_from(parent->wf, m);
    *able = mine;
    rc = agree_to_end(parent, able);
    if (mine && (rc != MPI_SUCCESS || !*able))
        unreserve_from(parent->wf, m);
    return rc;
}

int wf_channel_make(struct wf_comm *parent, struct wf_comm *comm,
                    const struct wf_channel_terms *t, int channel)
{
    struct wf_channel *c = calloc(1, sizeof *c);
    struct making m = {.comm = comm};
    bool able = c != NULL;
    int rc;

    m.reservation.bytes = t->bytes;
    m.reservation.messages = wf_reserve_depth(t->rate);
    m.reservation.members = (uint32_t)comm->peers->size;
    if (!c)
        wf_channels_log_refusal(parent->wf, "no memory");
    else
        c->number = (unsigned)channel;
    rc = prepare_engine(parent, &m, t, (unsigned)channel, &able);
    if (rc == MPI_SUCCESS && able) {
        install_channel(&m, c);
        return MPI_SUCCESS;
    }
    free(c);
    wf_channels_give_back(parent->wf, 1u << channel);
    if (rc == MPI_ERR_PROC_ABORTED)
        wf_comm_tell_unmade(comm); /* another member may have made it */
    return rc;
}
