/* The PMI-1 client, for mpirun, Hydra, flux, and Slurm (whose --mpi=pmi2
 * answers PMI-1, too).
 *
 *   init  get_maxes  get_my_kvsname  [put]*  barrier_in  [get]*  finalize
 *
 * Each request is one line and has one answer.
 *
 * INVARIANTS  No answer of the launcher does more harm than a failed call.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "boot/pmi1.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "boot/boot.h"
#include "boot/pmi1_values.h"
#include "boot/pmi_line.h"
#include "boot/pmi_map.h"
#include "report/error.h"

/* Record that a rank has given this process up, as the launcher says. Without
 * memory this is lost: the process notices by itself, or waits. */
static void note_loser(struct wf_boot *b, const char *line)
{
    int rank = -1;
    uint32_t *more;

    wf_pmi_field_int(line, "rank", &rank);
    if (rank < 0 || (uint32_t)rank >= b->size)
        return;
    for (uint32_t i = 0; i < b->given_up_by_count; i++)
        if (b->given_up_by[i] == (uint32_t)rank)
            return; /* another engine of it has said so */
    more = realloc(b->given_up_by, (b->given_up_by_count + 1) * sizeof *more);
    if (!more)
        return;
    more[b->given_up_by_count++] = (uint32_t)rank;
    b->given_up_by = more;
}

static void note_state(struct wf_pmi1 *p, const char *line)
{
    struct wf_boot *b = &p->base;
    int rank = -1, runs = -1, answers = -1;

    if (p->questions)
        p->questions--;
    wf_pmi_field_int(line, "rank", &rank);
    wf_pmi_field_int(line, "runs", &runs);
    wf_pmi_field_int(line, "answers", &answers);
    if (!b->said || rank < 0 || (uint32_t)rank >= b->size || runs < 0)
        return;
    b->said[rank].state = !runs         ? WF_BOOT_ENDED
                          : answers < 0 ? WF_BOOT_RUNS
                                        : WF_BOOT_CALLED;
    b->said[rank].answers = answers < 0 ? 0 : (uint32_t)answers;
    b->said[rank].replies++;
}

/* Take a notice of the end of a job that this process has spawned; false: the
 * line is none. */
static bool note_job_end(struct wf_pmi1 *p, const char *line)
{
    int job;

    if (!wf_pmi_field_is(line, "cmd", "weft_job_ended"))
        return false;
    if (wf_pmi_field_int(line, "job", &job))
        p->ended_jobs[p->ended_count++ % PMI_ENDED_JOBS] = job;
    return true;
}

/* Process a notice of the launcher; false: the line is none. */
static bool take_unasked(struct wf_pmi1 *p, const char *line)
{
    if (wf_pmi_field_is(line, "cmd", "weft_lost_by")) {
        note_loser(&p->base, line);
        return true;
    }
    if (wf_pmi_field_is(line, "cmd", "weft_called")) {
        p->called = true;
        return true;
    }
    if (wf_pmi_field_is(line, "cmd", "weft_state") ||
        wf_pmi_field_is(line, "cmd", "weft_runs_result")) { /* it cannot tell */
        note_state(p, line);
        return true;
    }
    if (note_job_end(p, line))
        return true;
    if (p->late_spawns && wf_pmi_field_is(line, "cmd", "spawn_result")) {
        p->late_spawns--;
        return true;
    }
    if (!p->in_fence || !wf_pmi_field_is(line, "cmd", "barrier_out"))
        return false;
    p->in_fence = false;
    p->base.fence_passed = true;
    return true;
}

/* Read the answer, which must be "cmd=answer". Notices, such as the end of a
 * fence, may come before it. */
static int await_answer(struct wf_pmi1 *p, char **reply, const char *answer)
{
    bool fence = p->in_fence && strcmp(answer, "barrier_out") == 0;
    int rc;

    do
        rc = wf_pmi_channel_line(&p->channel, reply);
    while (rc == 0 && take_unasked(p, *reply) && (!fence || p->in_fence));
    if (rc == 0 && !wf_pmi_field_is(*reply, "cmd", answer))
        rc = WEFT_EPROTO;
    return rc;
}

int wf_pmi1_exchange(struct wf_pmi1 *p, const char *text, size_t n,
                     char **reply, const char *answer)
{
    int rc = wf_pmi_channel_send(&p->channel, text, n);
    return rc < 0 ? rc : await_answer(p, reply, answer);
}

int wf_pmi1_ask(struct wf_pmi1 *p, char **reply, const char *answer,
                const char *fmt, ...)
{
    char text[2 * PMI_KEY_MAX + 2 * PMI_VALUE_MAX + 64];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof(text))
        return WEFT_EINVAL;
    return wf_pmi1_exchange(p, text, (size_t)n, reply, answer);
}

