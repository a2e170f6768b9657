/* Completing requests: wait, test, their multiple forms, status queries.
 *
 * MPI-5.0 s3.7.3, s3.7.5. A null or inactive handle counts as complete, with
 * an empty status. Functions that complete several requests report failures
 * as MPI_ERR_IN_STATUS and only then set MPI_ERROR fields.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "p2p/completion.h"

#include "core_api.h"
#include "object/error.h"
#include "object/status.h"
#include "object/statuses.h"
#include "os/tuning.h"
#include "p2p/requests.h"
#include "progress/engines.h"
#include "progress/progress.h"
#include "progress/wait.h"
#include "protocol/describe_request.h"
#include "protocol/fastpath.h"
#include "protocol/request.h"

/* Store the status of a done request and return its error. A generalized
 * request is asked by its query function, for which the section is left. */
static int read_status(struct wf_req *r, MPI_Status *status)
{
    MPI_Status scratch;
    int rc;

    if (r->type != WF_REQ_GENERALIZED) {
        wf_status_set(status, r->source, r->tag, r->bytes,
                      r->flags & WF_REQ_CANCELLED);
        return wf_error_class(wf_req_error(r));
    }
    if (status == MPI_STATUS_IGNORE)
        status = &scratch;
    wf_status_set(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, false);
    wf_cs_leave(&r->wf->api);
    rc = r->query(r, status);
    wf_cs_enter(&r->wf->api);
    return rc;
}

/* Store the status of a done request, return its error, and release it; a
 * persistent one becomes inactive. */
static int finish_request(MPI_Request *handle, MPI_Status *status)
{
    struct wf_req *r = wf_request_of(*handle);
    int error, freed;

    if (wf_request_is_inactive(r)) {
        wf_status_empty(status);
        return MPI_SUCCESS;
    }
    error = read_status(r, status);
    if (r->flags & WF_REQ_PERSISTENT) {
        r->flags &= ~(uint32_t)WF_REQ_ACTIVE;
        return error;
    }
    *handle = MPI_REQUEST_NULL;
    freed = wf_req_release(r);
    return freed ? freed : error;
}

static void await_request(MPI_Request handle)
{
    struct wf_req *r = wf_request_of(handle);

    if (!wf_request_is_inactive(r) && !wf_req_done(r))
        wf_req_await(r);
}

/* The requests for which a call waits or asks. */
struct wanted {
    const char *call; /* MPI function; NULL: the one that was called last */
    int count;
    const MPI_Request *requests;
    bool one; /* the function has no array of requests */
    bool any; /* one complete request is enough */
    uint32_t endpoints; /* those that can complete them */
};

static void describe_wait(const void *arg, struct wf_wait *w)
{
    const struct wanted *all = arg;
    const struct wf_req *first = NULL;

    for (int i = 0; i < all->count; i++) {
        if (wf_request_is_complete(all->requests[i]))
            continue;
        if (w->active++ == 0)
            first = wf_request_of(all->requests[i]);
    }
    if (first)
        wf_wait_describe_request(first, w);
    if (all->any && w->active > 1)
        w->operation = WF_STATE_REQUESTS;
    w->count = all->one ? 0 : (uint64_t)all->count;
    w->call = all->call;
}

/* Wait for the first of the remaining requests of MPI_Waitall. */
static void await_first(int count, const MPI_Request *requests)
{
    struct wanted all = {.count = count, .requests = requests};
    struct wf_wait_cause cause = {describe_wait, &all};

    if (!wf_request_is_complete(requests[0]))
        wf_req_await_with_cause(wf_request_of(requests[0]), &cause);
}

/* Poll once for those requests that are not complete. False: none of them has
 * been completed by that. */
static bool poll_requests(struct wf_instance *wf, const struct wanted *wanted)
{
    struct wf_wait_cause cause = {describe_wait, wanted};
    bool held = wf->held != 0;
    uint32_t mask = wf->held | wanted->endpoints;

    return mask && (wf_progress_poll_for_test(wf, mask, &cause) > 0 || held);
}

/* ---- one ----------------------------------------------------------------- */

