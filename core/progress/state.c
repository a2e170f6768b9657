/* Writing records of waits into the state page: see state.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "progress/state.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "instance.h"
#include "os/clock.h"
#include "os/trust.h"
#include "progress/wait.h"
#include "protocol/queues.h"

_Static_assert(sizeof((struct wf_state_slot *)0)->comm == MPI_MAX_OBJECT_NAME,
               "a record holds the name of a communicator");

_Thread_local const char *wf_call_name WF_TLS_NEAR;
_Thread_local bool wf_call_large WF_TLS_NEAR;

/* ---- the page ------------------------------------------------------------- */

/* The launcher's descriptor, if it is still what the launcher passed. */
static int inherited(struct stat *st)
{
    const char *text = wf_trust_getenv(WF_STATE_VARIABLE);
    char *end;
    unsigned long long fd, inode;

    if (!text)
        return -1;
    fd = strtoull(text, &end, 10);
    if (*end != ':' || fd > INT32_MAX)
        return -1;
    inode = strtoull(end + 1, &end, 10);
    if (*end || fstat((int)fd, st) != 0 || st->st_ino != inode ||
        !S_ISREG(st->st_mode))
        return -1;
    return (int)fd;
}

static struct wf_state_place *places(struct wf_state_head *h)
{
    return (struct wf_state_place *)(h + 1);
}

static struct wf_state_slot *slots(struct wf_state_head *h)
{
    return (struct wf_state_slot *)(places(h) + wf_state_le(h->ranks));
}

static bool fits(const struct wf_state_head *h, const struct stat *st)
{
    uint64_t ranks = wf_state_le(h->ranks);

    return wf_state_le(h->magic) == WF_STATE_MAGIC && ranks > 0 &&
           ranks <= WF_STATE_RANKS_MAX &&
           wf_state_le(h->slots) == wf_state_slot_count(ranks) &&
           wf_state_bytes(ranks) <= (uint64_t)st->st_size;
}

/* Forget what another program in this rank's place has left: a shell script may
 * run several. */
static void adopt(struct wf_state_head *h)
{
    uint64_t ranks = wf_state_le(h->ranks), pid = (uint64_t)getpid();
    uint64_t before = wf_state_le(h->pid);

    h->pid = wf_state_le(pid);
    if (before && before != pid)
        memset(h + 1, 0, wf_state_bytes(ranks) - sizeof *h);
}

void wf_state_open(struct wf_process *p)
{
    struct stat st;
    int fd = p->state.head ? -1 : inherited(&st);
    struct wf_state_head *h;

    if (fd < 0 || (size_t)st.st_size < sizeof *h)
        return;
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC); /* not for what the program starts */
    h = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
             0);
    if (h == MAP_FAILED)
        return;
    if (!fits(h, &st) || p->slot >= wf_state_le(h->ranks)) {
        munmap(h, (size_t)st.st_size);
        return;
    }
    if (p->slot == 0)
        adopt(h);
    p->state.head = h;
    p->state.place = p->slot;
}

void wf_state_close(struct wf_process *p)
{
    if (p->state.head)
        munmap(p->state.head, wf_state_bytes(wf_state_le(p->state.head->ranks)));
    p->state.head = NULL;
}

void wf_state_phase(struct wf_process *p, enum wf_state_phase phase)
{
    if (p->state.head)
        places(p->state.head)[p->state.place].phase =
            wf_state_le((uint64_t)phase);
}

/* ---- slots ------------------------------------------------------------------ */

static uint64_t thread_id(void)
{
    return (uint64_t)syscall(SYS_gettid);
}

static struct wf_state_slot *claim(struct wf_state_head *h, uint64_t thread)
{
    uint64_t n = wf_state_le(h->slots);