/* The launcher has not refused if the reply has rc=0, or no rc at all. */
bool wf_pmi1_refused(const char *reply)
{
    int rc = 0;
    const char *value;
    size_t len;
    if (!wf_pmi_field(reply, "rc", &value, &len))
        return false;
    return !wf_pmi_field_int(reply, "rc", &rc) || rc != 0;
}

int wf_pmi1_fail(const struct wf_pmi1 *p, int rc, const char *what)
{
    const char *why = rc == WEFT_ENOMEM   ? "no memory for the answer"
                      : rc == WEFT_EPEER  ? "the launcher is gone"
                      : rc == WEFT_EPROTO ? "the launcher's answer is not PMI-1"
                                          : strerror(p->channel.error);
    wf_fail(rc == WEFT_ENOMEM ? rc : WEFT_ESYS, "PMI %s: %s", what, why);
    return rc;
}

/* ---- the rest of the interface ---------------------------------------- */

static int pmi1_fence_start(struct wf_boot *boot, int *fd)
{
    static const char text[] = "cmd=barrier_in\n";
    struct wf_pmi1 *p = wf_pmi1_of(boot);
    int rc = wf_pmi_channel_send(&p->channel, text, sizeof text - 1);
    *fd = p->channel.fd;
    boot->fence_passed = false;
    p->in_fence = rc == 0;
    return rc < 0 ? wf_pmi1_fail(p, rc, "barrier") : 0;
}

static int pmi1_fence_end(struct wf_boot *boot)
{
    struct wf_pmi1 *p = wf_pmi1_of(boot);
    char *reply;
    int rc = p->in_fence ? await_answer(p, &reply, "barrier_out") : 0;
    return rc < 0 ? wf_pmi1_fail(p, rc, "barrier") : 0;
}

static void pmi1_abort(struct wf_boot *boot, int code, const char *message)
{
    char text[64];
    int n = snprintf(text, sizeof(text), "cmd=abort exitcode=%d\n", code);
    (void)wf_pmi_channel_send(&wf_pmi1_of(boot)->channel, text, (size_t)n);
}

static int pmi1_finalize(struct wf_boot *boot)
{
    struct wf_pmi1 *p = wf_pmi1_of(boot);
    char *reply;
    int rc = wf_pmi1_ask(p, &reply, "finalize_ack", "cmd=finalize\n");
    return rc < 0 ? wf_pmi1_fail(p, rc, "finalize") : 0;
}

/* Tell the launcher, if it is Weft's mpirun: no other one passes this on. */
static void pmi1_give_up(struct wf_boot *boot, uint32_t rank)
{
    char text[64];
    int n = snprintf(text, sizeof(text), "cmd=weft_lost rank=%u\n", rank);
    if (boot->awaits)
        (void)wf_pmi_channel_send(&wf_pmi1_of(boot)->channel, text, (size_t)n);
}

/* Ask for a state, unless many answers are unread: the launcher drops a process
 * that leaves its answers unread. */
static void pmi1_ask_state(struct wf_boot *boot, uint32_t rank)
{
    struct wf_pmi1 *p = wf_pmi1_of(boot);
    char text[64];
    int n = snprintf(text, sizeof(text), "cmd=weft_runs rank=%u\n", rank);
    if (!boot->awaits || p->questions == PMI_QUESTIONS)
        return;
    if (!boot->said)
        boot->said = calloc(boot->size, sizeof *boot->said);
    if (boot->said && wf_pmi_channel_send(&p->channel, text, (size_t)n) == 0)
        p->questions++;
}

static bool is_readable(const struct wf_pmi1 *p)
{
    struct pollfd in = {.fd = p->channel.fd, .events = POLLIN};
    return wf_pmi_channel_pending(&p->channel) || poll(&in, 1, 0) > 0;
}

/* Answer the launcher's question whether this process is in MPI. Not while it
 * waits for the launcher: then it serves no other process. */
static void answer_call(struct wf_pmi1 *p)
{
    static const char text[] = "cmd=weft_here\n";

    if (p->called)
        (void)wf_pmi_channel_send(&p->channel, text, sizeof text - 1);
    p->called = false;
}

int wf_pmi1_hear(struct wf_boot *boot)
{
    struct wf_pmi1 *p = wf_pmi1_of(boot);
    char *line;
    int rc = 0;
    while (rc == 0 && is_readable(p)) {
        rc = wf_pmi_channel_line(&p->channel, &line);
        if (rc == 0 && !take_unasked(p, line))
            rc = WEFT_EPROTO;
    }
    answer_call(p);
    return rc;
}

