/* I/O threads.
 *
 *     completion queues, one per engine --tasks--> pool of threads
 *        ^                                            |
 *        +--------------- done: a stack --------------+
 *
 * DESIGN  A pool serves all completion queues of the process. It is made with
 * the first queue and ends with the last one; a queue that is opened while a
 * pool ends gets a new one. An I/O thread knows nothing of the engine: it puts
 * a task that was run on the stack of its queue, which is an event source, and
 * wakes those that have armed it. So the engine's section need not be on for
 * it.
 *
 *   I/O thread                       thread that is about to sleep
 *   push the task                    armed = 1
 *   if armed was 1: signal           if the stack is not empty: stay awake
 *
 * A full fence stands between both lines, so one of the two sees what the other
 * did.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "io/worker.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "config/config.h"
#include "object/error.h"
#include "os/atomic.h"
#include "process/rank.h"
#include "progress/source.h"
#include "report/assert.h"

enum { THREADS_MOST = 16 };

/* LOCK  that of `shared`. */
struct thread_pool {
    pthread_cond_t work; /* there are tasks, or the threads are to end */
    struct wf_io_task *first, **last;
    bool ends;
    unsigned idle, threads, most;
    pthread_t thread[THREADS_MOST];
};

struct completions {
    struct wf_event_source source;
    struct wf_instance *wf;
    unsigned pending; /* submitted and not done. LOCK the API section */
    struct wf_io_task *_Atomic done;
    wf_atomic_u32 armed, signalled;
    /* LOCK  that of `shared`. */
    unsigned in_hand; /* tasks that threads have not given back yet */
    struct completions *next;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t given_back; /* some in_hand has become 0 */
    struct thread_pool *pool;  /* NULL: there is no queue */
    struct completions *queues;
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER,
            .given_back = PTHREAD_COND_INITIALIZER};

/* Inside the lock of `shared`. */
static struct completions *find_queue_inside(const struct wf_instance *wf)
{
    struct completions *p = shared.queues;

    while (p && p->wf != wf)
        p = p->next;
    return p;
}

static struct completions *find_queue(const struct wf_instance *wf)
{
    struct completions *p;

    pthread_mutex_lock(&shared.lock);
    p = find_queue_inside(wf);
    pthread_mutex_unlock(&shared.lock);
    return p;
}

/* ---- the threads --------------------------------------------------------- */

static void signal_queue(struct completions *p)
{
    uint64_t one = 1;

    if (write(p->source.fd, &one, sizeof one) == sizeof one)
        wf_store_release(&p->signalled, 1); /* pairs with clear_signal */
}

/* Once the task is on the stack it may be done and freed at any time; the queue
 * stays while the task is in hand. */
static void give_back(struct completions *p, struct wf_io_task *j)
{
    struct wf_io_task *top = wf_load_relaxed(&p->done);

    do
        j->next = top;
    while (!wf_cas_acq_rel(&p->done, &top, j)); /* pairs with take_done */
    wf_fence_full();                            /* pairs with arm_queue */
    if (wf_exchange_acq_rel(&p->armed, 0))
        signal_queue(p);
}

static struct wf_io_task *take_task(struct thread_pool *c)
{
    struct wf_io_task *j = c->first;

    if (j && !(c->first = j->next))
        c->last = &c->first;
    return j;
}

/* Runs a task; inside the lock of `shared`, which is left meanwhile. */
static void run_outside(struct wf_io_task *j)
{
    struct completions *p = find_queue_inside(j->wf);

    p->in_hand++;
    pthread_mutex_unlock(&shared.lock);
    j->run(j);
    give_back(p, j);
    pthread_mutex_lock(&shared.lock);
    if (--p->in_hand == 0)
        pthread_cond_broadcast(&shared.given_back);
}

static void *run_thread(void *arg)
{
    struct thread_pool *c = arg;
    struct wf_io_task *j;

    pthread_mutex_lock(&shared.lock);
    while ((j = take_task(c)) || !c->ends) {
        if (j) {
            run_outside(j);
            continue;
        }
        c->idle++;
        pthread_cond_wait(&c->work, &shared.lock);
        c->idle--;
    }
    pthread_mutex_unlock(&shared.lock);
    return NULL;
}

/* Starts a thread. It blocks all signals, for the program's handlers run in the
 * program's threads. */
