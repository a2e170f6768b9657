/* weft-info --trace FILE...: the rings of ranks (core/report/trace.h), merged
 * by time.
 *
 *   file --> head checked --> records that are complete --> sorted --> lines
 *
 * The files may come from ranks that were killed, from another host, or from
 * anywhere: nothing in them is used as a position or printed without a check. A
 * file that a rank still writes is read as it is at this moment.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "trace.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "report/trace.h"

enum { FILE_MAX = INT_MAX, SECOND = 1000000000 };

/* One event, of one of the files. */
struct event {
    uint64_t ns; /* since the epoch */
    uint64_t number;
    const struct wf_trace_head *head;
    const struct wf_trace_record *record;
};

/* The events of all files. */
struct events {
    struct event *at;
    size_t n, room;
    int bad; /* files that could not be used */
    FILE *errors;
};

static const char *const texts[WF_TRACE_EVENTS] = {
#define WF_EVENT(symbol, text) [WF_TRACE_##symbol] = text,
#include "report/trace_events.def"
};

/* ---- a file -------------------------------------------------------------- */

/* Returns what is wrong with the head, or NULL. */
static const char *find_fault(const struct wf_trace_head *h, size_t size)
{
    if (size < sizeof h->magic ||
        memcmp(h->magic, WF_TRACE_MAGIC, sizeof h->magic) != 0)
        return "it is not a trace of Weft";
    if (size < WF_TRACE_HEAD)
        return "it is cut off";
    if (h->order != WF_TRACE_ORDER)
        return "it was written by a machine with another byte order";
    if (h->version != WF_TRACE_VERSION || h->head_bytes != WF_TRACE_HEAD ||
        h->record_bytes != sizeof(struct wf_trace_record))
        return "it was written by another version of Weft";
    if (h->records == 0 || (h->records & (h->records - 1)) != 0 ||
        wf_load_relaxed(&h->names) > WF_TRACE_NAMES || h->newest > 1)
        return "its head is damaged";
    if (h->records > (size - WF_TRACE_HEAD) / sizeof(struct wf_trace_record))
        return "it is cut off";
    return NULL;
}

/* Returns the ns of one tick by the two clock pairs that are furthest apart. */
static double ns_per_tick(const struct wf_trace_head *h)
{
    const struct wf_trace_clock *a = &h->start, *b = &h->last[h->newest];

    if (b->ticks <= a->ticks || b->ns <= a->ns)
        return 1;
    return (double)(b->ns - a->ns) / (double)(b->ticks - a->ticks);
}

/* Returns the time of an event, by the clock pair at the start. */
static uint64_t time_of(const struct wf_trace_head *h, uint64_t ticks,
                        double scale)
{
    double ns = (double)(int64_t)(ticks - h->start.ticks) * scale;

    if (!(ns > -1e18 && ns < 1e18))
        return h->start.ns;
    return h->start.ns + (uint64_t)(int64_t)ns;
}

static bool reserve_events(struct events *all, uint64_t more)
{
    size_t room = all->n + (size_t)more;
    struct event *at = realloc(all->at, room * sizeof *at + 1);

    if (!at)
        return false;
    all->at = at;
    all->room = room;
    return true;
}

/* Adds the complete records of a file whose head is in order. */
static bool add_records(struct events *all, const struct wf_trace_head *h)
{
    const struct wf_trace_record *records =
        (const void *)((const char *)h + WF_TRACE_HEAD);
    uint64_t next = wf_load_relaxed(&h->next);
    uint64_t have = next < h->records ? next : h->records;
    double scale = ns_per_tick(h);

    if (!reserve_events(all, have))
        return false;
    for (uint64_t i = next - have; i != next; i++) {
        const struct wf_trace_record *r = &records[i & (h->records - 1)];
        uint8_t event = wf_load_relaxed(&r->event);
        if (event == WF_TRACE_NONE || event >= WF_TRACE_EVENTS)
            continue;
        all->at[all->n++] =
            (struct event){time_of(h, r->ticks, scale), i, h, r};
    }
    return true;
}

static void add_bytes(struct events *all, const char *file,
                      const struct wf_trace_head *h, size_t size)
{
    const char *fault = find_fault(h, size);

    if (!fault && !add_records(all, h))
        fault = "no memory for its events";
    if (!fault)
        return;
    fprintf(all->errors, "weft-info: '%s': %s\n", file, fault);
    all->bad++;
}

/* Reads a whole file. Returns its bytes, or NULL with errno set. */
static void *read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    struct stat st;
    char *bytes = NULL;

    if (!f)
        return NULL;
    if (fstat(fileno(f), &st) == 0 && !S_ISREG(st.st_mode))
        errno = EINVAL;
    else if (st.st_size > FILE_MAX)
        errno = EFBIG;
    else
        bytes = aligned_alloc(64, ((size_t)st.st_size + 64) & ~(size_t)63);
    if (bytes)
        *size = fread(bytes, 1, (size_t)st.st_size, f);
    fclose(f);
    return bytes;
}

/* ---- lines --------------------------------------------------------------- */

/* Copies a text of the file, with what a terminal might obey replaced. */
static const char *show_text(const char *from, size_t room, char *to)
{
    size_t n = 0;

    for (; n + 1 < room && from[n]; n++)
        to[n] = from[n] >= ' ' && from[n] <= '~' ? from[n] : '?';
    to[n] = 0;
    return to;
}

static const char *name_of(const struct wf_trace_head *h, unsigned number,
                           char to[WF_TRACE_NAME])
{
    if (number == 0 || number > wf_load_relaxed(&h->names))
        return "?";
    return show_text(h->name[number - 1], WF_TRACE_NAME, to);
}