/* Reads what has come behind an answer: the descriptor does not tell of it. */
static bool pmi1_fence_passed(struct wf_boot *boot)
{
    struct wf_pmi1 *p = wf_pmi1_of(boot);

    if (p->in_fence && wf_pmi_channel_pending(&p->channel) &&
        wf_pmi1_hear(boot) < 0)
        return true; /* fence_end says why */
    return boot->fence_passed;
}

static void pmi1_close(struct wf_boot *boot)
{
    struct wf_pmi1 *p = wf_pmi1_of(boot);
    wf_pmi_channel_close(&p->channel);
    free(boot->given_up_by);
    free(boot->said);
    free(boot->node_of);
    free(p);
}

static const struct wf_boot_ops pmi1_ops = {
    .name = "pmi1",
    .put = wf_pmi1_put,
    .get = wf_pmi1_get,
    .fence_start = pmi1_fence_start,
    .fence_passed = pmi1_fence_passed,
    .fence_end = pmi1_fence_end,
    .abort = pmi1_abort,
    .finalize = pmi1_finalize,
    .close = pmi1_close,
    .give_up = pmi1_give_up,
    .hear = wf_pmi1_hear,
    .ask_state = pmi1_ask_state,
};

/* ---- opening ---------------------------------------------------------- */

/* Identify this process on a TCP connection, and read its rank and the size. */
static int identify_process(struct wf_pmi1 *p)
{
    char text[64], *line;
    long id = wf_boot_env_number("PMI_ID");
    int size = -1, rank = -1;
    int n = snprintf(text, sizeof(text), "cmd=initack pmiid=%ld\n", id);
    int rc = wf_pmi_channel_send(&p->channel, text, (size_t)n);
    if (rc == 0)
        rc = wf_pmi_channel_line(&p->channel, &line);
    if (rc == 0 && !wf_pmi_field_is(line, "cmd", "initack"))
        rc = WEFT_EPROTO;
    /* "cmd=set size=", "cmd=set rank=", "cmd=set debug=" follow, in order */
    for (int i = 0; i < 3 && rc == 0; i++) {
        rc = wf_pmi_channel_line(&p->channel, &line);
        if (rc == 0 && !wf_pmi_field_is(line, "cmd", "set"))
            rc = WEFT_EPROTO;
        if (rc == 0) {
            wf_pmi_field_int(line, "size", &size);
            wf_pmi_field_int(line, "rank", &rank);
        }
    }
    if (rc == 0 && (size < 1 || rank < 0 || rank >= size))
        rc = WEFT_EPROTO;
    p->base.size = (uint32_t)size;
    p->base.rank = (uint32_t)rank;
    return rc;
}

static int read_environment(struct wf_pmi1 *p)
{
    long rank = wf_boot_env_number("PMI_RANK");
    long size = wf_boot_env_number("PMI_SIZE");
    if (rank < 0 || size < 1 || rank >= size)
        return WEFT_EINVAL;
    p->base.rank = (uint32_t)rank;
    p->base.size = (uint32_t)size;
    return 0;
}

static int greet_launcher(struct wf_pmi1 *p)
{
    char *reply;
    int key_max = 0, value_max = 0;
    int rc = wf_pmi1_ask(p, &reply, "response_to_init",
                         "cmd=init pmi_version=1 pmi_subversion=1\n");
    if (rc == 0 && wf_pmi1_refused(reply))
        rc = WEFT_EPROTO;
    if (rc == 0)
        rc = wf_pmi1_ask(p, &reply, "maxes", "cmd=get_maxes\n");
    if (rc < 0)
        return rc;
    wf_pmi_field_int(reply, "keylen_max", &key_max);
    wf_pmi_field_int(reply, "vallen_max", &value_max);
    /* both limits count the final NUL in some launchers */
    p->key_max = key_max > 1 ? (size_t)key_max - 1 : 31;
    if (p->key_max >= PMI_KEY_MAX)
        p->key_max = PMI_KEY_MAX - 1;
    p->value_max =
        value_max > PMI_VALUE_MIN ? (size_t)value_max - 1 : PMI_VALUE_MIN;
    if (p->value_max > PMI_VALUE_MAX)
        p->value_max = PMI_VALUE_MAX;
    rc = wf_pmi1_ask(p, &reply, "my_kvsname", "cmd=get_my_kvsname\n");
    if (rc == 0 &&
        !wf_pmi_field_copy(reply, "kvsname", p->kvsname, sizeof(p->kvsname)))
        rc = WEFT_EPROTO;
    return rc;
}