int wf_mpi_wait(struct wf_instance *wf, MPI_Request *request,
                MPI_Status *status)
{
    int rc = MPI_SUCCESS;

    if (wf_req_take(request, status))
        return rc;
    WF_SECTION(engine, wf) {
        await_request(*request);
        rc = finish_request(request, status);
    }
    return rc;
}

int wf_mpi_test(struct wf_instance *wf, MPI_Request *request, int *flag,
                MPI_Status *status)
{
    int rc = MPI_SUCCESS;

    *flag = wf_req_take(request, status);
    if (*flag)
        return rc;
    WF_SECTION(engine, wf) {
        if (!wf_request_is_complete(*request))
            poll_requests(wf,
                          &(struct wanted){
                              "MPI_Test", 1, request, true,
                              .endpoints = wf_requests_endpoints(1, request)});
        *flag = wf_request_is_complete(*request);
        if (*flag)
            rc = finish_request(request, status);
    }
    return rc;
}

int wf_mpi_request_free(struct wf_instance *wf, MPI_Request *request)
{
    struct wf_req *r = wf_request_of(*request);

    if (!r)
        return wf_error(MPI_ERR_REQUEST, "the request is null");
    if (r->type == WF_REQ_PARTITIONED && r->flags & WF_REQ_ACTIVE)
        return wf_error_on(r->comm, MPI_ERR_REQUEST,
                           "the partitioned "
                           "operation is active: complete it with MPI_Wait "
                           "before it is freed");
    *request = MPI_REQUEST_NULL;
    if (wf->held)
        wf_progress_poll(wf, 0); /* no call is going to wait for it */
    return wf_req_release(r);
}

int wf_mpi_request_get_status(struct wf_instance *wf, struct wf_req *request,
                              int *flag, MPI_Status *status)
{
    MPI_Request handle = request ? (MPI_Request)request : MPI_REQUEST_NULL;

    poll_requests(
        wf, &(struct wanted){"MPI_Request_get_status", 1, &handle, true,
                             .endpoints = wf_requests_endpoints(1, &handle)});
    *flag = wf_request_is_complete(handle);
    if (!*flag)
        return MPI_SUCCESS;
    if (wf_request_is_inactive(request)) {
        wf_status_empty(status);
        return MPI_SUCCESS;
    }
    return read_status(request, status);
}

/* ---- all ----------------------------------------------------------------- */

/* Finish the requests that are complete, after one of them has failed. The
 * others are pending and stay with the user. */
static int finish_failed(int count, MPI_Request *requests, MPI_Status *statuses,
                         int first, int error)
{
    for (int i = 0; i < first; i++)
        wf_status_error_at(statuses, i, MPI_SUCCESS);
    wf_status_error_at(statuses, first, error);
    for (int i = first + 1; i < count; i++)
        wf_status_error_at(
            statuses, i,
            wf_request_is_complete(requests[i])
                ? finish_request(&requests[i], wf_status_at(statuses, i))
                : MPI_ERR_PENDING);
    return wf_error_in_status();
}

/* Finish a request by the fast path, if it is done and has nothing special
 * about it. */
static inline bool take_done(struct wf_instance *wf, MPI_Request *request,
                             MPI_Status *status)
{
    return WF_BRIEF && wf_cs_needs_lock(&wf->api)
               ? wf_req_take(request, status)
               : wf_fastpath_finish(request, status);
}

int wf_mpi_waitall(struct wf_instance *wf, int count,
                   MPI_Request array_of_requests[],
                   MPI_Status *array_of_statuses)
{
    int error = MPI_SUCCESS;

    for (int i = 0; i < count && !error; i++) {
        MPI_Request *request = &array_of_requests[i];
        MPI_Status *status = wf_status_at(array_of_statuses, i);
        /* thousands of them do not stay in a cache */
        if (count - i > WF_REQUESTS_AHEAD)
            __builtin_prefetch(array_of_requests[i + WF_REQUESTS_AHEAD], 1);
        if (wf_likely(take_done(wf, request, status)))
            continue;
        WF_SECTION(engine, wf) {
            await_first(count - i, request);
            error = finish_request(request, status);
            if (error)
                error = finish_failed(count, array_of_requests,
                                      array_of_statuses, i, error);
            else if (WF_BRIEF)
                i += wf_fastpath_finish_row(i + 1, count, array_of_requests,
                                            array_of_statuses);
        }
    }
    return error;
}

