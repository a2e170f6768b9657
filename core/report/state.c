/* The state page of a process, and records of waits in it: see state.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "report/state.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/trust.h"
#include "process/process.h"
#include "process/rank.h"

_Static_assert(sizeof((struct wf_state_slot *)0)->comm == MPI_MAX_OBJECT_NAME,
               "a record holds the name of a communicator");

_Thread_local const char *wf_call_name WF_TLS_NEAR;
_Thread_local struct wf_call_now wf_call_now WF_TLS_NEAR;

/* ---- the page ------------------------------------------------------------ */

/* The descriptor that the launcher passed, if it still is that file; -1:
 * none. */
static int find_inherited_page(struct stat *st)
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

static struct wf_state_place *places_of(struct wf_state_head *h)
{
    return (struct wf_state_place *)(h + 1);
}

static struct wf_state_slot *slots_of(struct wf_state_head *h)
{
    return (struct wf_state_slot *)(places_of(h) + wf_state_le(h->ranks));
}

static bool has_valid_head(const struct wf_state_head *h, const struct stat *st)
{
    uint64_t ranks = wf_state_le(h->ranks);

    return wf_state_le(h->magic) == WF_STATE_MAGIC && ranks > 0 &&
           ranks <= WF_STATE_RANKS_MAX &&
           wf_state_le(h->slots) == wf_state_slot_count(ranks) &&
           wf_state_bytes(ranks) <= (uint64_t)st->st_size;
}

/* Clear what an earlier program with this page has left: a shell script may run
 * several. */
static void clear_if_inherited(struct wf_state_head *h)
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
    int fd = p->state.head ? -1 : find_inherited_page(&st);
    struct wf_state_head *h;

    if (fd < 0 || (size_t)st.st_size < sizeof *h)
        return;
    /* a program that this one starts must not write there */
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    h = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
             0);
    if (h == MAP_FAILED)
        return;
    if (!has_valid_head(h, &st) || p->slot >= wf_state_le(h->ranks)) {
        munmap(h, (size_t)st.st_size);
        return;
    }
    if (p->slot == 0)
        clear_if_inherited(h);
    p->state.head = h;
    p->state.place = p->slot;
}

void wf_state_close(struct wf_process *p)
{
    if (p->state.head)
        munmap(p->state.head,
               wf_state_bytes(wf_state_le(p->state.head->ranks)));
    p->state.head = NULL;
}

void wf_state_phase(struct wf_process *p, enum wf_state_phase phase)
{
    if (p->state.head)
        places_of(p->state.head)[p->state.place].phase =
            wf_state_le((uint64_t)phase);
}

/* ---- slots --------------------------------------------------------------- */

static uint64_t thread_id(void)
{
    return (uint64_t)syscall(SYS_gettid);
}

static struct wf_state_slot *claim_slot(struct wf_state_head *h,
                                        uint64_t thread)
{
    uint64_t n = wf_state_le(h->slots);

    for (uint64_t i = 0; i < n; i++) {
        struct wf_state_slot *s = &slots_of(h)[(thread + i) % n];
        uint64_t free = 0;
        /* pairs with the release in wf_state_end_wait */
        if (!wf_load_relaxed(&s->owner) &&
            wf_cas_acq_rel(&s->owner, &free, wf_state_le(thread)))
            return s;
    }
    wf_add_acq_rel(&h->dropped, wf_state_le(1));
    return NULL;
}

static void begin_write(struct wf_state_slot *s)
{
    wf_store_relaxed(
        &s->version,
        wf_state_le(wf_state_le(wf_load_relaxed(&s->version)) + 1));
    wf_fence_full(); /* the version is odd before anything else changes */
}

static void end_write(struct wf_state_slot *s)
{
    wf_store_release(
        &s->version,
        wf_state_le(wf_state_le(wf_load_relaxed(&s->version)) + 1));
}

static void set_word(struct wf_state_slot *s, enum wf_state_word word,
                     uint64_t value)
{
    s->word[word] = wf_state_le(value);
}

