/* A scripted PMI-1 launcher: a thread on the other end of a socket pair. It
 * keeps a small key-value space, so that what was put comes back cut as it was
 * put.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef BOOT_LAUNCHER_H
#define BOOT_LAUNCHER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base.h"
#include "boot/boot.h"
#include "boot/pmi_line.h"

struct launcher {
    int fd, value_max;
    const char *broken; /* answer everything with this line instead */
    int fence_behind_get; /* its end goes with the next answer, in one write */
    int fence_kept;       /* the test says when it ends */
    const char *behind_get; /* goes with the next answer, in one write */
    _Atomic int news;     /* before each answer, that a rank has given us up */
    _Atomic int given_up; /* who was given up, by us */
    _Atomic int questions; /* which processes run */
    _Atomic int heres;     /* answers of this process, that it is in MPI */
    int held, in_spawn, to_come, so_far;
    int aborted, finalized, longest;
    char keys[64][64], values[64][1100];
    char spawn[8192]; /* the lines of spawn requests */
    const char *spawn_answer; /* to the last block of one; NULL: silence */
    int count;
    pthread_t thread;
};

static const char *find_value(struct launcher *l, const char *key)
{
    for (int i = l->count - 1; i >= 0; i--)
        if (strcmp(l->keys[i], key) == 0)
            return l->values[i];
    return NULL;
}

static void store_value(struct launcher *l, const char *key, const char *value)
{
    assert_true(l->count < 64);
    strcpy(l->keys[l->count], key);
    strcpy(l->values[l->count++], value);
}

static void take_spawn_line(struct launcher *l, const char *line)
{
    size_t n = strlen(l->spawn);

    l->in_spawn = strcmp(line, "endcmd\n") != 0;
    assert_true((size_t)snprintf(l->spawn + n, sizeof l->spawn - n, "%s",
                                 line) < sizeof l->spawn - n);
    wf_pmi_field_int(line, "totspawns", &l->to_come);
    wf_pmi_field_int(line, "spawnssofar", &l->so_far);
    if (!l->in_spawn && l->so_far == l->to_come && l->spawn_answer)
        dprintf(l->fd, "%s", l->spawn_answer);
}

static void answer_line(struct launcher *l, const char *line)
{
    char key[64] = "", value[1100] = "";
    wf_pmi_field_copy(line, "key", key, sizeof(key));
    int news = l->news;
    if (news)
        dprintf(l->fd, "cmd=weft_lost_by rank=%d\n", news);
    if (strncmp(line, "mcmd=", 5) == 0 || l->in_spawn)
        take_spawn_line(l, line);
    else if (l->broken)
        dprintf(l->fd, "%s", l->broken);
    else if (wf_pmi_field_is(line, "cmd", "init"))
        dprintf(l->fd, "cmd=response_to_init pmi_version=1 rc=0\n");
    else if (wf_pmi_field_is(line, "cmd", "get_maxes"))
        dprintf(l->fd,
                "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=%d\n",
                l->value_max);
    else if (wf_pmi_field_is(line, "cmd", "get_my_kvsname"))
        dprintf(l->fd, "cmd=my_kvsname kvsname=kvs_7\n");
    else if (wf_pmi_field_is(line, "cmd", "get_appnum"))
        dprintf(l->fd, "cmd=appnum appnum=2\n");
    else if (wf_pmi_field_is(line, "cmd", "get_universe_size"))
        dprintf(l->fd, "cmd=universe_size size=9 rc=0\n");
    else if (wf_pmi_field_is(line, "cmd", "put")) {
        if (wf_pmi_field_copy(line, "value", value, sizeof(value)))
            store_value(l, key, value);
        if ((int)strlen(value) > l->longest)
            l->longest = (int)strlen(value);
        dprintf(l->fd, "cmd=put_result rc=0 msg=success\n");
    } else if (wf_pmi_field_is(line, "cmd", "get")) {
        const char *found = find_value(l, key);
        dprintf(l->fd,
                found ? "cmd=get_result rc=0 msg=success value=%s\n%s"
                      : "cmd=get_result rc=-1 msg=no_%s value=unknown\n%s",
                found ? found : key,
                l->held ? "cmd=barrier_out\n" :
                l->behind_get ? l->behind_get : "");
        l->held = 0;
    } else if (wf_pmi_field_is(line, "cmd", "barrier_in")) {
        l->held = l->fence_behind_get;
        if (!l->held && !l->fence_kept)
            dprintf(l->fd, "cmd=barrier_out\n");
    }
    else if (wf_pmi_field_is(line, "cmd", "weft_lost") &&
             wf_pmi_field_int(line, "rank", &news))
        l->given_up = news;
    else if (wf_pmi_field_is(line, "cmd", "weft_runs"))
        l->questions++;
    else if (wf_pmi_field_is(line, "cmd", "weft_here"))
        l->heres++;
    else if (wf_pmi_field_is(line, "cmd", "abort"))
        wf_pmi_field_int(line, "exitcode", &l->aborted);
    else if (wf_pmi_field_is(line, "cmd", "finalize")) {
        l->finalized = 1;
        dprintf(l->fd, "cmd=finalize_ack\n");
    }
}

static void *serve_lines(void *arg)
{
    struct launcher *l = arg;
    FILE *in = fdopen(dup(l->fd), "r");
    char line[2048];
    while (fgets(line, sizeof(line), in))
        answer_line(l, line);
    fclose(in);
    return NULL;
}

static void set_number(const char *name, int n)
{
    char text[16];
    snprintf(text, sizeof(text), "%d", n);
    setenv(name, text, 1);
}

static int clear_environment(void **state)
{
    static const char *names[] = {
        "PMI_FD",    "PMI_PORT",  "PMI_RANK",     "PMI_SIZE", "PMI_ID",
        "WEFT_RANK", "WEFT_SIZE", "SLURM_NTASKS", "SLURM_STEP_NUM_TASKS",
        "PMIX_RANK", "OMPI_COMM_WORLD_SIZE"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unsetenv(names[i]);
    return 0;
}

static inline void start_launcher(struct launcher *l, int rank, int size)
{
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    l->fd = pair[0];
    if (!l->value_max)
        l->value_max = 1024;
    set_number("PMI_FD", pair[1]);
    set_number("PMI_RANK", rank);
    set_number("PMI_SIZE", size);
    assert_int_equal(pthread_create(&l->thread, NULL, serve_lines, l), 0);
}

/* Starts the launcher, and opens the boot of one rank of its job. */
static inline struct wf_boot *open_job(struct launcher *l, int rank, int size)
{
    struct wf_boot *b;
    char err[256];

    start_launcher(l, rank, size);
    assert_int_equal(wf_boot_open(NULL, &b, err, sizeof err), 0);
    return b;
}

static inline void stop_launcher(struct launcher *l, struct wf_boot *b)
{
    if (b)
        b->ops->close(b);
    else
        close(atoi(getenv("PMI_FD")));
    pthread_join(l->thread, NULL);
    close(l->fd);
}

#endif
