/* PMI-1 client: mpirun, Hydra, flux, Slurm (--mpi=pmi2 answers PMI-1 too).
 *
 *   init  get_maxes  get_my_kvsname  [put]*  barrier_in  [get]*  finalize
 *
 * Each request is one line and has one answer. Values are base64, cut where
 * the launcher's limit demands: the key itself holds the text, or "*n" when
 * the text is in key.0 ... key.(n-1).
 *
 * INVARIANTS  Whatever the launcher answers, at worst the call fails.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base.h"
#include "boot/base64.h"
#include "boot/pmi_channel.h"
#include "boot/pmi_line.h"
#include "boot/providers.h"

enum {
    PMI_KEY_MAX = 256,       /* our own buffers for names */
    PMI_VALUE_MAX = 896,     /* a put must fit the 1024-byte line buffers of
                                launchers, whatever vallen_max they claim */
    PMI_VALUE_MIN = 32,
    FIRST_ROOM = 64, /* bytes: more than a job key, which comes once */
    PMI_CHUNKS_MAX = 4096
};

struct pmi1 {
    struct wf_boot base;
    struct wf_pmi_channel channel;
    size_t key_max, value_max; /* characters that fit */
    char kvsname[PMI_KEY_MAX];
    bool in_fence; /* barrier_out is still to be read */
};

static struct pmi1 *pmi1_of(struct wf_boot *boot)
{
    return wf_container(boot, struct pmi1, base);
}

/* Read the answer, which must be "cmd=answer". A fence may be under way: its
 * end comes when it likes. */
static int await(struct pmi1 *p, char **reply, const char *answer)
{
    int rc = wf_pmi_channel_line(&p->channel, reply);
    if (rc == 0 && p->in_fence && wf_pmi_field_is(*reply, "cmd", "barrier_out")) {
        p->in_fence = false;
        p->base.fence_passed = true;
        if (strcmp(answer, "barrier_out") == 0)
            return 0;
        rc = wf_pmi_channel_line(&p->channel, reply);
    }
    if (rc == 0 && !wf_pmi_field_is(*reply, "cmd", answer))
        rc = WEFT_EPROTO;
    if (p->in_fence && wf_pmi_channel_pending(&p->channel))
        p->base.fence_passed = true; /* the descriptor will not say so */
    return rc;
}

/* Send one line and read its answer. */
static int ask(struct pmi1 *p, char **reply, const char *answer,
               const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

static int ask(struct pmi1 *p, char **reply, const char *answer,
               const char *fmt, ...)
{
    char text[2 * PMI_KEY_MAX + PMI_VALUE_MAX + 64];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof(text))
        return WEFT_EINVAL;
    int rc = wf_pmi_channel_send(&p->channel, text, (size_t)n);
    return rc < 0 ? rc : await(p, reply, answer);
}

/* rc=0, or no rc at all, is success on this wire. */
static bool refused(const char *reply)
{
    int rc = 0;
    const char *value;
    size_t len;
    if (!wf_pmi_field(reply, "rc", &value, &len))
        return false;
    return !wf_pmi_field_int(reply, "rc", &rc) || rc != 0;
}

static int complain(struct pmi1 *p, int rc, const char *what)
{
    const char *why = rc == WEFT_ENOMEM   ? "no memory for the answer"
                      : rc == WEFT_EPEER  ? "the launcher is gone"
                      : rc == WEFT_EPROTO ? "the launcher's answer is not PMI-1"
                                          : strerror(p->channel.error);
    wf_boot_complain(&p->base, "PMI %s: %s", what, why);
    return rc;
}

/* ---- put and get ------------------------------------------------------ */

static int put_text(struct pmi1 *p, const char *key, const char *text, size_t n)
{
    char *reply;
    int rc = ask(p, &reply, "put_result", "cmd=put kvsname=%s key=%s value=%.*s\n",
                 p->kvsname, key, (int)n, text);
    if (rc == 0 && refused(reply)) {
        wf_boot_complain(&p->base, "PMI put of %s was refused: %.200s", key,
                         reply);
        return WEFT_EPROTO;
    }
    return rc < 0 ? complain(p, rc, "put") : 0;
}

