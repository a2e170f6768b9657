/* The counter of a shared file pointer, and the messages to its keeper.
 *
 *   word     what         c             d
 *   REQUEST | age         bytes to add  number of the request
 *   ANSWER                old value     number
 *   REFUSAL               error class   number
 *
 * A message may come before the keeper has the file: the table of the engine
 * keeps it. It was made before the members agreed on the communicator, so that
 * no message finds none.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "io/shared.h"

#include <stdlib.h>

#include "core_api.h"
#include "coll/args.h"
#include "group/endpoint_mask.h"
#include "io/file.h"
#include "io/wait.h"
#include "object/error.h"
#include "process/instance.h"
#include "progress/progress.h"
#include "protocol/active.h"
#include "protocol/comm_route.h"
#include "protocol/failure.h"
#include "protocol/location.h"

enum { KEEPER = 0 };
static const uint32_t REQUEST = 0, ANSWER = 1u << 30, REFUSAL = 2u << 30;
#define KIND_MASK (3u << 30)

/* A message that the keeper cannot answer yet. */
struct kept {
    struct wf_list link;
    struct weft_loc *from;
    struct wf_active_head head;
};

/* A request of this member that is not answered. */
struct asked {
    struct wf_list link;
    uint64_t number, value;
    int error;
    bool over;
};

/* The files of an engine. */
struct table {
    struct wf_active_handler handler;
    struct wf_instance *wf;
    struct wf_list files; /* struct wf_shared */
    struct wf_list early; /* struct kept: of files that it does not have yet */
};

struct wf_shared {
    struct wf_file *file;
    struct table *table;
    struct wf_list link;     /* in the table */
    struct wf_list kept;     /* struct kept */
    struct wf_list asked;    /* struct asked */
    uint64_t value;          /* in the keeper */
    struct weft_loc *keeper; /* that was asked last */
    uint64_t last_number;
    uint32_t age;
    bool attends; /* the progress thread serves the other members */
};

static struct table *table_of(struct wf_active_handler *h)
{
    return wf_container(h, struct table, handler);
}

static bool is_keeper(const struct wf_shared *s)
{
    return s->file->comm->rank == KEEPER;
}

/* ---- the keeper ---------------------------------------------------------- */

static bool add_bytes(struct wf_shared *s, uint64_t bytes, uint64_t *old)
{
    if (bytes > INT64_MAX - s->value)
        return false;
    *old = s->value;
    s->value += bytes;
    return true;
}

/* The way of the file's messages; where a route gives none that reaches, that
 * of other messages. */
static struct wf_active_way way_to(struct wf_shared *s, struct weft_loc *loc)
{
    struct wf_active_way way = {.loc = loc, .space = WF_SPACE_FILE};

    (void)wf_comm_route_choose_lane(s->file->comm, WF_SPACE_FILE, loc,
                                    &way.lane);
    return way;
}

static int report_overflow(void)
{
    return wf_error(MPI_ERR_ARG, "the shared file pointer would be beyond the "
                                 "largest file offset");
}

/* Sends what a request gets: an ANSWER with the old value, or a REFUSAL with an
 * error class. */
static void send_reply(struct wf_active_way to, const struct wf_active_head *h,
                       uint32_t what, uint64_t c)
{
    struct wf_active_head back = {.context = h->context,
                                  .source = h->target,
                                  .target = h->source,
                                  .word = what,
                                  .c = c,
                                  .d = h->d};

    wf_active_send_short(to, &back, NULL, 0);
}

static void serve_request(struct wf_shared *s, struct weft_loc *from,
                          const struct wf_active_head *h)
{
    struct wf_active_way back = way_to(s, from);
    uint64_t old;

    if (add_bytes(s, h->c, &old))
        send_reply(back, h, ANSWER, old);
    else
        send_reply(back, h, REFUSAL, MPI_ERR_ARG);
    if (!s->attends)
        s->attends = wf_file_attend(s->file->wf);
}

/* Whether a request is of an age that the keeper has not reached. */
static bool is_too_new(const struct wf_shared *s,
                       const struct wf_active_head *h)
{
    return ((h->word - s->age) & ~KIND_MASK) - 1 < ~KIND_MASK / 2;
}

/* Keeps a message. Without memory it is refused, by the lane of other messages:
 * its file may not be open here. */
static void keep_message(struct wf_list *list, struct weft_loc *from,
                         const struct wf_active_head *h)
{
    struct kept *k = malloc(sizeof *k);

    if (!k) {
        send_reply((struct wf_active_way){from, WF_LANE_ORDER, WF_SPACE_FILE},
                   h, REFUSAL, MPI_ERR_NO_MEM);
        return;
    }
    k->from = from;
    k->head = *h;
    wf_list_append(list, &k->link);
}

static void serve_message(struct wf_shared *s, struct weft_loc *from,
                          const struct wf_active_head *h)
{
    if (is_too_new(s, h))
        keep_message(&s->kept, from, h);
    else
        serve_request(s, from, h);
}

