/* Performing a vertex while the builder makes it.
 *
 *   builder --vertex--> perform ---done--> -1: nothing is left to wait for
 *                          |
 *                          +--not at once--> from here on vertices are recorded
 *
 * DESIGN  In a small collective nearly everything can be done at once: a short
 * message leaves by copy, and an awaited message is here after a few polls.
 * Then a graph, requests, queues and completions cost more than the work. So a
 * run begins direct, also of a nonblocking call: each vertex is performed when
 * it is made. The first one that cannot be ends this; it and all later ones
 * become a graph as in any other run, whose dependencies on earlier ones are
 * fulfilled. One builder serves both, and no order of calls can deadlock:
 * nothing waits here for longer than a few polls. Builders make sends before
 * receives where neither depends on the other, so that a poll does not delay a
 * message.
 *
 * An error ends the direct part as well: what follows is recorded and run as
 * after the failure of any vertex (run.c).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/direct.h"

#include "coll/lengths.h"
#include "coll/run.h"
#include "coll/vertex.h"
#include "protocol/try.h"

static bool stop_direct(struct wf_sched *s)
{
    s->direct = false;
    return false;
}

static bool finish_vertex(struct wf_sched *s, int error)
{
    s->error = error;
    s->direct = !error;
    return true;
}

/* The same after a function that may have left the section: a progress thread
 * may have gone to sleep on what this run polls. */
static bool finish_call(struct wf_sched *s, int error)
{
    (void)finish_vertex(s, error);
    if (wf_unlikely(s->wf->api.on))
        s->direct = s->direct && wf_sched_may_be_direct(s);
    return true;
}

bool wf_direct_try_send(struct wf_sched *s, const void *buf, uint64_t count,
                    const struct wf_type *type, int dest)
{
    if (wf_unlikely(!wf_type_is_contiguous(type)) ||
        !wf_try_send(s->comm, wf_type_data(type, buf),
                     count * (uint64_t)type->size, dest, s->tag, WF_SPACE_COLL))
        return stop_direct(s);
    return true;
}

bool wf_direct_try_recv(struct wf_sched *s, void *buf, uint64_t count,
                    const struct wf_type *type, int source)
{
    uint64_t bytes = count * (uint64_t)type->size;
    struct wf_try_result got;
    int error;

    if (wf_unlikely(!wf_type_is_contiguous(type)) ||
        !wf_try_recv(s->comm, wf_type_data(type, buf), bytes, source, s->tag,
                     WF_SPACE_COLL, &got))
        return stop_direct(s);
    error = wf_error_class(got.error);
    if (wf_likely(!error))
        error = wf_sched_check_length(source, got.bytes, bytes);
    return finish_vertex(s, error);
}

bool wf_direct_try_reduce(struct wf_sched *s, struct wf_op *op, const void *in,
                      void *inout, uint64_t count, struct wf_type *type)
{
    return finish_call(s, wf_op_apply(s->wf, op, in, inout, count, type));
}

bool wf_direct_try_copy(struct wf_sched *s, struct wf_sched_block from,
                    struct wf_sched_block to)
{
    return finish_vertex(s, wf_sched_copy_now(from, to));
}

bool wf_direct_try_call(struct wf_sched *s, int (*fn)(void *), void *arg)
{
    return finish_call(s, fn(arg));
}
