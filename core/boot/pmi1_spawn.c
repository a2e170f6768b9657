/* The spawn request of PMI-1: see pmi1_spawn.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "boot/pmi1_spawn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "boot/boot.h"
#include "boot/pmi1.h"
#include "boot/pmi_line.h"
#include "boot/pmi_word.h"
#include "boot/spawn.h"
#include "os/base64.h"
#include "report/error.h"

enum { LINE_MOST = 60000 /* bytes that launchers take in one line */ };

struct writer {
    struct wf_pmi1 *p;
    FILE *out;
    bool words; /* values are encoded */
    int failed; /* status */
};

/* ---- writing ------------------------------------------------------------- */

/* Write "name=value", or "name<number>=value" if the number is not negative. */
static void put_value(struct writer *w, const char *name, int number,
                      const char *value)
{
    size_t room = 3 * strlen(value) + 4;
    char *text = malloc(room);

    if (!text) {
        w->failed = wf_fail(WEFT_ENOMEM, "no memory for a spawn request");
        return;
    }
    if (!w->words)
        memcpy(text, value, strlen(value) + 1);
    else if (!wf_pmi_word_encode(text, room, value))
        text[0] = '\0';
    if (strlen(text) > LINE_MOST || strchr(text, '\n'))
        w->failed = wf_fail(WEFT_EINVAL,
                            "the launcher cannot be told '%.40s...': it is too "
                            "long, or has a newline",
                            value);
    else if (number >= 0)
        fprintf(w->out, "%s%d=%s\n", name, number, text);
    else
        fprintf(w->out, "%s=%s\n", name, text);
    free(text);
}

static void put_pair(struct writer *w, const char *kind, int number,
                     const char *key, const char *value)
{
    char name[32];

    snprintf(name, sizeof name, "%s_key_", kind);
    put_value(w, name, number, key);
    snprintf(name, sizeof name, "%s_val_", kind);
    put_value(w, name, number, value);
}

/* Write the port as wf_pmi1_put would: base64, cut if the launcher demands. */
static void put_port(struct writer *w, const char *port)
{
    size_t n = strlen(port), len = wf_base64_len(n), most = w->p->value_max;
    size_t parts = len <= most ? 0 : (len + most - 1) / most;
    char *text = malloc(len + 1), count[32], key[48];

    if (!text) {
        w->failed = wf_fail(WEFT_ENOMEM, "no memory for a spawn request");
        return;
    }
    wf_base64_encode(text, port, n);
    fprintf(w->out, "preput_num=%zu\n", parts + 1);
    snprintf(count, sizeof count, "*%zu", parts);
    put_pair(w, "preput", 0, "weft.parent", parts ? count : text);
    for (size_t i = parts; i-- > 0;) { /* the last first: it ends the text */
        snprintf(key, sizeof key, "weft.parent.%zu", i);
        put_pair(w, "preput", (int)(parts - i), key, text + i * most);
        text[i * most] = '\0';
    }
    explicit_bzero(text, len);
    free(text);
}

static void put_command(struct writer *w, const struct weft_boot_spawn *q,
                        uint32_t i)
{
    const struct weft_boot_command *c = &q->commands[i];
    int words = 0;

    fprintf(w->out, "mcmd=spawn\n%snprocs=%u\n",
            w->words ? "weft_words=1\n" : "", c->count);
    put_value(w, "execname", -1, c->program);
    fprintf(w->out, "totspawns=%u\nspawnssofar=%u\n", q->command_count, i + 1);
    while (c->argv && c->argv[words]) {
        put_value(w, "arg", words + 1, c->argv[words]);
        words++;
    }
    fprintf(w->out, "argcnt=%d\n", words);
    put_port(w, q->parent_port);
    fprintf(w->out, "info_num=%u\n", c->info_count);
    for (uint32_t k = 0; k < c->info_count; k++)
        put_pair(w, "info", (int)k, c->info[k].key, c->info[k].value);
    fputs("endcmd\n", w->out);
}

/* Make the request. Returns its text, of *n bytes, or NULL and *rc. */
static char *make_request(struct wf_pmi1 *p, const struct weft_boot_spawn *q,
                          size_t *n, int *rc)
{
    char *text = NULL;
    struct writer w = {
        .p = p, .out = open_memstream(&text, n), .words = p->base.awaits};

    for (uint32_t i = 0; w.out && !w.failed && i < q->command_count; i++)
        put_command(&w, q, i);
    *rc = w.failed;
    if ((!w.out || fclose(w.out) != 0) && !w.failed)
        *rc = wf_fail(WEFT_ENOMEM, "no memory for a spawn request");
    if (*rc == 0)
        return text;
    free(text);
    return NULL;
}

/* ---- the answer ---------------------------------------------------------- */

/* Read "errcodes=0,0,-1,..." where the launcher says which processes failed. */
static void read_codes(const char *reply, int *statuses, uint32_t n)
{
    const char *at;
    char *end;
    size_t len;

    if (!wf_pmi_field(reply, "errcodes", &at, &len))
        return;
    for (uint32_t i = 0; i < n; i++, at = end + 1) {
        statuses[i] = strtol(at, &end, 10) ? WEFT_EUNREACH : 0;
        if (*end != ',')
            break;
    }
}

static int report_refusal(const struct weft_boot_spawn *q, const char *reply)
{
    const char *word;
    char why[400] = "";
    size_t n;

    if (!wf_pmi_field(reply, "msg", &word, &n) ||
        !wf_pmi_word_decode(why, sizeof why, word, n))
        snprintf(why, sizeof why, "it does not say why");
    return wf_fail(WEFT_EUNREACH, "the launcher has not started '%.100s'%s: %s",
                   q->commands[0].program,
                   q->command_count > 1 ? " and the others" : "", why);
}

int wf_pmi1_spawn(struct wf_boot *boot, const struct weft_boot_spawn *q,
                  int *statuses, int *job)
{
    struct wf_pmi1 *p = wf_pmi1_of(boot);
    size_t n;
    char *reply;
    int rc;
    char *text = make_request(p, q, &n, &rc);

    if (!text)
        return rc;
    p->channel.wait_ms = q->wait_ms;
    rc = wf_pmi1_exchange(p, text, n, &reply, "spawn_result");
    p->channel.wait_ms = 0;
    explicit_bzero(text, n);
    free(text);
    if (rc == WEFT_EAGAIN) {
        p->late_spawns++;
        return wf_fail(WEFT_EUNREACH,
                       "the launcher has not said within %.3g s (core."
                       "start_timeout) that it has started '%.100s': there is "
                       "no room for it, or it has ended before MPI_Init",
                       q->wait_ms / 1e3, q->commands[0].program);
    }
    if (rc == WEFT_EPROTO)
        return wf_fail(WEFT_ENOTSUP, "the launcher starts no processes for "
                                     "others: it does not answer as PMI-1 "
                                     "demands");
    if (rc < 0)
        return wf_pmi1_fail(p, rc, "spawn");
    read_codes(reply, statuses, wf_spawn_count(q));
    wf_pmi_field_int(reply, "job", job);
    return wf_pmi1_refused(reply) ? report_refusal(q, reply) : 0;
}

bool wf_pmi1_has_job_ended(struct wf_boot *boot, int job)
{
    struct wf_pmi1 *p = wf_pmi1_of(boot);

    if (wf_pmi1_hear(boot) < 0)
        return true; /* the launcher is gone, and its jobs with it */
    for (int i = 0; i < PMI_ENDED_JOBS; i++)
        if (p->ended_jobs[i] == job)
            return true;
    return false;
}