    for (uint64_t i = 0; i < n; i++) {
        struct wf_state_slot *s = &slots(h)[(thread + i) % n];
        uint64_t nobody = 0;
        /* pairs with the release in wf_state_end */
        if (!wf_load_relaxed(&s->owner) &&
            wf_cas_acq_rel(&s->owner, &nobody, wf_state_le(thread)))
            return s;
    }
    wf_add_acq_rel(&h->dropped, wf_state_le(1));
    return NULL;
}

static void begin_write(struct wf_state_slot *s)
{
    wf_store_relaxed(&s->version,
                     wf_state_le(wf_state_le(wf_load_relaxed(&s->version)) + 1));
    wf_fence_full(); /* the version is odd before anything else changes */
}

static void end_write(struct wf_state_slot *s)
{
    wf_store_release(&s->version,
                     wf_state_le(wf_state_le(wf_load_relaxed(&s->version)) + 1));
}

static void set(struct wf_state_slot *s, enum wf_state_word word, uint64_t value)
{
    s->word[word] = wf_state_le(value);
}

static uint64_t rank_or_tag(int64_t value)
{
    return value == INT64_MAX ? WF_STATE_NOT_KNOWN : (uint64_t)value;
}

/* The process of the job that the peer is. */
static uint64_t world_of(const struct wf_wait *w)
{
    const struct wf_group *g;

    if (!w->comm)
        return w->operation == WF_STATE_ADDRESS ? w->process
                                                : WF_STATE_NOT_KNOWN;
    g = w->local ? w->comm->local : w->comm->peers;
    if (!g || w->peer < 0 || w->peer >= g->size)
        return WF_STATE_NOT_KNOWN;
    return wf_group_proc(g, (int)w->peer);
}

static void put_text(char *to, size_t size, const char *text)
{
    size_t n = strlen(text);

    n = n < size ? n : size - 1;
    memcpy(to, text, n);
    memset(to + n, 0, size - n);
}

static void write_wait(struct wf_state_slot *s, const struct wf_wait *w)
{
    const char *call = w->call ? w->call : wf_call_name;

    set(s, WF_STATE_OPERATION, (uint64_t)w->operation);
    set(s, WF_STATE_PEER, rank_or_tag(w->peer));
    set(s, WF_STATE_WORLD, world_of(w));
    set(s, WF_STATE_TAG, rank_or_tag(w->tag));
    set(s, WF_STATE_BYTES, w->bytes);
    set(s, WF_STATE_CONTEXT, w->comm ? (uint64_t)w->comm->context + 1 : 0);
    set(s, WF_STATE_NUMBER, w->number);
    set(s, WF_STATE_ACTIVE, w->active);
    set(s, WF_STATE_COUNT, w->count);
    put_text(s->call, sizeof s->call, call ? call : "");
    if (call && !w->call && wf_call_large && strlen(call) + 3 <= sizeof s->call)
        memcpy(s->call + strlen(call), "_c", 2);
    put_text(s->comm, sizeof s->comm, w->comm ? w->comm->name : "");
}

static struct wf_wait describe(const struct wf_wait_cause *cause)
{
    struct wf_wait w = {.peer = INT64_MAX, .tag = INT64_MAX,
                        .bytes = WF_STATE_NOT_KNOWN};

    if (cause)
        cause->describe(cause->arg, &w);
    return w;
}

static struct wf_state_slot *begin(struct wf_state *state, uint64_t now,
                                   const struct wf_wait *w)
{
    uint64_t thread = thread_id();
    struct wf_state_slot *s = claim(state->head, thread);

    if (!s)
        return NULL;
    begin_write(s);
    set(s, WF_STATE_KIND, WF_STATE_WAITS);
    set(s, WF_STATE_PLACE, state->place);
    set(s, WF_STATE_THREAD, thread);
    set(s, WF_STATE_SINCE, now);
    write_wait(s, w);
    end_write(s);
    return s;
}

