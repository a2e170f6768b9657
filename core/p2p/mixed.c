/* Requests of several engines in one call: see engines.h.
 *
 * Each function goes from one engine to the next and asks the function for one
 * engine there, with one request. To wait for all is to wait for one after the
 * other: who waits in an engine looks after the others. To wait for any, the
 * thread waits in the engine of one of them, and stands among the waiters of the
 * others as a *caller*, whom an errand wakes.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "core_api.h"
#include "engines.h"
#include "p2p/statuses.h"
#include "progress/wait.h"
#include "protocol/request.h"

static struct wf_instance *engine_of(struct wf_instance *wf, MPI_Request handle)
{
    struct wf_req *r = wf_req_of(handle);

    return r ? r->wf : wf;
}

/* The engine that *wf then is, unless they are of several. */
static bool several(struct wf_instance **wf, int n, const MPI_Request *requests)
{
    struct wf_instance *one = NULL;

    for (int i = 0; i < n; i++) {
        struct wf_req *r = wf_req_of(requests[i]);
        if (r && one && r->wf != one)
            return true;
        if (r)
            one = r->wf;
    }
    if (one)
        *wf = one;
    return false;
}

/* ---- one of them, inside its engine ---------------------------------------- */

static bool ready(struct wf_instance *wf, MPI_Request handle)
{
    struct wf_instance *e = engine_of(wf, handle);
    bool yes = false;

    WF_SECTION(api, e)
        yes = wf_requests_ready(e, NULL, 1, &handle);
    return yes;
}

static int wait_one(struct wf_instance *wf, MPI_Request *request,
                    MPI_Status *status)
{
    struct wf_instance *e = engine_of(wf, *request);
    int rc;

    wf_enter_call(e);
    rc = wf_mpi_wait(e, request, status);
    wf_leave_call(e);
    return rc;
}

/* *indx: 0 or MPI_UNDEFINED, as for an array of one. */
static int test_one(struct wf_instance *wf, MPI_Request *request, int *indx,
                    int *flag, MPI_Status *status)
{
    struct wf_instance *e = engine_of(wf, *request);
    int rc;

    wf_enter_call(e);
    rc = wf_mpi_testany(e, 1, request, indx, flag, status);
    wf_leave_call(e);
    return rc;
}

/* The same, and the request stays. */
static int look_at_one(struct wf_instance *wf, MPI_Request request, int *indx,
                       int *flag, MPI_Status *status)
{
    struct wf_instance *e = engine_of(wf, request);
    int rc = MPI_SUCCESS;

    WF_SECTION(api, e)
        rc = wf_mpi_request_get_status_any(e, 1, &request, indx, flag, status);
    return rc;
}

/* ---- all -------------------------------------------------------------------- */

/* As in p2p/completion.c: what is not done stays with the user. */
static int waitall_failed(struct wf_instance *wf, int count,
                          MPI_Request *requests, MPI_Status *statuses,
                          int first, int error)
{
    for (int i = 0; i < first; i++)
        wf_status_error_at(statuses, i, MPI_SUCCESS);
    wf_status_error_at(statuses, first, error);
    for (int i = first + 1; i < count; i++) {
        error = MPI_ERR_PENDING;
        if (ready(wf, requests[i]))
            error = wait_one(wf, &requests[i], wf_status_at(statuses, i));
        wf_status_error_at(statuses, i, error);
    }
    return wf_error_in_status();
}

static int waitall(struct wf_instance *wf, int count, MPI_Request *requests,
                   MPI_Status *statuses)
{
    for (int i = 0; i < count; i++) {
        int error = wait_one(wf, &requests[i], wf_status_at(statuses, i));
        if (error)
            return waitall_failed(wf, count, requests, statuses, i, error);
    }
    return MPI_SUCCESS;
}

static bool all_ready(struct wf_instance *wf, int count,
                      const MPI_Request *requests)
{
    for (int i = 0; i < count; i++)
        if (!ready(wf, requests[i]))
            return false;
    return true;
}

static int testall(struct wf_instance *wf, int count, MPI_Request *requests,
                   int *flag, MPI_Status *statuses)
{
    *flag = all_ready(wf, count, requests);
    return *flag ? waitall(wf, count, requests, statuses) : MPI_SUCCESS;
}

