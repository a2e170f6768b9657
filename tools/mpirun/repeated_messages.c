/* This file prints the fatal messages that ranks send before they end. Each
 * text is printed when the first rank sends it; the ranks that sent the same
 * text are named at the end. Texts that differ only in a rank's number count as
 * the same.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/base64.h"
#include "job.h"

struct repeated_message {
    char *text;
    bool *sent_by; /* [count] */
    struct repeated_message *next;
};

static const char *skip_rank(const char *text)
{
    text += strlen("rank ");
    while (isdigit((unsigned char)*text))
        text++;
    return text;
}

static bool is_same_text(const char *a, const char *b)
{
    while (*a && *a == *b) {
        if (strncmp(a, "rank ", 5) == 0 && strncmp(b, "rank ", 5) == 0) {
            a = skip_rank(a);
            b = skip_rank(b);
        } else {
            a++;
            b++;
        }
    }
    return *a == *b;
}

/* Note a message and take ownership of its text. */
static void note_message(struct job *job, const struct rank *r, char *text)
{
    struct repeated_message **at = &job->messages, *s;
    while (*at && !is_same_text((*at)->text, text))
        at = &(*at)->next;
    if (!*at) {
        fputs(text, stderr);
        s = calloc(1, sizeof(*s));
        bool *by = calloc((size_t)job->count, sizeof(*by));
        if (s && by) {
            *s = (struct repeated_message){text, by, NULL};
            by[r->index] = true;
            *at = s;
            return;
        }
        free(s);
        free(by);
    } else {
        (*at)->sent_by[r->index] = true;
    }
    free(text);
}

void wf_repeated_message_take(struct job *job, const struct rank *r,
                              const char *base64, size_t n)
{
    char *text = malloc(n / 4 * 3 + 3);
    long len = text ? wf_base64_decode(text, base64, n) : -1;
    if (len < 0) {
        free(text);
        return;
    }
    text[len] = 0;
    note_message(job, r, text);
}

/* Write the ranks as "0-3, 7"; returns false if they are fewer than two. */
static bool list_ranks(const struct job *job, const bool *by, char *out,
                       size_t size)
{
    int ranks = 0;
    size_t used = 0;
    out[0] = 0;
    for (int i = 0, end; i < job->count; i = end + 1) {
        for (end = i; end + 1 < job->count && by[i] && by[end + 1];)
            end++;
        if (!by[i] || used >= size)
            continue;
        const struct rank *first = &job->ranks[i], *last = &job->ranks[end];
        int to = last->id + last->rank_count - 1;
        ranks += to - first->id + 1;
        used += (size_t)snprintf(out + used, size - used,
                                 to > first->id ? "%s%d-%d" : "%s%d",
                                 used ? ", " : "", first->id, to);
    }
    return ranks > 1;
}

/* Returns whether `by` has ranks that no line has named, and marks them as
 * named. */
static bool names_new_ranks(const struct job *job, const bool *by, bool *named)
{
    bool found = false;

    for (int i = 0; i < job->count; i++) {
        found = found || (by[i] && !named[i]);
        named[i] = named[i] || by[i];
    }
    return found;
}

/* Print who has sent repeated messages. Some of the ranks that sent the first
 * of several texts were ended before they could send the others, which is not
 * worth a line each. */
void wf_repeated_message_report(struct job *job)
{
    bool *named = calloc((size_t)job->count, sizeof *named);
    char ranks[200];

    while (job->messages) {
        struct repeated_message *s = job->messages;
        job->messages = s->next;
        if (named && list_ranks(job, s->sent_by, ranks, sizeof(ranks)) &&
            names_new_ranks(job, s->sent_by, named) && !job->set.quiet)
            wf_job_say(job, "ranks %s ended with the same message", ranks);
        free(s->text);
        free(s->sent_by);
        free(s);
    }
    free(named);
}
