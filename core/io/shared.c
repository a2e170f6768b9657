/* The counter of a shared file pointer, and the messages to its keeper.
 *
 *   word               what         c             d        data
 *   REQUEST | age                   bytes to add  number
 *   REQUEST | ASKED | age           the same of a member that had an answer
 *   ANSWER                          old value     number   the memory's offer
 *   REFUSAL                         error class   number
 *   MAPPED                          uses of comm
 *
 * The first answer brings a member the pointer's memory, if all members share a
 * node (pointer.h); it says that it has MAPPED it, and then asks only where the
 * keeper is late. The progress thread of the keeper serves members that have no
 * memory.
 *
 * A message may come before the keeper has the file: the table of the engine
 * keeps it. Files join the table before the members agree on the communicator,
 * so that no message finds none; the last one to leave frees it.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "io/shared.h"

#include <stdlib.h>

#include "core_api.h"
#include "coll/args.h"
#include "comm/memory.h"
#include "group/endpoint_mask.h"
#include "io/file.h"
#include "io/kept.h"
#include "io/pointer.h"
#include "io/wait.h"
#include "object/error.h"
#include "process/instance.h"
#include "protocol/active.h"
#include "protocol/comm_route.h"
#include "protocol/death.h"
#include "protocol/failure.h"

enum { KEEPER = 0 };
static const uint32_t REQUEST = 0, ANSWER = 1u << 30, REFUSAL = 2u << 30;
static const uint32_t MAPPED = 3u << 30, ASKED = 1u << 29;
#define KIND_MASK (3u << 30)
#define AGE_MASK  ((1u << 29) - 1)

/* A request of this member that is not answered. */
struct asked {
    struct wf_list link;
    struct wf_shared *shared;
    uint64_t number, value;
    uint32_t age;
    int error;
    bool over, has_offer;
    struct wf_memory_offer offer;
};

/* The files of an engine. */
struct table {
    struct wf_active_handler handler;
    struct wf_instance *wf;
    unsigned users;       /* files that have joined it */
    struct wf_list files; /* struct wf_shared: those of them that are open */
    struct wf_list early; /* struct wf_kept: of files that are not open yet */
};

struct wf_shared {
    struct wf_file *file;
    struct table *table;     /* NULL: it has joined none */
    struct wf_list link;     /* in the table */
    struct wf_list kept;     /* struct wf_kept */
    struct wf_list asked;    /* struct asked */
    struct wf_pointer pointer;
    struct weft_loc *keeper; /* that was asked last */
    uint64_t last_number;
    uint32_t age;
    uint32_t reached; /* 1 + the age of which an answer has come, or 0 */
    bool has_asked; /* the keeper: for the memory */
    uint32_t without; /* members that have asked and have no memory */
    bool attends;     /* the progress thread serves them */
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

/* The way of the file's messages; where a route gives none that reaches, that
 * of other messages. */
static struct wf_active_way way_to(struct wf_shared *s, struct weft_loc *loc)
{
    struct wf_active_way way = {.loc = loc, .space = WF_SPACE_FILE};