/* Returns the index of the first request from `first` on that is not complete;
 * count: there is none. */
static int find_pending(int first, int count, const MPI_Request *requests)
{
    while (first < count && wf_request_is_complete(requests[first]))
        first++;
    return first;
}

bool wf_requests_poll(struct wf_instance *wf, const char *call, int n,
                       const MPI_Request *requests)
{
    int i = find_pending(0, n, requests);

    if ((i < n || wf->held) &&
        poll_requests(wf, &(struct wanted){call, n, requests,
                                           .endpoints = wf_requests_endpoints(
                                               n - i, requests + i)}))
        i = find_pending(i, n, requests);
    return i == n;
}

int wf_mpi_testall(struct wf_instance *wf, int count,
                   MPI_Request array_of_requests[], int *flag,
                   MPI_Status *array_of_statuses)
{
    WF_SECTION(engine, wf)
        *flag = wf_requests_poll(wf, "MPI_Testall", count, array_of_requests);
    return *flag
               ? wf_mpi_waitall(wf, count, array_of_requests, array_of_statuses)
               : MPI_SUCCESS;
}

int wf_mpi_request_get_status_all(struct wf_instance *wf, int count,
                                  const MPI_Request array_of_requests[],
                                  int *flag, MPI_Status *array_of_statuses)
{
    int first = MPI_SUCCESS;

    *flag = wf_requests_poll(wf, "MPI_Request_get_status_all", count,
                              array_of_requests);
    for (int i = 0; *flag && i < count; i++) {
        struct wf_req *r = wf_request_of(array_of_requests[i]);
        MPI_Status *s = wf_status_at(array_of_statuses, i);
        int error = MPI_SUCCESS;
        if (wf_request_is_inactive(r))
            wf_status_empty(s);
        else
            error = read_status(r, s);
        if (error && !first)
            first = error;
    }
    return first;
}

/* ---- any ----------------------------------------------------------------- */

/* The requests of a call for which one complete request is enough. */
struct any {
    int count;
    const MPI_Request *requests;
    bool active; /* there is an active request */
    int found;  /* index of an active one that is done, or MPI_UNDEFINED */
    uint32_t endpoints; /* of the others before it */
};

/* Looks through the requests; all of them if `all`. True: one is done, or none
 * is active. */
static bool look_for_any(struct any *a, bool all)
{
    struct wf_requests_seen seen =
        wf_requests_look(a->count, a->requests, !all);
    bool found = seen.found < a->count;

    a->active = seen.pending || found;
    a->found = found ? seen.found : MPI_UNDEFINED;
    a->endpoints = seen.endpoints;
    return found || !seen.pending;
}

static bool find_any(void *arg)
{
    return look_for_any(arg, false);
}

static void wait_any(struct wf_instance *wf, struct any *a)
{
    struct wanted all = {
        .count = a->count, .requests = a->requests, .any = true};
    struct wf_wait_cause cause = {describe_wait, &all};

    if (!find_any(a))
        wf_progress_wait(wf, a->endpoints, find_any, a, &cause);
}

int wf_mpi_waitany(struct wf_instance *wf, int count,
                   MPI_Request array_of_requests[], int *indx,
                   MPI_Status *status)
{
    struct any a = {.count = count, .requests = array_of_requests};
    int rc = MPI_SUCCESS;

    WF_SECTION(engine, wf) {
        wait_any(wf, &a);
        *indx = a.found;
        if (a.found != MPI_UNDEFINED)
            rc = finish_request(&array_of_requests[a.found], status);
        else
            wf_status_empty(status);
    }
    return rc;
}

/* Find an active request that is done, and poll once if there is none. True: as
 * find_any. */
static bool poll_any(struct wf_instance *wf, const char *call, struct any *a)
{
    return find_any(a) ||
           (poll_requests(wf, &(struct wanted){call, a->count, a->requests,
                                               .any = true,
                                               .endpoints = a->endpoints}) &&
            find_any(a));
}

/* Poll once for those that are not done, though others are: a program that
 * keeps adding some that are done at once would never see these. True: as
 * find_any. */
