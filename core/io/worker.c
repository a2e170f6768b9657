/* I/O threads.
 *
 *     ports (one per engine) --jobs--> crew: queue and threads
 *        ^                               |
 *        +---- done: a stack ------------+
 *
 * DESIGN  A crew serves all ports of the process. It is made with the first
 * port and ends with the last one; a port that is opened while a crew ends gets
 * a new one. An I/O thread knows nothing of the engine: it puts a job that was
 * run on the stack of its port, which is an event source, and wakes those that
 * have armed it. So the engine's section need not be on for it.
 *
 *   I/O thread                       thread that is about to sleep
 *   push the job                     armed = 1
 *   if armed was 1: ring the bell    if the stack is not empty: stay awake
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

/* LOCK  the pool's. */
struct crew {
    pthread_cond_t work; /* there are jobs, or the threads are to end */
    struct wf_io_job *first, **last;
    bool ends;
    unsigned idle, threads, most;
    pthread_t thread[THREADS_MOST];
};

struct port {
    struct wf_event_source source;
    struct wf_instance *wf;
    unsigned pending; /* submitted and not done. LOCK the API section */
    struct wf_io_job *_Atomic done;
    wf_atomic_u32 armed, rung;
    /* LOCK  the pool's. */
    unsigned in_hand; /* jobs that threads have not given back yet */
    struct port *next;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t given_back; /* some in_hand has become 0 */
    struct crew *crew;         /* NULL: there is no port */
    struct port *ports;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .given_back = PTHREAD_COND_INITIALIZER};

/* Inside the pool's lock. */
static struct port *find_port_inside(const struct wf_instance *wf)
{
    struct port *p = pool.ports;

    while (p && p->wf != wf)
        p = p->next;
    return p;
}

static struct port *find_port(const struct wf_instance *wf)
{
    struct port *p;

    pthread_mutex_lock(&pool.lock);
    p = find_port_inside(wf);
    pthread_mutex_unlock(&pool.lock);
    return p;
}

/* ---- the threads --------------------------------------------------------- */

static void ring_bell(struct port *p)
{
    uint64_t one = 1;

    if (write(p->source.fd, &one, sizeof one) == sizeof one)
        wf_store_release(&p->rung, 1); /* pairs with silence_bell */
}

/* Once the job is on the stack it may be done and freed at any time; the port
 * stays while the job is in hand. */
static void give_back(struct port *p, struct wf_io_job *j)
{
    struct wf_io_job *top = wf_load_relaxed(&p->done);

    do
        j->next = top;
    while (!wf_cas_acq_rel(&p->done, &top, j)); /* pairs with take_done */
    wf_fence_full();                            /* pairs with arm_port */
    if (wf_exchange_acq_rel(&p->armed, 0))
        ring_bell(p);
}

static struct wf_io_job *take_job(struct crew *c)
{
    struct wf_io_job *j = c->first;

    if (j && !(c->first = j->next))
        c->last = &c->first;
    return j;
}

/* Runs a job; inside the pool's lock, which is left meanwhile. */
static void run_outside(struct wf_io_job *j)
{
    struct port *p = find_port_inside(j->wf);

    p->in_hand++;
    pthread_mutex_unlock(&pool.lock);
    j->run(j);
    give_back(p, j);
    pthread_mutex_lock(&pool.lock);
    if (--p->in_hand == 0)
        pthread_cond_broadcast(&pool.given_back);
}

static void *run_thread(void *arg)
{
    struct crew *c = arg;
    struct wf_io_job *j;

    pthread_mutex_lock(&pool.lock);
    while ((j = take_job(c)) || !c->ends) {
        if (j) {
            run_outside(j);
            continue;
        }
        c->idle++;
        pthread_cond_wait(&c->work, &pool.lock);
        c->idle--;
    }
    pthread_mutex_unlock(&pool.lock);
    return NULL;
}

/* Starts a thread. It blocks all signals, for the program's handlers run in the
 * program's threads. */
static void start_thread(struct crew *c)
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

    pthread_mutex_lock(&pool.lock);
    n = pool.crew ? pool.crew->threads : 0;
    pthread_mutex_unlock(&pool.lock);
    return n;
}

static struct crew *create_crew(unsigned threads)
{
    struct crew *c = calloc(1, sizeof *c);

    if (!c)
        return NULL;
    pthread_cond_init(&c->work, NULL);
    c->last = &c->first;
    c->most = threads < THREADS_MOST ? threads : THREADS_MOST;
    return c;
}

/* It has no port any more, and the pool does not know it. */
static void end_crew(struct crew *c)
{
    pthread_mutex_lock(&pool.lock);
    WF_ASSERT(!c->first);
    c->ends = true;
    pthread_cond_broadcast(&c->work);
    pthread_mutex_unlock(&pool.lock);
    for (unsigned i = 0; i < c->threads; i++)
        pthread_join(c->thread[i], NULL);
    pthread_cond_destroy(&c->work);
    free(c);
}