static uint64_t encode_rank_or_tag(int64_t value)
{
    return value == INT64_MAX ? WF_STATE_NOT_KNOWN : (uint64_t)value;
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

    set_word(s, WF_STATE_OPERATION, (uint64_t)w->operation);
    set_word(s, WF_STATE_PEER, encode_rank_or_tag(w->peer));
    set_word(s, WF_STATE_WORLD, w->process);
    set_word(s, WF_STATE_TAG, encode_rank_or_tag(w->tag));
    set_word(s, WF_STATE_BYTES, w->bytes);
    set_word(s, WF_STATE_CONTEXT, w->context);
    set_word(s, WF_STATE_NUMBER, w->number);
    set_word(s, WF_STATE_ACTIVE, w->active);
    set_word(s, WF_STATE_COUNT, w->count);
    put_text(s->call, sizeof s->call, call ? call : "");
    if (call && !w->call && wf_call_now.large &&
        strlen(call) + 3 <= sizeof s->call)
        memcpy(s->call + strlen(call), "_c", 2);
    put_text(s->comm, sizeof s->comm, w->comm ? w->comm : "");
}

static struct wf_wait describe_wait(const struct wf_wait_cause *cause)
{
    struct wf_wait w = {
        .peer = INT64_MAX, .tag = INT64_MAX,
        .process = WF_STATE_NOT_KNOWN, .bytes = WF_STATE_NOT_KNOWN};

    if (cause)
        cause->describe(cause->arg, &w);
    return w;
}

static struct wf_state_slot *begin_record(struct wf_state *state, uint64_t now,
                                          const struct wf_wait *w)
{
    uint64_t thread = thread_id();
    struct wf_state_slot *s = claim_slot(state->head, thread);

    if (!s)
        return NULL;
    begin_write(s);
    set_word(s, WF_STATE_KIND, WF_STATE_WAITS);
    set_word(s, WF_STATE_PLACE, state->place);
    set_word(s, WF_STATE_THREAD, thread);
    set_word(s, WF_STATE_SINCE, now);
    write_wait(s, w);
    end_write(s);
    return s;
}

struct wf_state_slot *wf_state_begin_wait(struct wf_instance *wf,
                                          const struct wf_wait_cause *cause)
{
    struct wf_wait w;

    if (!wf->rank->state || !wf->rank->state->head)
        return NULL;
    w = describe_wait(cause);
    return begin_record(wf->rank->state, wf_now(wf), &w);
}

struct wf_state_slot *wf_state_begin_outside(struct wf_process *p,
                                             enum wf_state_operation operation)
{
    struct wf_wait w = describe_wait(NULL);

    w.operation = operation;
    return p->state.head ? begin_record(&p->state, wf_clock_ns(), &w) : NULL;
}

void wf_state_end_wait(struct wf_state_slot *s)
{
    if (!s)
        return;
    begin_write(s);
    set_word(s, WF_STATE_KIND, WF_STATE_FREE);
    end_write(s);
    wf_store_release(&s->owner, 0); /* pairs with claim_slot() */
}

/* Each rank keeps one slot for calls that poll. */
void wf_state_record_polls(struct wf_instance *wf,
                           struct wf_state_slot **polled,
                           const struct wf_wait_cause *cause,
                           uint32_t failed_polls)
{
    struct wf_state *state = wf->rank->state;
    struct wf_state_slot *s = *polled;
    struct wf_wait w;
    uint64_t now;

    if (!state || !state->head)
        return;
    if (!s)
        s = *polled = claim_slot(state->head, thread_id());
    if (!s)
        return;
    w = describe_wait(cause);
    now = wf_now(wf);
    begin_write(s);
    if (wf_state_le(s->word[WF_STATE_FAILED_POLLS]) >= failed_polls ||
        s->word[WF_STATE_KIND] == WF_STATE_FREE)
        set_word(s, WF_STATE_SINCE, now);
    set_word(s, WF_STATE_KIND, WF_STATE_POLLS);
    set_word(s, WF_STATE_PLACE, state->place);
    set_word(s, WF_STATE_THREAD, thread_id());
    set_word(s, WF_STATE_LAST, now);
    set_word(s, WF_STATE_FAILED_POLLS, failed_polls);
    write_wait(s, &w);
    end_write(s);
}
