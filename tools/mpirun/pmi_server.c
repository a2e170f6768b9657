/* This is the PMI-1 server, by which the ranks find each other.
 *
 * Every request and every answer is a line; the protocol is that of
 * core/boot/pmi1.c and of Hydra, so that MPICH programs are served, too.
 *
 *   weft.hosts = 1,await  every rank is on this machine (0: some are not),
 *                       and a get of a card is answered when the card is there:
 *                       no barrier at start
 *   weft.card.N         what rank N publishes in MPI_Init
 *   weft.key            32 random bytes, the job key: it travels on descriptors
 *                       that only this job holds, lies in memory for secrets,
 *                       and is wiped when each rank has asked for it or ended
 *   PMI_process_mapping on which node each rank is, as --nodes says
 *   publish_name        names.h; with server=HOST:PORT name_client.h
 *   mcmd=spawn          spawn_request.h; weft_job_ended tells a client of Weft
 *                       that a job which it has spawned has ended
 *   weft_lost rank=N    a rank has given up rank N, without an answer
 *   weft_lost_by rank=M sent to rank N, which M has given up, without an answer
 *   weft_runs rank=N    asks whether N runs and is in MPI; the answer is
 *                       weft_state rank=N runs=0 or 1 answers=COUNT
 *   weft_called         sent to N for that; once until it answers weft_here,
 *                       when it is in MPI: weft_state has the count, and no
 *                       answers= if N has several ranks
 *
 * INVARIANTS  A rank that sends nonsense loses its connection; no other rank
 * notices. Answers never block: the socket buffer holds more answers than a
 * client that waits for each, or asks few questions at once, can leave unread.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "boot/pmi_line.h"
#include "child_job.h"
#include "job.h"
#include "kvs.h"
#include "link.h"
#include "name_client.h"
#include "names.h"
#include "pmi_key.h"
#include "pmi_names.h"
#include "pmi_server.h"
#include "singleton.h"

enum {
    PMI_KEYLEN = 64,
    PMI_LINE_MAX = 1 << 16,
    PMI_ANSWER_MAX = PMI_VALLEN + 256
};

static void drop_rank(struct job *job, struct rank *r)
{
    if (r->pmi_open && r->host->link)
        wf_link_send(job, r->host, FRAME_PMI, r->index, NULL, 0);
    r->pmi_open = false;
    wf_job_unwatch(job, &r->pmi);
    free(r->in);
    r->in = NULL;
    r->awaited_rank = -1;
    r->have = r->room = 0;
    wf_pmi_forget_names(job, r);
    wf_child_drop_asker(job, r);
    wf_singleton_end(job, r);
}

void wf_pmi_send(struct job *job, struct rank *r, const char *line, size_t n)
{
    if (r->host->link)
        wf_link_send(job, r->host, FRAME_PMI, r->index, line, n);
    else if (send(r->pmi.fd, line, n, MSG_NOSIGNAL | MSG_DONTWAIT) !=
             (ssize_t)n)
        (void)shutdown(r->pmi.fd, SHUT_RDWR);
}

static __attribute__((format(printf, 3, 4))) void
send_answer(struct job *job, struct rank *r, const char *fmt, ...)
{
    char text[PMI_ANSWER_MAX];
    va_list args;
    if (!r->pmi_open)
        return;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof(text))
        drop_rank(job, r);
    else
        wf_pmi_send(job, r, text, (size_t)n);
}

/* ---- requests --------------------------------------------------------- */

static void on_init(struct job *job, struct rank *r, const char *line)
{
    int version = 0;
    wf_pmi_field_int(line, "pmi_version", &version);
    r->pmi_init = version == 1;
    r->pmi_finalized = false;
    send_answer(job, r,
           "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=%d\n",
           version == 1 ? 0 : -1);
}

static void on_maxes(struct job *job, struct rank *r, const char *line)
{
    send_answer(job, r,
                "cmd=maxes kvsname_max=256 keylen_max=%d vallen_max=%d\n",
                PMI_KEYLEN, PMI_VALLEN);
}