static bool poll_some(struct wf_instance *wf, const char *call, struct any *a)
{
    bool before = look_for_any(a, true);

    return poll_requests(wf, &(struct wanted){call, a->count, a->requests,
                                              .any = true,
                                              .endpoints = a->endpoints})
               ? find_any(a)
               : before;
}

int wf_mpi_testany(struct wf_instance *wf, int count,
                   MPI_Request array_of_requests[], int *indx, int *flag,
                   MPI_Status *status)
{
    struct any a = {.count = count, .requests = array_of_requests};
    int rc = MPI_SUCCESS;

    WF_SECTION(engine, wf) {
        *flag = poll_any(wf, "MPI_Testany", &a);
        *indx = a.found;
        if (*flag && a.found != MPI_UNDEFINED)
            rc = finish_request(&array_of_requests[a.found], status);
        else if (*flag)
            wf_status_empty(status);
    }
    return rc;
}

int wf_mpi_request_get_status_any(struct wf_instance *wf, int count,
                                  const MPI_Request array_of_requests[],
                                  int *indx, int *flag, MPI_Status *status)
{
    struct any a = {.count = count, .requests = array_of_requests};

    *flag = poll_any(wf, "MPI_Request_get_status_any", &a);
    *indx = a.found;
    if (!*flag)
        return MPI_SUCCESS;
    if (a.found != MPI_UNDEFINED)
        return read_status(wf_request_of(array_of_requests[a.found]), status);
    wf_status_empty(status);
    return MPI_SUCCESS;
}

/* ---- some ---------------------------------------------------------------- */

/* Finish every active request that is done. Returns MPI_ERR_IN_STATUS if one of
 * them has failed. */
static int take_some(int count, MPI_Request *requests, int *outcount,
                     int *indices, MPI_Status *statuses)
{
    int failed = MPI_SUCCESS;

    *outcount = 0;
    for (int i = 0; i < count; i++) {
        struct wf_req *r = wf_request_of(requests[i]);
        int error, k = *outcount;
        if (wf_request_is_inactive(r) || !wf_req_done(r))
            continue;
        error = finish_request(&requests[i], wf_status_at(statuses, k));
        failed = wf_status_note_some(statuses, k, error, failed);
        indices[(*outcount)++] = i;
    }
    return failed ? wf_error_in_status() : MPI_SUCCESS;
}

int wf_mpi_waitsome(struct wf_instance *wf, int incount,
                    MPI_Request array_of_requests[], int *outcount,
                    int array_of_indices[], MPI_Status *array_of_statuses)
{
    struct any a = {.count = incount, .requests = array_of_requests};

    wait_any(wf, &a);
    if (a.found != MPI_UNDEFINED)
        return take_some(incount, array_of_requests, outcount, array_of_indices,
                         array_of_statuses);
    *outcount = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

int wf_mpi_testsome(struct wf_instance *wf, int incount,
                    MPI_Request array_of_requests[], int *outcount,
                    int array_of_indices[], MPI_Status *array_of_statuses)
{
    struct any a = {.count = incount, .requests = array_of_requests};

    poll_some(wf, "MPI_Testsome", &a);
    if (a.found != MPI_UNDEFINED)
        return take_some(incount, array_of_requests, outcount, array_of_indices,
                         array_of_statuses);
    *outcount = a.active ? 0 : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

int wf_mpi_request_get_status_some(struct wf_instance *wf, int incount,
                                   const MPI_Request array_of_requests[],
                                   int *outcount, int array_of_indices[],
                                   MPI_Status *array_of_statuses)
{
    struct any a = {.count = incount, .requests = array_of_requests};
    int first = MPI_SUCCESS;

    poll_some(wf, "MPI_Request_get_status_some", &a);
    *outcount = a.active ? 0 : MPI_UNDEFINED;
    for (int i = 0; a.found != MPI_UNDEFINED && i < incount; i++) {
        struct wf_req *r = wf_request_of(array_of_requests[i]);
        int error;
        if (wf_request_is_inactive(r) || !wf_req_done(r))
            continue;
        error = read_status(r, wf_status_at(array_of_statuses, *outcount));
        first = first ? first : error;
        array_of_indices[(*outcount)++] = i;
    }
    return first;
}