static int read_numbers(struct wf_pmi1 *p)
{
    char *reply;
    int n = -1;
    int rc = wf_pmi1_ask(p, &reply, "appnum", "cmd=get_appnum\n");
    if (rc < 0)
        return rc;
    wf_pmi_field_int(reply, "appnum", &n);
    p->base.appnum = n;
    rc = wf_pmi1_ask(p, &reply, "universe_size", "cmd=get_universe_size\n");
    if (rc < 0)
        return rc;
    n = 0;
    wf_pmi_field_int(reply, "size", &n);
    p->base.universe_size = n > 0 ? (uint32_t)n : 0;
    return 0;
}

static int read_nodes(struct wf_pmi1 *p)
{
    const char *text;
    size_t len;
    struct wf_boot *b = &p->base;
    int rc = wf_pmi1_get_text(p, "PMI_process_mapping", &text, &len);
    if (rc < 0 ||
        wf_pmi_map_parse(text, len, b->size, b->node_of, &b->node_count) < 0) {
        /* an optional hint: without it every rank asks the cards */
        free(b->node_of);
        b->node_of = NULL;
    }
    if (rc < 0 && rc != WEFT_EUNREACH)
        return rc;
    rc = wf_pmi1_get_text(p, "weft.hosts", &text, &len);
    if (rc < 0 && rc != WEFT_EUNREACH)
        return rc;
    b->one_host = (rc == 0 && len > 0 && text[0] == '1') ||
                  (b->node_of && b->node_count == 1);
    b->awaits = rc == 0 && len == 7 && memcmp(text + 1, ",await", 6) == 0;
    return 0;
}

static int make_room_for_nodes(struct wf_pmi1 *p)
{
    p->base.node_of = calloc(p->base.size, sizeof *p->base.node_of);
    return p->base.node_of ? 0 : WEFT_ENOMEM;
}

/* Allocate all memory whose size is known, before anything is sent to the
 * launcher: a failure leaves the connection untouched, so that the program may
 * try again. */
static struct wf_pmi1 *prepare_client(char *err, size_t err_len, int *rc)
{
    struct wf_pmi1 *p = calloc(1, sizeof(*p));
    *rc = p ? 0 : WEFT_ENOMEM;
    if (p && getenv("PMI_FD"))
        *rc = read_environment(p);
    if (*rc == 0 && p->base.size)
        *rc = make_room_for_nodes(p);
    if (*rc == WEFT_EINVAL)
        snprintf(err, err_len,
                 "PMI_RANK=%s and PMI_SIZE=%s are not a rank and a size",
                 getenv("PMI_RANK"), getenv("PMI_SIZE"));
    else if (*rc < 0)
        snprintf(err, err_len, "no memory to talk with the launcher");
    if (*rc == 0)
        return p;
    free(p);
    return NULL;
}

static int open_conversation(struct wf_pmi1 *p)
{
    int rc = 0;
    if (!getenv("PMI_FD"))
        rc = identify_process(p);
    if (rc == 0 && !p->base.node_of)
        rc = make_room_for_nodes(p);
    if (rc == 0)
        rc = greet_launcher(p);
    if (rc == 0)
        rc = read_numbers(p);
    return rc == 0 ? read_nodes(p) : rc;
}

int wf_boot_pmi1_open(struct wf_boot **out, char *err, size_t err_len)
{
    int rc;
    struct wf_pmi1 *p = prepare_client(err, err_len, &rc);
    if (!p)
        return rc;
    p->base.ops = &pmi1_ops;
    p->base.is_launched = 1;
    p->base.server = &p->base;
    rc = wf_pmi_channel_open(&p->channel, err, err_len);
    if (rc < 0)
        goto err_free;
    p->base.launcher = wf_pmi_channel_peer(&p->channel);
    p->base.is_spawned = wf_boot_env_number("PMI_SPAWNED") > 0;
    rc = open_conversation(p);
    if (rc == WEFT_ENOMEM) {
        snprintf(err, err_len, "no memory for what the launcher says");
        goto err_close;
    }
    if (rc < 0) {
        snprintf(err, err_len, "the launcher behind %s does not speak PMI-1%s",
                 getenv("PMI_FD") ? "PMI_FD" : "PMI_PORT",
                 rc == WEFT_EPEER ? ": it closed the connection" : "");
        goto err_close;
    }
    snprintf(p->base.job, sizeof(p->base.job), "%.63s", p->kvsname);
    *out = &p->base;
    return 0;

err_close:
    wf_pmi_channel_close(&p->channel);
err_free:
    free(p->base.node_of);
    free(p->base.given_up_by);
    free(p);
    return rc;
}