/* Serves the messages of a list that have waited; those of other files stay. */
static void serve_kept(struct wf_shared *s, struct wf_list *list)
{
    struct wf_list *last = list->prev, *next;

    for (struct wf_list *l = list->next; l != list; l = next) {
        struct kept *k = wf_container(l, struct kept, link);
        bool was_last = l == last;

        next = l->next;
        if (k->head.context == s->file->comm->context) {
            wf_list_remove(&k->link);
            serve_message(s, k->from, &k->head);
            free(k);
        }
        if (was_last)
            break; /* behind it is what was kept again */
    }
}

/* ---- messages ------------------------------------------------------------ */

static struct wf_shared *find_shared(struct table *t, uint32_t context)
{
    for (struct wf_list *l = t->files.next; l != &t->files; l = l->next) {
        struct wf_shared *s = wf_container(l, struct wf_shared, link);

        if (s->file->comm->context == context)
            return s;
    }
    return NULL;
}

static void end_asked(struct asked *a, int error, uint64_t value)
{
    wf_list_remove(&a->link);
    a->error = error;
    a->value = value;
    a->over = true;
}

static void take_answer(struct wf_shared *s, const struct wf_active_head *h)
{
    for (struct wf_list *l = s->asked.next; l != &s->asked; l = l->next) {
        struct asked *a = wf_container(l, struct asked, link);

        if (a->number != h->d)
            continue;
        if ((h->word & KIND_MASK) == ANSWER)
            end_asked(a, MPI_SUCCESS, h->c);
        else
            end_asked(a, h->c == MPI_ERR_NO_MEM ? MPI_ERR_NO_MEM : MPI_ERR_ARG,
                      0);
        return;
    }
}

static void handle_arrival(struct wf_active_handler *handler,
                           struct weft_loc *from,
                           const struct wf_active_head *h, const void *data,
                           size_t bytes)
{
    struct table *t = table_of(handler);
    struct wf_shared *s = find_shared(t, h->context);

    if ((h->word & KIND_MASK) != REQUEST) {
        if (s)
            take_answer(s, h);
    } else if (!s) {
        keep_message(&t->early, from, h);
    } else if (is_keeper(s)) {
        serve_message(s, from, h);
    }
}

static void forget_kept(struct wf_list *list, const struct weft_loc *from)
{
    struct wf_list *next;

    for (struct wf_list *l = list->next; l != list; l = next) {
        struct kept *k = wf_container(l, struct kept, link);

        next = l->next;
        if (from && k->from != from)
            continue;
        wf_list_remove(&k->link);
        free(k);
    }
}

static void handle_loss(struct wf_active_handler *handler, struct weft_loc *loc)
{
    struct table *t = table_of(handler);
    struct wf_list *next;

    forget_kept(&t->early, loc);
    for (struct wf_list *l = t->files.next; l != &t->files; l = l->next) {
        struct wf_shared *s = wf_container(l, struct wf_shared, link);

        forget_kept(&s->kept, loc);
        if (s->keeper != loc)
            continue;
        for (struct wf_list *a = s->asked.next; a != &s->asked; a = next) {
            next = a->next;
            end_asked(wf_container(a, struct asked, link),
                      wf_error_class(wf_location_status(loc)), 0);
        }
    }
}

/* Makes an engine ready for messages about files that it does not have yet. */
static int prepare_engine(struct wf_instance *wf)
{
    struct table *t;

    if (wf->engine->active[WF_SPACE_FILE])
        return MPI_SUCCESS;
    t = calloc(1, sizeof *t);
    if (!t)
        return wf_error(MPI_ERR_NO_MEM, "no memory for a file");
    t->wf = wf;
    t->handler.arrive = handle_arrival;
    t->handler.lose = handle_loss;
    wf_list_init(&t->files);
    wf_list_init(&t->early);
    wf_active_register(wf, WF_SPACE_FILE, &t->handler);
    return MPI_SUCCESS;
}

/* ---- a member ------------------------------------------------------------ */

static bool is_over(void *arg)
{
    return ((struct asked *)arg)->over;
}

static void await_answer(struct wf_shared *s, struct asked *a,
                         struct weft_loc *keeper)
{
    struct wf_flag_wait watch = {.loc = keeper};

    wf_flag_wait_begin(s->file->wf, &watch);
    wf_file_wait(s->file, wf_comm_endpoint_mask(s->file->comm), is_over, a);
    wf_flag_wait_end(s->file->wf, &watch);
}

static int report_refusal(const struct asked *a)
{
    if (a->error == MPI_ERR_ARG)
        return report_overflow();
    return wf_error(a->error, "%s",
                    a->error == MPI_ERR_NO_MEM
                        ? "rank 0 has no memory for the shared file pointer"
                        : "rank 0, which keeps the shared file pointer, is "
                          "gone");
}