/* ---- ports --------------------------------------------------------------- */

static struct port *port_of(wf_source_object *object)
{
    return (struct port *)object;
}

/* The descriptor may be readable before `rung` is set: then the next poll
 * silences it. */
static void silence_bell(struct port *p)
{
    uint64_t count;

    if (wf_load_relaxed(&p->rung) && wf_exchange_acq_rel(&p->rung, 0) &&
        read(p->source.fd, &count, sizeof count) < 0)
        return; /* it was read before */
}

/* Takes the jobs that were run, the first one first. */
static struct wf_io_job *take_done(struct port *p)
{
    struct wf_io_job *top = wf_exchange_acq_rel(&p->done, NULL), *list = NULL;

    while (top) {
        struct wf_io_job *next = top->next;
        top->next = list;
        list = top;
        top = next;
    }
    return list;
}

static int poll_port(wf_source_object *object, int budget)
{
    struct port *p = port_of(object);
    struct wf_io_job *next;
    int n = 0;

    silence_bell(p);
    if (!wf_load_relaxed(&p->done))
        return 0;
    for (struct wf_io_job *j = take_done(p); j; j = next, n++) {
        next = j->next;
        WF_ASSERT(p->pending > 0);
        p->pending--;
        j->done(j);
    }
    return n;
}

static int arm_port(wf_source_object *object, uint64_t *deadline)
{
    struct port *p = port_of(object);

    wf_store_relaxed(&p->armed, 1);
    wf_fence_full(); /* pairs with give_back */
    return wf_load_acquire(&p->done) ? WEFT_EAGAIN : WEFT_OK;
}

static int open_source(struct port *p)
{
    p->source = (struct wf_event_source){.name = "I/O threads",
                                         .object = (wf_source_object *)p,
                                         .poll = poll_port,
                                         .arm = arm_port};
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

static void close_source(struct port *p)
{
    wf_source_remove(p->wf, &p->source);
    close(p->source.fd);
}

/* Gives the port to the crew of the process, which is made for its first
 * port. */
static bool join_crew(struct port *p)
{
    bool joined;

    pthread_mutex_lock(&pool.lock);
    if (!pool.crew)
        pool.crew = create_crew((unsigned)p->wf->rank->options->io_threads);
    joined = pool.crew != NULL;
    if (joined) {
        p->next = pool.ports;
        pool.ports = p;
    }
    pthread_mutex_unlock(&pool.lock);
    return joined;
}

/* Takes the port from the crew, when no thread has it in hand any more. The
 * last port ends the crew. */
static void leave_crew(struct port *p)
{
    struct port **at = &pool.ports;
    struct crew *c = NULL;

    pthread_mutex_lock(&pool.lock);
    while (p->in_hand)
        pthread_cond_wait(&pool.given_back, &pool.lock);
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    if (!pool.ports) {
        c = pool.crew;
        pool.crew = NULL;
    }
    pthread_mutex_unlock(&pool.lock);
    if (c)
        end_crew(c);
}

static int open_port(struct wf_instance *wf, struct port **out)
{
    struct port *p = calloc(1, sizeof *p);
    int rc;

    if (!p)
        return wf_error(MPI_ERR_NO_MEM, "no memory for nonblocking I/O");
    p->wf = wf;
    rc = open_source(p);
    if (!rc && !join_crew(p)) {
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

/* Queues a job for a thread. False: there is none, and none can be started. */
static bool enqueue_job(struct wf_io_job *j)
{
    struct crew *c;
    bool queued;

    pthread_mutex_lock(&pool.lock);
    c = pool.crew;
    if (!c->idle && c->threads < c->most)
        start_thread(c);
    queued = c->threads > 0;
    if (queued) {
        *c->last = j;
        c->last = &j->next;
        pthread_cond_signal(&c->work);
    }
    pthread_mutex_unlock(&pool.lock);
    return queued;
}

int wf_io_submit(struct wf_io_job *j)
{
    struct port *p = find_port(j->wf);
    int rc = p ? MPI_SUCCESS : open_port(j->wf, &p);

    if (rc)
        return rc;
    j->next = NULL;
    p->pending++;
    if (!enqueue_job(j)) {
        j->run(j);
        give_back(p, j);
    }
    return MPI_SUCCESS;
}

uint32_t wf_io_source_mask(struct wf_instance *wf)
{
    struct port *p = find_port(wf);

    return p ? wf_source_mask(&p->source) : 0;
}

void wf_io_end(struct wf_instance *wf)
{
    struct port *p = find_port(wf);

    if (!p)
        return;
    WF_ASSERT(!p->pending && !wf_load_relaxed(&p->done));
    leave_crew(p);
    close_source(p);
    free(p);
}