static int put_cut(struct pmi1 *p, const char *key, const char *text, size_t n)
{
    char part[PMI_KEY_MAX + 16], count[16];
    size_t chunks = 0;
    for (size_t at = 0; at < n; at += p->value_max, chunks++) {
        size_t len = n - at < p->value_max ? n - at : p->value_max;
        snprintf(part, sizeof(part), "%s.%zu", key, chunks);
        int rc = put_text(p, part, text + at, len);
        if (rc < 0)
            return rc;
    }
    snprintf(count, sizeof(count), "*%zu", chunks);
    return put_text(p, key, count, strlen(count));
}

static int pmi1_put(struct wf_boot *boot, const char *key, const void *value,
                    size_t n)
{
    struct pmi1 *p = pmi1_of(boot);
    size_t len = wf_base64_len(n);
    if (strlen(key) + 6 > p->key_max || len / p->value_max >= PMI_CHUNKS_MAX) {
        wf_boot_complain(boot, "%s with %zu bytes is too long for the launcher",
                         key, n);
        return WEFT_EINVAL;
    }
    char *text = malloc(len + 1);
    if (!text)
        return WEFT_ENOMEM;
    wf_base64_encode(text, value, n);
    int rc = len <= p->value_max ? put_text(p, key, text, len)
                                 : put_cut(p, key, text, len);
    explicit_bzero(text, len);
    free(text);
    return rc;
}

/* The text under a key, valid until the next request. */
static int get_text(struct pmi1 *p, const char *key, const char **text,
                    size_t *len)
{
    char *reply;
    int rc = ask(p, &reply, "get_result", "cmd=get kvsname=%s key=%s\n",
                 p->kvsname, key);
    if (rc < 0)
        return complain(p, rc, "get");
    if (refused(reply))
        return WEFT_EUNREACH;
    if (!wf_pmi_field(reply, "value", text, len)) {
        *text = "";
        *len = 0;
    }
    return 0;
}

/* It may have been the job key's. */
static void wipe_text(char *text, size_t n)
{
    if (text)
        explicit_bzero(text, n);
    free(text);
}

/* Append the text under one key to a growing string. */
static int append_text(struct pmi1 *p, const char *key, char **all, size_t *n)
{
    const char *text;
    size_t len;
    int rc = get_text(p, key, &text, &len);
    if (rc < 0)
        return rc;
    char *grown = malloc(*n + len + 1);
    if (!grown)
        return WEFT_ENOMEM;
    if (*n)
        memcpy(grown, *all, *n);
    memcpy(grown + *n, text, len);
    wipe_text(*all, *n);
    *all = grown;
    *n += len;
    return 0;
}

struct value {
    void *bytes;
    size_t n;
};