struct wf_state_slot *wf_state_begin(struct wf_instance *wf,
                                     const struct wf_wait_cause *cause)
{
    struct wf_wait w;

    if (!wf->state || !wf->state->head)
        return NULL;
    w = describe(cause);
    return begin(wf->state, wf_now(wf), &w);
}

struct wf_state_slot *wf_state_begin_outside(struct wf_process *p,
                                             enum wf_state_operation operation)
{
    struct wf_wait w = describe(NULL);

    w.operation = operation;
    return p->state.head ? begin(&p->state, wf_clock_ns(), &w) : NULL;
}

void wf_state_end(struct wf_state_slot *s)
{
    if (!s)
        return;
    begin_write(s);
    set(s, WF_STATE_KIND, WF_STATE_FREE);
    end_write(s);
    wf_store_release(&s->owner, 0); /* pairs with claim() */
}

/* One slot of a rank is for calls that ask; it keeps it. */
void wf_state_polled(struct wf_instance *wf, const struct wf_wait_cause *cause,
                     uint32_t vain)
{
    struct wf_state *state = wf->state;
    struct wf_state_slot *s = wf->progress->polled;
    struct wf_wait w;
    uint64_t now;

    if (!state || !state->head)
        return;
    if (!s)
        s = wf->progress->polled = claim(state->head, thread_id());
    if (!s)
        return;
    w = describe(cause);
    now = wf_now(wf);
    begin_write(s);
    if (wf_state_le(s->word[WF_STATE_VAIN]) >= vain ||
        s->word[WF_STATE_KIND] == WF_STATE_FREE)
        set(s, WF_STATE_SINCE, now);
    set(s, WF_STATE_KIND, WF_STATE_POLLS);
    set(s, WF_STATE_PLACE, state->place);
    set(s, WF_STATE_THREAD, thread_id());
    set(s, WF_STATE_LAST, now);
    set(s, WF_STATE_VAIN, vain);
    write_wait(s, &w);
    end_write(s);
}

/* ---- describing -------------------------------------------------------------- */

static int64_t wildcard(int value, int any)
{
    return value == any ? WF_STATE_ANY : value;
}

/* As wf_p2p_whole would fill it in, without touching it. */
static void describe_light(const struct wf_p2p *p, struct wf_wait *w)
{
    const struct wf_posted *q = &p->posted;

    w->peer = q->class & 2 ? WF_STATE_ANY : wf_env_source(q->env1);
    w->tag = q->class & 1 ? WF_STATE_ANY : wf_env_tag(q->env1);
    w->bytes = q->room;
}

static void describe_p2p(const struct wf_p2p *p, struct wf_wait *w)
{
    if (p->req.flags & WF_REQ_LIGHT) {
        describe_light(p, w);
        return;
    }
    w->peer = wildcard(p->peer, MPI_ANY_SOURCE);
    w->tag = wildcard(p->tag, MPI_ANY_TAG);
    w->bytes = p->bytes;
    if (p->space != WF_SPACE_P2P) { /* part of a larger call */
        w->operation = WF_STATE_COLLECTIVE;
        w->tag = INT64_MAX;
        w->bytes = WF_STATE_NOT_KNOWN;
    }
}

void wf_state_describe_request(const struct wf_req *r, struct wf_wait *w)
{
    w->comm = r->comm;
    if (r->type == WF_REQ_SEND)
        w->operation = ((const struct wf_p2p *)wf_container(r, struct wf_p2p, req))
                               ->mode == WF_SEND_SYNC
                           ? WF_STATE_SSEND
                           : WF_STATE_SEND;
    else
        w->operation = r->type == WF_REQ_RECV          ? WF_STATE_RECV
                       : r->type == WF_REQ_GENERALIZED ? WF_STATE_GENERALIZED
                       : r->type == WF_REQ_NOOP        ? WF_STATE_UNKNOWN
                                                       : WF_STATE_COLLECTIVE;
    if (r->type <= WF_REQ_RECV)
        describe_p2p(wf_container(r, struct wf_p2p, req), w);
}