static void start_thread(struct thread_pool *c)
{
    sigset_t all, old;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    if (pthread_create(&c->thread[c->threads], NULL, run_thread, c) == 0)
        c->threads++;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

unsigned wf_io_count_threads(void)
{
    unsigned n;

    pthread_mutex_lock(&shared.lock);
    n = shared.pool ? shared.pool->threads : 0;
    pthread_mutex_unlock(&shared.lock);
    return n;
}

static struct thread_pool *create_pool(unsigned threads)
{
    struct thread_pool *c = calloc(1, sizeof *c);

    if (!c)
        return NULL;
    pthread_cond_init(&c->work, NULL);
    c->last = &c->first;
    c->most = threads < THREADS_MOST ? threads : THREADS_MOST;
    return c;
}

/* It has no queue any more, and `shared` does not name it. */
static void end_pool(struct thread_pool *c)
{
    pthread_mutex_lock(&shared.lock);
    WF_ASSERT(!c->first);
    c->ends = true;
    pthread_cond_broadcast(&c->work);
    pthread_mutex_unlock(&shared.lock);
    for (unsigned i = 0; i < c->threads; i++)
        pthread_join(c->thread[i], NULL);
    pthread_cond_destroy(&c->work);
    free(c);
}

/* ---- completion queues --------------------------------------------------- */

static struct completions *queue_of(wf_source_object *object)
{
    return (struct completions *)object;
}

/* The descriptor may be readable before `signalled` is set: then the next poll
 * clears it. */
static void clear_signal(struct completions *p)
{
    uint64_t count;

    if (wf_load_relaxed(&p->signalled) &&
        wf_exchange_acq_rel(&p->signalled, 0) &&
        read(p->source.fd, &count, sizeof count) < 0)
        return; /* it was read before */
}

/* Takes the tasks that were run, the first one first. */
static struct wf_io_task *take_done(struct completions *p)
{
    struct wf_io_task *top = wf_exchange_acq_rel(&p->done, NULL), *list = NULL;

    while (top) {
        struct wf_io_task *next = top->next;
        top->next = list;
        list = top;
        top = next;
    }
    return list;
}

static int poll_queue(wf_source_object *object, int budget)
{
    struct completions *p = queue_of(object);
    struct wf_io_task *next;
    int n = 0;

    clear_signal(p);
    if (!wf_load_relaxed(&p->done))
        return 0;
    for (struct wf_io_task *j = take_done(p); j; j = next, n++) {
        next = j->next;
        WF_ASSERT(p->pending > 0);
        p->pending--;
        j->done(j);
    }
    return n;
}

static int arm_queue(wf_source_object *object, uint64_t *deadline)
{
    struct completions *p = queue_of(object);

    wf_store_relaxed(&p->armed, 1);
    wf_fence_full(); /* pairs with give_back */
    return wf_load_acquire(&p->done) ? WEFT_EAGAIN : WEFT_OK;
}

static int open_source(struct completions *p)
{
    p->source = (struct wf_event_source){.name = "I/O threads",
                                         .object = (wf_source_object *)p,
                                         .poll = poll_queue,
                                         .arm = arm_queue};
    p->source.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (p->source.fd < 0)
        return wf_error(MPI_ERR_OTHER, "no descriptor for nonblocking I/O: %s",
                        strerror(errno));
    if (wf_source_add(p->wf, &p->source, WF_SOURCE_BIT_ANY) == 0)
        return MPI_SUCCESS;
    close(p->source.fd);
    return wf_error(MPI_ERR_OTHER,
                    "no descriptor to wait for nonblocking I/O: %s",
                    strerror(errno));
}

static void close_source(struct completions *p)
{
    wf_source_remove(p->wf, &p->source);
    close(p->source.fd);
}

/* Gives the queue to the pool of the process, which is made for its first
 * queue. */
static bool join_pool(struct completions *p)
{
    bool joined;

    pthread_mutex_lock(&shared.lock);
    if (!shared.pool)
        shared.pool = create_pool((unsigned)p->wf->rank->options->io_threads);
    joined = shared.pool != NULL;
    if (joined) {
        p->next = shared.queues;
        shared.queues = p;
    }
    pthread_mutex_unlock(&shared.lock);
    return joined;
}

/* Takes the queue from the pool, when no thread has it in hand any more. The
 * last queue ends the pool. */
static void leave_pool(struct completions *p)
{
    struct completions **at = &shared.queues;
    struct thread_pool *c = NULL;

    pthread_mutex_lock(&shared.lock);
    while (p->in_hand)
        pthread_cond_wait(&shared.given_back, &shared.lock);
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    if (!shared.queues) {
        c = shared.pool;
        shared.pool = NULL;
    }
    pthread_mutex_unlock(&shared.lock);
    if (c)
        end_pool(c);
}

static int open_queue(struct wf_instance *wf, struct completions **out)
{
    struct completions *p = calloc(1, sizeof *p);
    int rc;

    if (!p)
        return wf_error(MPI_ERR_NO_MEM, "no memory for nonblocking I/O");
    p->wf = wf;
    rc = open_source(p);
    if (!rc && !join_pool(p)) {
        close_source(p);
        rc = wf_error(MPI_ERR_NO_MEM, "no memory for I/O threads");
    }
    if (rc)
        free(p);
    else
        *out = p;
    return rc;
}

/* ---- the callers --------------------------------------------------------- */

/* Queues a task for a thread. False: there is none, and none can be started. */
static bool enqueue_task(struct wf_io_task *j)
{
    struct thread_pool *c;
    bool queued;

    pthread_mutex_lock(&shared.lock);
    c = shared.pool;
    if (!c->idle && c->threads < c->most)
        start_thread(c);
    queued = c->threads > 0;
    if (queued) {
        *c->last = j;
        c->last = &j->next;
        pthread_cond_signal(&c->work);
    }
    pthread_mutex_unlock(&shared.lock);
    return queued;
}

int wf_io_submit(struct wf_io_task *j)
{
    struct completions *p = find_queue(j->wf);
    int rc = p ? MPI_SUCCESS : open_queue(j->wf, &p);

    if (rc)
        return rc;
    j->next = NULL;
    p->pending++;
    if (!enqueue_task(j)) {
        j->run(j);
        give_back(p, j);
    }
    return MPI_SUCCESS;
}

uint32_t wf_io_source_mask(struct wf_instance *wf)
{
    struct completions *p = find_queue(wf);

    return p ? wf_source_mask(&p->source) : 0;
}

bool wf_io_is_idle(struct wf_instance *wf)
{
    const struct completions *p = find_queue(wf);

    return !p || !p->pending;
}

void wf_io_end(struct wf_instance *wf)
{
    struct completions *p = find_queue(wf);

    if (!p)
        return;
    WF_ASSERT(!p->pending && !wf_load_relaxed(&p->done));
    leave_pool(p);
    close_source(p);
    free(p);
}