    (void)wf_comm_route_choose_lane(s->file->comm, WF_SPACE_FILE, loc,
                                    &way.lane);
    return way;
}

/* Sends what a request gets: an ANSWER with the old value, or a REFUSAL with an
 * error class. offer: of the memory, or NULL. */
static void send_reply(struct wf_active_way to, const struct wf_active_head *h,
                       uint32_t what, uint64_t c,
                       const struct wf_memory_offer *offer)
{
    struct wf_active_head back = {.context = h->context,
                                  .source = h->target,
                                  .target = h->source,
                                  .word = what,
                                  .c = c,
                                  .d = h->d};

    wf_active_send_short(to, &back, offer, offer ? sizeof *offer : 0);
}

/* A member is the first time here, or has its memory now. */
static void count_without(struct wf_shared *s, int more)
{
    s->without += (uint32_t)more;
    if (s->without && !s->attends) {
        s->attends = wf_file_attend(s->file->wf);
    } else if (!s->without && s->attends) {
        wf_file_stop_attending(s->file->wf);
        s->attends = false;
    }
}

static void serve_request(struct wf_shared *s, struct weft_loc *from,
                          const struct wf_active_head *h)
{
    struct wf_active_way back = way_to(s, from);
    const struct wf_memory_offer *offer = NULL;
    uint64_t old;

    if (!(h->word & ASKED)) {
        offer = wf_pointer_offer(&s->pointer, s->file->comm);
        count_without(s, 1);
    }
    if (wf_pointer_add(&s->pointer, s->age, h->c, &old))
        send_reply(back, h, ANSWER, old, offer);
    else
        send_reply(back, h, REFUSAL, MPI_ERR_ARG, NULL);
}

/* Whether a request is of an age that the keeper has not reached. */
static bool is_too_new(const struct wf_shared *s,
                       const struct wf_active_head *h)
{
    return ((h->word - s->age) & AGE_MASK) - 1 < AGE_MASK / 2;
}

/* Keeps a message. Without memory it is refused, by the lane of other messages:
 * its file may not be open here. */
static void keep_message(struct wf_list *list, struct weft_loc *from,
                         const struct wf_active_head *h)
{
    if (!wf_kept_add(list, from, h))
        send_reply((struct wf_active_way){from, WF_LANE_ORDER, WF_SPACE_FILE},
                   h, REFUSAL, MPI_ERR_NO_MEM, NULL);
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
        struct wf_kept *k = wf_container(l, struct wf_kept, link);
        bool was_last = l == last;

        next = l->next;
        if (k->head.context == s->file->comm->context) {
            wf_list_remove(l);
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

static void take_answer(struct wf_shared *s, const struct wf_active_head *h,
                        const void *data, size_t bytes)
{
    for (struct wf_list *l = s->asked.next; l != &s->asked; l = l->next) {
        struct asked *a = wf_container(l, struct asked, link);

        if (a->number != h->d)
            continue;
        a->has_offer = bytes == sizeof a->offer;
        if (a->has_offer)
            memcpy(&a->offer, data, bytes);
        if ((h->word & KIND_MASK) != ANSWER) {
            end_asked(a, h->c == MPI_ERR_NO_MEM ? MPI_ERR_NO_MEM : MPI_ERR_ARG,
                      0);
            return;
        }
        s->reached = a->age + 1;
        end_asked(a, MPI_SUCCESS, h->c);
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

    if ((h->word & KIND_MASK) == MAPPED) {
        if (s && s->without && h->c == s->file->comm_uses)
            count_without(s, -1); /* else it is of a file before this one */
    } else if ((h->word & KIND_MASK) != REQUEST) {
        if (s && s->keeper == from)
            take_answer(s, h, data, bytes);
    } else if (!s) {
        keep_message(&t->early, from, h);
    } else if (is_keeper(s)) {
        serve_message(s, from, h);
    }
}

static void handle_loss(struct wf_active_handler *handler, struct weft_loc *loc)
{
    struct table *t = table_of(handler);
    struct wf_list *next;

    wf_kept_forget(&t->early, loc);
    for (struct wf_list *l = t->files.next; l != &t->files; l = l->next) {
        struct wf_shared *s = wf_container(l, struct wf_shared, link);

        wf_kept_forget(&s->kept, loc);
        if (s->keeper != loc)
            continue;
        for (struct wf_list *a = s->asked.next; a != &s->asked; a = next) {
            next = a->next;
            end_asked(wf_container(a, struct asked, link),
                      wf_error_class(wf_location_status(loc)), 0);
        }
    }
}

/* Makes the engine of the file ready for messages about it. */
static int join_table(struct wf_shared *s)
{
    struct wf_instance *wf = s->file->wf;
    struct wf_active_handler *h = wf->engine->active[WF_SPACE_FILE];
    struct table *t = h ? table_of(h) : calloc(1, sizeof *t);

    if (!t)
        return wf_error(MPI_ERR_NO_MEM, "no memory for a file");
    if (!h) {
        *t = (struct table){.handler = {handle_arrival, handle_loss}, .wf = wf};
        wf_list_init(&t->files);
        wf_list_init(&t->early);
        wf_active_register(wf, WF_SPACE_FILE, &t->handler);
    }
    t->users++;
    s->table = t;
    return MPI_SUCCESS;
}

void wf_shared_leave(struct wf_file *f)
{
    struct table *t = f->shared->table;

    f->shared->table = NULL;
    if (!t || --t->users)
        return;
    WF_ASSERT(wf_list_empty(&t->files));
    wf_kept_forget(&t->early, NULL); /* no file waits for them */
    wf_active_register(t->wf, WF_SPACE_FILE, NULL);
    free(t);
}

/* ---- a member ------------------------------------------------------------ */

/* Whether an answer may never come: the file was opened, or this age of the
 * pointer begun, in a call that perhaps has failed in the keeper. */
static bool is_in_doubt(const struct asked *a)
{
    return a->shared->reached != a->age + 1 &&
           wf_comm_is_dead(a->shared->file->comm);
}

static bool is_over(void *arg)
{
    const struct asked *a = arg;

    return a->over || is_in_doubt(a);
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
        return wf_pointer_report_overflow();
    return wf_error(a->error, "%s",
                    a->error == MPI_ERR_NO_MEM
                        ? "rank 0 has no memory for the shared file pointer"
                        : "rank 0, which keeps the shared file pointer, is "
                          "gone");
}

/* Sends the keeper a message of this member. */
static void send_keeper(struct wf_shared *s, uint32_t word, uint64_t c,
                        uint64_t d)
{
    struct wf_comm *comm = s->file->comm;
    struct wf_active_head h = {.context = comm->context,
                               .source = (uint32_t)comm->rank,
                               .target = KEEPER,
                               .word = word,
                               .c = c,
                               .d = d};

    wf_active_send_short(way_to(s, s->keeper), &h, NULL, 0);
}

static int ask_keeper(struct wf_shared *s, uint64_t bytes, uint64_t *old)
{
    int status = 0;
    struct weft_loc *keeper = wf_peer_location(s->file->comm, KEEPER, &status);
    struct asked a = {.shared = s, .number = ++s->last_number, .age = s->age};
    uint32_t asked = s->has_asked ? ASKED : 0;

    if (!keeper)
        return wf_error_class(status);
    s->keeper = keeper;
    s->has_asked = true;
    wf_list_append(&s->asked, &a.link);
    if (keeper->failed)
        end_asked(&a, wf_error_class(wf_location_status(keeper)), 0);
    else
        send_keeper(s, REQUEST | asked | (s->age & AGE_MASK), bytes, a.number);
    await_answer(s, &a, keeper);
    if (!a.over) {
        wf_list_remove(&a.link);
        return wf_error_class(wf_comm_record_dead(s->file->comm));
    }
    if (a.has_offer && wf_pointer_accept(&s->pointer, s->file->comm, &a.offer))
        send_keeper(s, MAPPED, s->file->comm_uses, 0);
    if (a.error)
        return report_refusal(&a);
    *old = a.value;
    return MPI_SUCCESS;
}

int wf_shared_add(struct wf_file *f, uint64_t bytes, uint64_t *old)
{
    struct wf_shared *s = f->shared;

    if (!is_keeper(s) && (!wf_pointer_is_mapped(&s->pointer) ||
                          !wf_pointer_has_age(&s->pointer, s->age)))
        return ask_keeper(s, bytes, old);
    return wf_pointer_add(&s->pointer, s->age, bytes, old)
               ? MPI_SUCCESS
               : wf_pointer_report_overflow();
}

/* Begins a new age with this value, which the keeper has, and serves what has
 * waited for it. */
static void begin_age(struct wf_shared *s, uint64_t value)
{
    if (is_keeper(s))
        wf_pointer_set(&s->pointer, s->age, value);
    s->age++;
    if (is_keeper(s))
        serve_kept(s, &s->kept);
}

void wf_shared_set(struct wf_file *f, uint64_t bytes)
{
    begin_age(f->shared, bytes);
}

bool wf_shared_has_memory(struct wf_file *f)
{
    struct wf_shared *s = f->shared;
    uint64_t old;

    if (!is_keeper(s) && !s->has_asked)
        (void)ask_keeper(s, 0, &old);
    return wf_pointer_is_mapped(&s->pointer);
}

int wf_shared_move(struct wf_file *f, uint64_t bytes, bool in_memory,
                   uint64_t *old)
{
    struct wf_shared *s = f->shared;
    struct wf_comm *comm = f->comm;
    int rc = MPI_SUCCESS;

    if (in_memory || is_keeper(s))
        *old = wf_pointer_value(&s->pointer, s->age);
    if (!in_memory)
        rc = wf_mpi_bcast(comm->wf, old, sizeof *old, wf_coll_byte(), KEEPER,
                          comm);
    if (rc == MPI_SUCCESS && bytes > INT64_MAX - *old)
        rc = wf_pointer_report_overflow();
    begin_age(s, rc ? *old : *old + bytes);
    return rc;
}

/* ---- life ---------------------------------------------------------------- */

void wf_shared_destroy(struct wf_file *f)
{
    struct wf_shared *s = f->shared;

    WF_ASSERT(wf_list_empty(&s->asked));
    wf_pointer_fini(&s->pointer);
    wf_kept_forget(&s->kept, NULL);
    wf_list_remove(&s->link);
    if (s->attends)
        wf_file_stop_attending(f->wf);
    wf_shared_leave(f);
    f->shared = NULL;
    free(s);
}

int wf_shared_create(struct wf_file *f)
{
    struct wf_shared *s = calloc(1, sizeof *s);

    if (!s)
        return wf_error(MPI_ERR_NO_MEM, "no memory for a file");
    s->file = f;
    wf_pointer_init(&s->pointer, 0);
    wf_list_init(&s->link);
    wf_list_init(&s->kept);
    wf_list_init(&s->asked);
    f->shared = s;
    return join_table(s);
}

int wf_shared_attach(struct wf_file *f)
{
    struct wf_shared *s = f->shared;

    if (!s->table && join_table(s))
        return MPI_ERR_NO_MEM;
    wf_pointer_init(&s->pointer, f->shared_start);
    wf_list_append(&s->table->files, &s->link);
    serve_kept(s, &s->table->early);
    return MPI_SUCCESS;
}