static int ask_keeper(struct wf_shared *s, uint64_t bytes, uint64_t *old)
{
    struct wf_comm *comm = s->file->comm;
    int status = 0;
    struct weft_loc *keeper = wf_peer_location(comm, KEEPER, &status);
    struct asked a = {.number = ++s->last_number};
    struct wf_active_head h = {.context = comm->context,
                               .source = (uint32_t)comm->rank,
                               .target = KEEPER,
                               .word = REQUEST | (s->age & ~KIND_MASK),
                               .c = bytes,
                               .d = a.number};

    if (!keeper)
        return wf_error_class(status);
    s->keeper = keeper;
    wf_list_append(&s->asked, &a.link);
    if (keeper->failed)
        end_asked(&a, wf_error_class(wf_location_status(keeper)), 0);
    else
        wf_active_send_short(way_to(s, keeper), &h, NULL, 0);
    await_answer(s, &a, keeper);
    if (a.error)
        return report_refusal(&a);
    *old = a.value;
    return MPI_SUCCESS;
}

int wf_shared_add(struct wf_file *f, uint64_t bytes, uint64_t *old)
{
    struct wf_shared *s = f->shared;

    if (!is_keeper(s))
        return ask_keeper(s, bytes, old);
    return add_bytes(s, bytes, old) ? MPI_SUCCESS : report_overflow();
}

/* Begins a new age, and serves what has waited for it. */
static void begin_age(struct wf_shared *s)
{
    s->age++;
    if (is_keeper(s))
        serve_kept(s, &s->kept);
}

void wf_shared_set(struct wf_file *f, uint64_t bytes)
{
    struct wf_shared *s = f->shared;

    s->value = bytes;
    begin_age(s);
}

/* Tells all members where the pointer is, when the keeper has moved it by the
 * bytes of all. When it does, all have entered the call, so that no request of
 * this age is left. */
static int take_base(struct wf_shared *s, uint64_t sum, uint64_t *base)
{
    struct wf_comm *comm = s->file->comm;
    int rc;

    if (is_keeper(s) && !add_bytes(s, sum, base))
        *base = UINT64_MAX;
    rc = wf_mpi_bcast(comm->wf, base, sizeof *base, wf_coll_byte(), KEEPER,
                      comm);
    begin_age(s);
    if (rc)
        return rc;
    return *base == UINT64_MAX ? report_overflow() : MPI_SUCCESS;
}

int wf_shared_add_ordered(struct wf_file *f, uint64_t bytes, uint64_t *old)
{
    struct wf_shared *s = f->shared;
    struct wf_comm *comm = f->comm;
    uint64_t *all = malloc((size_t)comm->size * sizeof *all);
    uint64_t sum = 0, before = 0, base = 0;
    int rc;

    if (!all)
        return wf_error(MPI_ERR_NO_MEM, "no memory for an ordered access");
    rc = wf_mpi_allgather(comm->wf, &bytes, sizeof bytes, wf_coll_byte(), all,
                          sizeof bytes, wf_coll_byte(), comm);
    for (int i = 0; !rc && i < comm->size; i++) {
        before = i == comm->rank ? sum : before;
        if (__builtin_add_overflow(sum, all[i], &sum))
            sum = UINT64_MAX; /* more than the pointer can be moved by */
    }
    free(all);
    if (!rc)
        rc = take_base(s, sum, &base);
    *old = base + before;
    return rc;
}

/* ---- life ---------------------------------------------------------------- */

void wf_shared_destroy(struct wf_file *f)
{
    struct wf_shared *s = f->shared;
    struct table *t = s->table;

    f->shared = NULL;
    if (!t) {
        free(s); /* the file was not opened */
        return;
    }
    WF_ASSERT(wf_list_empty(&s->asked));
    forget_kept(&s->kept, NULL);
    wf_list_remove(&s->link);
    if (s->attends)
        wf_file_stop_attending(f->wf);
    free(s);
    if (!wf_list_empty(&t->files) || !wf_list_empty(&t->early))
        return;
    wf_active_register(t->wf, WF_SPACE_FILE, NULL);
    free(t);
}

int wf_shared_create(struct wf_file *f)
{
    struct wf_shared *s = calloc(1, sizeof *s);

    if (!s)
        return wf_error(MPI_ERR_NO_MEM, "no memory for a file");
    s->file = f;
    wf_list_init(&s->kept);
    wf_list_init(&s->asked);
    f->shared = s;
    return prepare_engine(f->wf);
}

int wf_shared_attach(struct wf_file *f)
{
    struct wf_shared *s = f->shared;
    int rc = prepare_engine(f->wf);

    if (rc)
        return rc;
    s->value = f->shared_start;
    s->table = table_of(f->wf->engine->active[WF_SPACE_FILE]);
    wf_list_append(&s->table->files, &s->link);
    serve_kept(s, &s->table->early);
    return MPI_SUCCESS;
}