static int get_cut(struct pmi1 *p, const char *key, const char *count,
                   char **all, size_t *n)
{
    char part[PMI_KEY_MAX + 16];
    long chunks = strtol(count, NULL, 10);
    if (chunks < 1 || chunks > PMI_CHUNKS_MAX)
        return WEFT_EPROTO;
    for (long i = 0; i < chunks; i++) {
        snprintf(part, sizeof(part), "%s.%ld", key, i);
        int rc = append_text(p, part, all, n);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* value->bytes holds FIRST_ROOM bytes. */
static int decode(const char *text, size_t len, struct value *value)
{
    size_t room = len / 4 * 3 + 3;
    if (room > FIRST_ROOM) {
        free(value->bytes);
        value->bytes = malloc(room);
    }
    if (!value->bytes)
        return WEFT_ENOMEM;
    long got = wf_base64_decode(value->bytes, text, len);
    if (got < 0) {
        explicit_bzero(value->bytes, room);
        return WEFT_EPROTO;
    }
    value->n = (size_t)got;
    return 0;
}

/* The value under a key whose text is at hand; that is wiped where it lies, for it
 * may be the job key. */
static int take_text(struct pmi1 *p, const char *key, char *text, size_t len,
                     struct value *out)
{
    char *all = NULL, count[16] = "";
    int rc;
    if (len == 0 || text[0] != '*') {
        rc = decode(text, len, out);
        explicit_bzero(text, len);
        return rc;
    }
    if (len >= sizeof(count))
        return WEFT_EPROTO;
    memcpy(count, text + 1, len - 1);
    len = 0;
    rc = get_cut(p, key, count, &all, &len);
    if (rc == 0)
        rc = decode(all, len, out);
    wipe_text(all, len);
    return rc;
}

static int pmi1_get(struct wf_boot *boot, const char *key, void **value,
                    size_t *n)
{
    struct pmi1 *p = pmi1_of(boot);
    const char *text;
    size_t len;
    if (strlen(key) >= PMI_KEY_MAX)
        return WEFT_EINVAL;
    /* Allocate first: mpirun gives the job key once. */
    struct value got = {malloc(FIRST_ROOM), 0};
    int rc = got.bytes ? get_text(p, key, &text, &len) : WEFT_ENOMEM;
    if (rc == 0)
        rc = take_text(p, key, (char *)(uintptr_t)text, len, &got);
    if (rc < 0) {
        free(got.bytes);
        return rc;
    }
    *value = got.bytes;
    *n = got.n;
    return 0;
}

/* ---- the rest of the interface ---------------------------------------- */

static int pmi1_fence_start(struct wf_boot *boot, int *fd)
{
    static const char text[] = "cmd=barrier_in\n";
    struct pmi1 *p = pmi1_of(boot);
    int rc = wf_pmi_channel_send(&p->channel, text, sizeof text - 1);
    *fd = p->channel.fd;
    boot->fence_passed = false;
    p->in_fence = rc == 0;
    return rc < 0 ? complain(p, rc, "barrier") : 0;
}

static int pmi1_fence_end(struct wf_boot *boot)
{
    struct pmi1 *p = pmi1_of(boot);
    char *reply;
    int rc = p->in_fence ? await(p, &reply, "barrier_out") : 0;
    return rc < 0 ? complain(p, rc, "barrier") : 0;
}

static void pmi1_abort(struct wf_boot *boot, int code, const char *message)
{
    char text[64];
    int n = snprintf(text, sizeof(text), "cmd=abort exitcode=%d\n", code);
    (void)wf_pmi_channel_send(&pmi1_of(boot)->channel, text, (size_t)n);
}

static int pmi1_finalize(struct wf_boot *boot)
{
    struct pmi1 *p = pmi1_of(boot);
    char *reply;
    int rc = ask(p, &reply, "finalize_ack", "cmd=finalize\n");
    return rc < 0 ? complain(p, rc, "finalize") : 0;
}

static void pmi1_close(struct wf_boot *boot)
{
    struct pmi1 *p = pmi1_of(boot);
    wf_pmi_channel_close(&p->channel);
    free(boot->node_of);
    free(p);
}

static const struct wf_boot_ops pmi1_ops = {
    "pmi1",         pmi1_put,   pmi1_get,      pmi1_fence_start,
    pmi1_fence_end, pmi1_abort, pmi1_finalize, pmi1_close,
    NULL};

/* ---- opening ---------------------------------------------------------- */

/* A TCP connection says who it is, and is told its rank and the size. */
static int identify(struct pmi1 *p)
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

static int read_environment(struct pmi1 *p)
{
    long rank = wf_boot_env_number("PMI_RANK");
    long size = wf_boot_env_number("PMI_SIZE");
    if (rank < 0 || size < 1 || rank >= size)
        return WEFT_EINVAL;
    p->base.rank = (uint32_t)rank;
    p->base.size = (uint32_t)size;
    return 0;
}

static int greet(struct pmi1 *p)
{
    char *reply;
    int key_max = 0, value_max = 0;
    int rc = ask(p, &reply, "response_to_init",
                 "cmd=init pmi_version=1 pmi_subversion=1\n");
    if (rc == 0 && refused(reply))
        rc = WEFT_EPROTO;
    if (rc == 0)
        rc = ask(p, &reply, "maxes", "cmd=get_maxes\n");
    if (rc < 0)
        return rc;
    wf_pmi_field_int(reply, "keylen_max", &key_max);
    wf_pmi_field_int(reply, "vallen_max", &value_max);
    /* both limits count the final NUL in some launchers */
    p->key_max = key_max > 1 ? (size_t)key_max - 1 : 31;
    if (p->key_max >= PMI_KEY_MAX)
        p->key_max = PMI_KEY_MAX - 1;
    p->value_max = value_max > PMI_VALUE_MIN ? (size_t)value_max - 1
                                             : PMI_VALUE_MIN;
    if (p->value_max > PMI_VALUE_MAX)
        p->value_max = PMI_VALUE_MAX;
    rc = ask(p, &reply, "my_kvsname", "cmd=get_my_kvsname\n");
    if (rc == 0 && !wf_pmi_field_copy(reply, "kvsname", p->kvsname,
                                      sizeof(p->kvsname)))
        rc = WEFT_EPROTO;
    return rc;
}

static int read_numbers(struct pmi1 *p)
{
    char *reply;
    int n = -1;
    int rc = ask(p, &reply, "appnum", "cmd=get_appnum\n");
    if (rc < 0)
        return rc;
    wf_pmi_field_int(reply, "appnum", &n);
    p->base.appnum = n;
    rc = ask(p, &reply, "universe_size", "cmd=get_universe_size\n");
    if (rc < 0)
        return rc;
    n = 0;
    wf_pmi_field_int(reply, "size", &n);
    p->base.universe_size = n > 0 ? (uint32_t)n : 0;
    return 0;
}

static int read_nodes(struct pmi1 *p)
{
    const char *text;
    size_t len;
    struct wf_boot *b = &p->base;
    int rc = get_text(p, "PMI_process_mapping", &text, &len);
    if (rc < 0 ||
        wf_pmi_map_parse(text, len, b->size, b->node_of, &b->node_count) < 0) {
        /* an optional hint: without it every rank asks the cards */
        free(b->node_of);
        b->node_of = NULL;
    }
    if (rc < 0 && rc != WEFT_EUNREACH)
        return rc;
    rc = get_text(p, "weft.hosts", &text, &len);
    if (rc < 0 && rc != WEFT_EUNREACH)
        return rc;
    b->one_host = (rc == 0 && len > 0 && text[0] == '1') ||
                  (b->node_of && b->node_count == 1);
    b->awaits = rc == 0 && len == 7 && memcmp(text + 1, ",await", 6) == 0;
    return 0;
}

static int make_room_for_nodes(struct pmi1 *p)
{
    p->base.node_of = calloc(p->base.size, sizeof *p->base.node_of);
    return p->base.node_of ? 0 : WEFT_ENOMEM;
}

/* Everything that needs memory, as far as it is known, before the launcher is
 * spoken to on a descriptor that is there once: a failure leaves it untouched,
 * and the program may try again. */
static struct pmi1 *prepare(char *err, size_t err_len, int *rc)
{
    struct pmi1 *p = calloc(1, sizeof(*p));
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

static int converse(struct pmi1 *p)
{
    int rc = 0;
    if (!getenv("PMI_FD"))
        rc = identify(p);
    if (rc == 0 && !p->base.node_of)
        rc = make_room_for_nodes(p);
    if (rc == 0)
        rc = greet(p);
    if (rc == 0)
        rc = read_numbers(p);
    return rc == 0 ? read_nodes(p) : rc;
}

int wf_boot_pmi1_open(struct wf_boot **out, char *err, size_t err_len)
{
    int rc;
    struct pmi1 *p = prepare(err, err_len, &rc);
    if (!p)
        return rc;
    p->base.ops = &pmi1_ops;
    rc = wf_pmi_channel_open(&p->channel, err, err_len);
    if (rc < 0)
        goto err_free;
    p->base.launcher = wf_pmi_channel_peer(&p->channel);
    rc = converse(p);
    if (rc == WEFT_ENOMEM) {
        snprintf(err, err_len, "no memory for what the launcher says");
        goto err_close;
    }
    if (rc < 0) {
        snprintf(err, err_len,
                 "the launcher behind %s does not speak PMI-1%s",
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
    free(p);
    return rc;
}