static void on_kvsname(struct job *job, struct rank *r, const char *line)
{
    send_answer(job, r, "cmd=my_kvsname kvsname=%s\n", job->name);
}

static void on_appnum(struct job *job, struct rank *r, const char *line)
{
    send_answer(job, r, "cmd=appnum appnum=%d\n", (int)(r->app - job->apps));
}

static void on_universe(struct job *job, struct rank *r, const char *line)
{
    send_answer(job, r, "cmd=universe_size size=%d rc=0\n", job->set.universe);
}

/* Returns the rank whose business card a key names, or -1. */
static int card_owner(const struct job *job, const char *key)
{
    static const char card[] = "weft.card.";
    char *end;
    long id;
    if (strncmp(key, card, sizeof(card) - 1) != 0)
        return -1;
    key += sizeof(card) - 1;
    id = strtol(key, &end, 10);
    return end > key && *end == 0 && id >= 0 && id < job->size ? (int)id : -1;
}

static void serve_awaiting(struct job *job, const char *key, const char *value)
{
    int id = card_owner(job, key);
    for (int i = 0; id >= 0 && i < job->count; i++) {
        struct rank *r = &job->ranks[i];
        if (r->awaited_rank != id)
            continue;
        r->awaited_rank = -1;
        send_answer(job, r, "cmd=get_result rc=0 msg=success value=%s\n",
                    value);
    }
}

static void on_put(struct job *job, struct rank *r, const char *line)
{
    char key[PMI_KEYLEN + 1];
    const char *value;
    size_t n;
    if (!wf_pmi_field_copy(line, "key", key, sizeof(key)))
        send_answer(job, r, "cmd=put_result rc=-1 msg=key_too_long\n");
    else if (!wf_pmi_field(line, "value", &value, &n))
        send_answer(job, r, "cmd=put_result rc=-1 msg=no_value\n");
    else if (n > PMI_VALLEN)
        send_answer(job, r, "cmd=put_result rc=-1 msg=value_too_long\n");
    else if (wf_kvs_put(job->kvs, key, value, n) < 0)
        send_answer(job, r, "cmd=put_result rc=-1 msg=out_of_memory\n");
    else {
        send_answer(job, r, "cmd=put_result rc=0 msg=success\n");
        serve_awaiting(job, key, value);
    }
}

/* Note that rank r waits for the card of `id`, which has not come yet. */
static void await_card(struct job *job, struct rank *r, int id)
{
    r->awaited_rank = id;
    wf_pmi_check_waiting(job);
}

static void check_key(struct job *job)
{
    for (int i = 0; i < job->count; i++)
        if (!job->ranks[i].ended &&
            job->ranks[i].key_gets < job->ranks[i].rank_count)
            return;
    wf_pmi_forget_key(job);
}

static void answer_key(struct job *job, struct rank *r)
{
    wf_pmi_send(job, r, job->key->line, job->key->n);
    r->key_gets++;
    check_key(job);
}

static void on_get(struct job *job, struct rank *r, const char *line)
{
    char key[PMI_KEYLEN + 1];
    const char *value = NULL;
    int id = -1;
    if (wf_pmi_field_copy(line, "key", key, sizeof(key))) {
        if (job->key && strcmp(key, "weft.key") == 0) {
            answer_key(job, r);
            return;
        }
        value = wf_kvs_get(job->kvs, key);
        id = card_owner(job, key);
    }
    if (value)
        send_answer(job, r, "cmd=get_result rc=0 msg=success value=%s\n",
                    value);
    else if (id >= 0)
        await_card(job, r, id);
    else
        send_answer(job, r,
                    "cmd=get_result rc=-1 msg=no_such_key value=unknown\n");
}

static void end_barrier(struct job *job)
{
    job->in_barrier = 0;
    for (int i = 0; i < job->count; i++) {
        struct rank *r = &job->ranks[i];
        if (r->in_barrier)
            send_answer(job, r, "cmd=barrier_out\n");
        r->in_barrier = false;
    }
}