static void print_peer(FILE *out, const char *word, int32_t peer)
{
    if (peer < 0)
        fprintf(out, " %s any", word);
    else
        fprintf(out, " %s %" PRId32, word, peer);
}

/* Prints the envelope: the tag, or that any is right, and the context. */
static void print_message(FILE *out, const struct wf_trace_record *r,
                          const char *word)
{
    print_peer(out, word, r->peer);
    if (r->comm >> 24 == 0)
        fprintf(out, " tag %" PRId32, r->tag);
    else
        fprintf(out, " of the library (space %u, tag %" PRId32 ")",
                r->comm >> 24, r->tag);
    fprintf(out, " context %u %" PRIu64 " bytes", r->comm & 0xffffff, r->bytes);
}

static void print_collective(FILE *out, const struct event *e)
{
    const struct wf_trace_record *r = e->record;
    char a[WF_TRACE_NAME], b[WF_TRACE_NAME], c[WF_TRACE_NAME];

    fprintf(out, " %s context %u", name_of(e->head, r->names[0], a),
            r->comm & 0xffffff);
    if (r->bytes)
        fprintf(out, " %" PRIu64 " bytes", r->bytes);
    fprintf(out, ": %s by %s", name_of(e->head, r->names[1], b),
            name_of(e->head, wf_trace_reason_of(r), c));
    if (wf_trace_rule_of(r))
        fprintf(out, " %u", wf_trace_rule_of(r));
}

static void print_details(FILE *out, const struct event *e, uint8_t event)
{
    const struct wf_trace_record *r = e->record;
    char name[WF_TRACE_NAME];

    switch (event) {
    case WF_TRACE_SEND_EAGER:
    case WF_TRACE_SEND_RENDEZVOUS:
        print_message(out, r, "to");
        break;
    case WF_TRACE_RECEIVE:
    case WF_TRACE_MATCH:
    case WF_TRACE_UNEXPECTED:
        print_message(out, r, "from");
        break;
    case WF_TRACE_COLLECTIVE:
        print_collective(out, e);
        break;
    case WF_TRACE_SLEEP:
        break;
    case WF_TRACE_WAKE:
        fprintf(out, " after %" PRIu64 " ns", r->bytes);
        break;
    case WF_TRACE_CONNECT:
    case WF_TRACE_LINK_UP:
    case WF_TRACE_CARRIER_LOST:
    case WF_TRACE_FAILOVER:
        print_peer(out, "process", r->peer);
        fprintf(out, " by '%s'", name_of(e->head, r->names[0], name));
        break;
    case WF_TRACE_DISCONNECT:
        print_peer(out, "process", r->peer);
        break;
    default:
        print_peer(out, "process", r->peer);
        fprintf(out, " %" PRIu64 " bytes", r->bytes);
    }
}

static void print_event(FILE *out, const struct event *e, uint64_t zero)
{
    uint8_t event = wf_load_relaxed(&e->record->event);
    uint64_t ns = e->ns - zero;

    if (event == WF_TRACE_NONE || event >= WF_TRACE_EVENTS)
        return; /* it is being overwritten */
    fprintf(out, "%3" PRIu64 ".%09" PRIu64 " [%" PRIu32 "] %s", ns / SECOND,
            ns % SECOND, e->head->rank, texts[event]);
    print_details(out, e, event);
    if (e->record->engine)
        fprintf(out, " engine %u", e->record->engine);
    fputc('\n', out);
}

static int compare_events(const void *a, const void *b)
{
    const struct event *x = a, *y = b;

    if (x->ns != y->ns)
        return x->ns < y->ns ? -1 : 1;
    if (x->head != y->head)
        return x->head->rank < y->head->rank ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static void print_file(FILE *out, const struct wf_trace_head *h)
{
    uint64_t next = wf_load_relaxed(&h->next);
    char host[sizeof h->host];

    fprintf(out,
            "# rank %" PRIu32 " of %" PRIu32 ", pid %" PRIu32 " on %s: %" PRIu64
            " events",
            h->rank, h->ranks, h->pid, show_text(h->host, sizeof host, host),
            next);
    if (next > h->records)
        fprintf(out, ", of which the last %" PRIu64 " are here", h->records);
    fprintf(out, "%s\n", h->closed ? "" : "; not ended by MPI_Finalize");
}

static int print_all(struct events *all, FILE *out)
{
    if (all->n)
        qsort(all->at, all->n, sizeof *all->at, compare_events);
    for (size_t i = 0; i < all->n; i++)
        print_event(out, &all->at[i], all->at[0].ns);
    free(all->at);
    return all->bad ? EXIT_FAILURE : EXIT_SUCCESS;
}

int info_trace_bytes(const void *bytes, size_t size, FILE *out, FILE *errors)
{
    struct events all = {.errors = errors};

    add_bytes(&all, "input", bytes, size);
    if (!all.bad)
        print_file(out, bytes);
    return print_all(&all, out);
}

int info_trace(char *const *files, int n, FILE *out, FILE *errors)
{
    struct events all = {.errors = errors};
    void **bytes = calloc((size_t)n + 1, sizeof *bytes);
    int rc;

    for (int i = 0; bytes && i < n; i++) {
        int bad = all.bad;
        size_t size = 0;
        bytes[i] = read_file(files[i], &size);
        if (bytes[i]) {
            add_bytes(&all, files[i], bytes[i], size);
        } else {
            fprintf(errors, "weft-info: cannot read '%s': %s\n", files[i],
                    strerror(errno));
            all.bad++;
        }
        if (all.bad == bad)
            print_file(out, bytes[i]);
    }
    rc = print_all(&all, out);
    for (int i = 0; bytes && i < n; i++)
        free(bytes[i]);
    free(bytes);
    return rc;
}