static int get_status_all(struct wf_instance *wf, int count,
                          const MPI_Request *requests, int *flag,
                          MPI_Status *statuses)
{
    int first = MPI_SUCCESS, indx, one;

    *flag = all_ready(wf, count, requests);
    for (int i = 0; *flag && i < count; i++) {
        int error = look_at_one(wf, requests[i], &indx, &one,
                                wf_status_at(statuses, i));
        first = first ? first : error;
    }
    return first;
}

static int startall(struct wf_instance *wf, int count, MPI_Request *requests)
{
    int rc = MPI_SUCCESS;

    for (int i = 0; i < count && rc == MPI_SUCCESS; i++) {
        struct wf_instance *e = engine_of(wf, requests[i]);
        WF_SECTION(api, e)
            rc = wf_mpi_startall(e, 1, &requests[i]);
    }
    return rc;
}

/* ---- any -------------------------------------------------------------------- */

typedef int (*try_one)(struct wf_instance *, MPI_Request *, int *, int *,
                       MPI_Status *);

static int look(struct wf_instance *wf, MPI_Request *request, int *indx,
                int *flag, MPI_Status *status)
{
    return look_at_one(wf, *request, indx, flag, status);
}

struct found {
    int indx, flag; /* flag also where none is active */
};

/* The first that is done. */
static int try_any(struct wf_instance *wf, int count, MPI_Request *requests,
                   struct found *found, MPI_Status *status, try_one try)
{
    bool active = false;

    for (int i = 0; i < count; i++) {
        int one, rc = try(wf, &requests[i], &one, &found->flag, status);
        if (one != MPI_UNDEFINED && found->flag) {
            found->indx = i;
            return rc;
        }
        active |= !found->flag;
    }
    *found = (struct found){MPI_UNDEFINED, !active};
    if (found->flag)
        wf_status_empty(status);
    return MPI_SUCCESS;
}

static int testany(struct wf_instance *wf, int count, MPI_Request *requests,
                   int *indx, int *flag, MPI_Status *status)
{
    struct found found;
    int rc = try_any(wf, count, requests, &found, status, test_one);

    *indx = found.indx;
    *flag = found.flag;
    return rc;
}

static int get_status_any(struct wf_instance *wf, int count,
                          const MPI_Request *requests, int *indx, int *flag,
                          MPI_Status *status)
{
    struct found found;
    int rc = try_any(wf, count, (MPI_Request *)requests, &found, status, look);

    *indx = found.indx;
    *flag = found.flag;
    return rc;
}

/* Those that were active when the wait began. Only they count, and what they
 * are is asked inside their engine; whether they are done, anywhere. */
struct active {
    int n;
    struct wf_req **requests;
};

static bool any_done(void *arg)
{
    struct active *a = arg;

    for (int i = 0; i < a->n; i++)
        if (wf_req_done(a->requests[i]))
            return true;
    return false;
}

/* A thread that waits in `home`, among the waiters of another engine. */
struct caller {
    struct wf_waiter waiter;
    struct wf_errand errand;
    struct wf_instance *home;
};

static void look_again(struct wf_errand *e)
{
    wf_progress_notify(wf_container(e, struct caller, errand)->home);
}

static void call(struct wf_waiter *w)
{
    struct caller *c = wf_container(w, struct caller, waiter);

    wf_errand_post(c->home, &c->errand);
}

static void join(struct caller *c, struct wf_instance *other,
                 struct wf_instance *home, struct active *a)
{
    *c = (struct caller){.waiter = {.done = any_done, .arg = a, .call = call},
                         .errand = {.run = look_again},
                         .home = home};
    WF_SECTION(api, other)
        wf_list_append(&other->progress->waiters, &c->waiter.link);
}

static void leave(struct caller *c, struct wf_instance *other)
{
    struct wf_instance *home = c->home;

    WF_SECTION(api, other)
        wf_list_remove(&c->waiter.link);
    WF_SECTION(api, home)
        wf_errand_cancel(home, &c->errand);
}

/* Until one of them is done. */
/* The requests are of other engines, whose sections are not held. */
static void describe(const void *arg, struct wf_wait *w)
{
    w->operation = WF_STATE_REQUESTS;
    w->active = w->count = (uint64_t)((const struct active *)arg)->n;
}