static void on_barrier(struct job *job, struct rank *r, const char *line)
{
    if (r->in_barrier)
        return;
    r->in_barrier = true;
    if (++job->in_barrier < job->count)
        wf_pmi_check_waiting(job);
    else
        end_barrier(job);
}

static void on_finalize(struct job *job, struct rank *r, const char *line)
{
    r->pmi_finalized = true;
    send_answer(job, r, "cmd=finalize_ack\n");
}

static void on_abort(struct job *job, struct rank *r, const char *line)
{
    int code = 1;
    wf_pmi_field_int(line, "exitcode", &code);
    wf_end_abort(job, r, code);
}

/* Handle weft_say, which has no answer: the rank is about to end. */
static void on_say(struct job *job, struct rank *r, const char *line)
{
    const char *text;
    size_t n;
    if (wf_pmi_field(line, "text", &text, &n))
        wf_repeated_message_take(job, r, text, n);
}

/* Returns the process that holds the rank *id of a line, or NULL. */
static struct rank *find_holder(struct job *job, const char *line, int *id)
{
    *id = -1;
    wf_pmi_field_int(line, "rank", id);
    return *id < 0 || *id >= job->size ? NULL : wf_job_find_holder(job, *id);
}

/* Handle weft_lost, which has no answer: rank r has given up another rank,
 * which may hear nothing from it. A rank that is in a barrier waits for no
 * other. */
static void on_lost(struct job *job, struct rank *r, const char *line)
{
    int id;
    struct rank *other = find_holder(job, line, &id);
    if (other && other != r && !other->in_barrier && !other->ended)
        send_answer(job, other, "cmd=weft_lost_by rank=%d\n", r->id);
}

static void on_runs(struct job *job, struct rank *r, const char *line)
{
    int id;
    struct rank *other = find_holder(job, line, &id);
    bool runs = other && !other->ended && !other->pmi_finalized;
    char answers[32] = "";
    /* ranks that are threads do not hear */
    if (runs && other != r && other->pmi_init && other->rank_count == 1) {
        snprintf(answers, sizeof answers, " answers=%u",
                 other->call_answers & INT_MAX);
        if (!other->called)
            send_answer(job, other, "cmd=weft_called\n");
        other->called = true;
    }
    if (other)
        send_answer(job, r, "cmd=weft_state rank=%d runs=%d%s\n", id, runs,
                    answers);
}

/* Handle weft_here, which has no answer. */
static void on_here(struct job *job, struct rank *r, const char *line)
{
    r->call_answers++;
    r->called = false;
}

static const struct {
    const char *cmd;
    void (*handle)(struct job *, struct rank *, const char *line);
} commands[] = {
    {"init", on_init},
    {"get_maxes", on_maxes},
    {"get_my_kvsname", on_kvsname},
    {"get_appnum", on_appnum},
    {"get_universe_size", on_universe},
    {"put", on_put},
    {"get", on_get},
    {"barrier_in", on_barrier},
    {"finalize", on_finalize},
    {"abort", on_abort},
    {"weft_say", on_say},
    {"weft_lost", on_lost},
    {"weft_runs", on_runs},
    {"weft_here", on_here},
    {"publish_name", wf_pmi_name},
    {"lookup_name", wf_pmi_name},
    {"unpublish_name", wf_pmi_name},
};

static void on_line(struct job *job, struct rank *r, const char *line)
{
    char cmd[32];
    if (r->spawn || strncmp(line, "mcmd=", 5) == 0) {
        wf_child_take_line(job, r, line);
        return;
    }
    if (!wf_pmi_field_copy(line, "cmd", cmd, sizeof(cmd))) {
        drop_rank(job, r);
        return;
    }
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(cmd, commands[i].cmd) == 0) {
            commands[i].handle(job, r, line);
            return;
        }
    }
    send_answer(job, r, "cmd=%s_result rc=-1 msg=not_supported\n", cmd);
}

