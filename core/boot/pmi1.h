/* The PMI-1 client, shared by its files.
 *
 *   pmi1.c         requests, notices, the fence, opening
 *   pmi1_values.c  put and get: base64, cut where the launcher's limit demands
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PMI1_H
#define WF_PMI1_H

#include "base.h"
#include "boot/boot.h"
#include "boot/pmi_channel.h"

enum {
    PMI_KEY_MAX = 256,   /* size of the client's buffers for names */
    PMI_VALUE_MAX = 896, /* a put must fit the 1024-byte line buffers of
                            launchers, whatever vallen_max they claim */
    PMI_VALUE_MIN = 32,
    PMI_ENDED_JOBS = 16, /* spawned jobs whose end is remembered */
    PMI_QUESTIONS = 16   /* most unanswered questions about processes */
};

struct wf_pmi1 {
    struct wf_boot base;
    struct wf_pmi_channel channel;
    size_t key_max, value_max; /* characters that fit */
    char kvsname[PMI_KEY_MAX];
    bool in_fence;      /* barrier_out is still to be read */
    unsigned questions; /* questions whose answers are still to be read */
    int ended_jobs[PMI_ENDED_JOBS]; /* numbers; 0: none */
    unsigned ended_count;
    unsigned late_spawns; /* requests whose answers nobody awaits any more */
    bool called; /* the launcher asks whether this process is in MPI */
};

static inline struct wf_pmi1 *wf_pmi1_of(struct wf_boot *boot)
{
    return wf_container(boot, struct wf_pmi1, base);
}

/* Send one line and read its answer, which must be "cmd=answer". */
int wf_pmi1_ask(struct wf_pmi1 *, char **reply, const char *answer,
                const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* Read notices: wf_boot_ops.hear. */
int wf_pmi1_hear(struct wf_boot *);
/* Send bytes that end with a newline, and read the answer. */
int wf_pmi1_exchange(struct wf_pmi1 *, const char *text, size_t n, char **reply,
                     const char *answer);
/* Whether the reply says that the launcher declined the request. */
bool wf_pmi1_refused(const char *reply);
/* Record (wf_error) why the request `what` failed; returns rc. */
int wf_pmi1_fail(const struct wf_pmi1 *, int rc, const char *what);

/* Fills *out; or err holds a sentence, and a negative WEFT_E* is returned. */
int wf_boot_pmi1_open(struct wf_boot **out, char *err, size_t err_len);

#endif