static void wait_active(struct active *a)
{
    struct wf_wait_cause cause = {describe, a};
    struct wf_instance *home = a->requests[0]->wf;
    struct wf_engines *all = wf_engines(home);
    struct caller callers[WF_ENGINES_MAX];
    bool joined[WF_ENGINES_MAX] = {false};

    for (int i = 0; i < a->n; i++) {
        struct wf_instance *e = a->requests[i]->wf;
        if (e == home || joined[e->number])
            continue;
        joined[e->number] = true;
        join(&callers[e->number], e, home, a);
    }
    WF_SECTION(api, home)
        wf_progress_wait(home, UINT32_MAX, any_done, a, &cause);
    for (unsigned i = 0; i < all->count; i++)
        if (joined[i])
            leave(&callers[i], all->all[i]);
}

static bool is_active(struct wf_req *r)
{
    bool yes = false;

    WF_SECTION(api, r->wf)
        yes = !(r->flags & WF_REQ_PERSISTENT) || r->flags & WF_REQ_ACTIVE;
    return yes;
}

/* false: no memory. */
static bool await_any(int count, MPI_Request *requests)
{
    struct active a = {.requests = malloc((size_t)count * sizeof *a.requests)};

    if (!a.requests)
        return false;
    for (int i = 0; i < count; i++) {
        struct wf_req *r = wf_req_of(requests[i]);
        if (r && is_active(r))
            a.requests[a.n++] = r;
    }
    wait_active(&a);
    free(a.requests);
    return true;
}

enum { ROUNDS = 200 /* through all requests, before the thread waits in one */ };

static int waitany(struct wf_instance *wf, int count, MPI_Request *requests,
                   int *indx, MPI_Status *status)
{
    int rc, flag, rounds = 0;

    do {
        rc = testany(wf, count, requests, indx, &flag, status);
        if (!flag && ++rounds > ROUNDS / count + 1)
            await_any(count, requests); /* without memory: go on looking */
    } while (!flag);
    return rc;
}

/* ---- some ------------------------------------------------------------------- */

/* As in p2p/completion.c. */
static int take_some(struct wf_instance *wf, int count, MPI_Request *requests,
                     int *outcount, int *indices, MPI_Status *statuses)
{
    int failed = MPI_SUCCESS, one, flag;
    bool active = false;

    *outcount = 0;
    for (int i = 0; i < count; i++) {
        int k = *outcount;
        int error = test_one(wf, &requests[i], &one, &flag,
                             wf_status_at(statuses, k));
        active |= !flag;
        if (!flag || one == MPI_UNDEFINED)
            continue;
        failed = wf_status_of_some(statuses, k, error, failed);
        indices[(*outcount)++] = i;
    }
    if (*outcount == 0 && !active)
        *outcount = MPI_UNDEFINED;
    return failed ? wf_error_in_status() : MPI_SUCCESS;
}

static int waitsome(struct wf_instance *wf, int count, MPI_Request *requests,
                    int *outcount, int *indices, MPI_Status *statuses)
{
    int rc, rounds = 0;

    do {
        rc = take_some(wf, count, requests, outcount, indices, statuses);
        if (*outcount == 0 && ++rounds > ROUNDS / count + 1)
            await_any(count, requests);
    } while (*outcount == 0);
    return rc;
}

static int get_status_some(struct wf_instance *wf, int count,
                           const MPI_Request *requests, int *outcount,
                           int *indices, MPI_Status *statuses)
{
    int first = MPI_SUCCESS, one, flag;
    bool active = false;

    *outcount = 0;
    for (int i = 0; i < count; i++) {
        int error = look_at_one(wf, requests[i], &one, &flag,
                                wf_status_at(statuses, *outcount));
        active |= !flag || one != MPI_UNDEFINED;
        if (!flag || one == MPI_UNDEFINED)
            continue;
        first = first ? first : error;
        indices[(*outcount)++] = i;
    }
    if (!active)
        *outcount = MPI_UNDEFINED;
    return first;
}

const struct wf_engines_ops wf_engines_ops = {
    .poll = wf_other_engines_poll,
    .sleep = wf_other_engines_sleep,
    .errands = wf_errands_run,
    .post = wf_errands_put,
    .free = wf_engines_free,
    .several = several,
    .waitall = waitall,
    .waitany = waitany,
    .waitsome = waitsome,
    .testall = testall,
    .testany = testany,
    .testsome = take_some,
    .startall = startall,
    .request_get_status_all = get_status_all,
    .request_get_status_any = get_status_any,
    .request_get_status_some = get_status_some};