/* End a barrier without the ranks that have ended (--continuous). */
static void end_without_dead(struct job *job)
{
    int there = 0;
    for (int i = 0; i < job->count; i++)
        there += job->ranks[i].in_barrier || job->ranks[i].ended;
    if (there == job->count)
        end_barrier(job);
}

static const char never_there[] =
    "ended without calling MPI_Init, which other ranks wait for";

/* Fail requests for cards whose rank has ended without one. */
static void check_cards(struct job *job)
{
    for (int i = 0; i < job->count && job->phase == PHASE_RUN; i++) {
        struct rank *r = &job->ranks[i];
        if (r->awaited_rank < 0 ||
            !wf_job_find_holder(job, r->awaited_rank)->ended)
            continue;
        if (!job->set.keep_going) {
            wf_end_fail(job, wf_job_find_holder(job, r->awaited_rank),
                        never_there);
            return;
        }
        r->awaited_rank = -1;
        send_answer(job, r,
                    "cmd=get_result rc=-1 msg=no_such_key value=unknown\n");
    }
}

/* Report a barrier that a rank can no longer enter, because it never ends. */
static void check_barrier(struct job *job)
{
    if (job->in_barrier == 0 || job->phase != PHASE_RUN)
        return;
    if (job->set.keep_going) {
        end_without_dead(job);
        return;
    }
    for (int i = 0; i < job->count; i++) {
        struct rank *r = &job->ranks[i];
        if (r->ended && !r->in_barrier) {
            wf_end_fail(job, r,
                        r->pmi_finalized ? "ended while other ranks still wait "
                                           "for it"
                                         : never_there);
            return;
        }
    }
}

void wf_pmi_check_waiting(struct job *job)
{
    check_key(job);
    if (job->settle_deadline)
        return; /* why a rank has ended will be known soon */
    check_cards(job);
    check_barrier(job);
}

/* ---- bytes ------------------------------------------------------------ */

static bool make_room(struct rank *r, size_t more)
{
    size_t room = r->room ? r->room : 2048;
    while (room < r->have + more + 1)
        room *= 2;
    if (room == r->room)
        return true;
    char *in = room <= PMI_LINE_MAX ? realloc(r->in, room) : NULL;
    if (!in)
        return false;
    r->in = in;
    r->room = room;
    return true;
}

static void take_lines(struct job *job, struct rank *r)
{
    size_t at = 0;
    char *end;
    while (r->pmi_open &&
           (end = memchr(r->in + at, '\n', r->have - at)) != NULL) {
        *end = 0;
        size_t next = (size_t)(end - r->in) + 1;
        on_line(job, r, r->in + at);
        at = next;
    }
    if (r->pmi_open) {
        memmove(r->in, r->in + at, r->have - at);
        r->have -= at;
    }
}

void wf_pmi_take(struct job *job, struct rank *r, const char *data, size_t n)
{
    if (!r->pmi_open)
        return;
    if (n == 0 || !make_room(r, n)) {
        drop_rank(job, r);
        return;
    }
    memcpy(r->in + r->have, data, n);
    r->have += n;
    take_lines(job, r);
}

/* Handle everything that has arrived; the loop matters when the rank has just
 * died. */
void wf_pmi_ready(struct job *job, struct event_source *s)
{
    struct rank *r = (struct rank *)s;
    char data[2048];
    while (r->pmi.fd >= 0) {
        ssize_t n = recv(r->pmi.fd, data, sizeof(data), MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        wf_pmi_take(job, r, data, n > 0 ? (size_t)n : 0);
    }
}

/* ---- the end --------------------------------------------------------- */

void wf_pmi_close(struct job *job)
{
    for (int i = 0; i < job->count; i++)
        drop_rank(job, &job->ranks[i]);
    wf_kvs_destroy(job->kvs);
    wf_name_free(job->names);
    wf_name_client_stop(job);
    wf_pmi_forget_key(job);
}
