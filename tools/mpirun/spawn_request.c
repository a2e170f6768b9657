/* This file reads spawn requests: see spawn_request.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "spawn_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "boot/pmi_word.h"
#include "pmi_server.h"

enum {
    BYTES_MOST = 16 << 20,
    COMMANDS_MOST = 10000,
    WORDS_MOST = 1000000,
    PROCESSES_MOST = 1000000
};

/* ---- growing ------------------------------------------------------------- */

static bool add_command(struct spawn_request *q)
{
    size_t n = (size_t)q->command_count + 1;
    struct spawn_command *list = realloc(q->commands, n * sizeof *list);

    if (!list)
        return false;
    q->commands = list;
    list[q->command_count++] = (struct spawn_command){.count = -1};
    return true;
}

static struct spawn_command *last_command(struct spawn_request *q)
{
    return &q->commands[q->command_count - 1];
}

/* Make room for the word of this index, and a NULL behind it. */
static bool grow_words(struct spawn_command *c, int index)
{
    char **argv;

    if (index < c->argc)
        return true;
    argv = realloc(c->argv, ((size_t)index + 2) * sizeof *argv);
    if (!argv)
        return false;
    c->argv = argv;
    argv[c->argc++] = NULL;
    argv[c->argc] = NULL;
    return true;
}

static bool grow_pairs(struct spawn_pairs *p, int index)
{
    struct spawn_pair *list;

    if (index < p->count)
        return true;
    list = realloc(p->list, ((size_t)index + 1) * sizeof *list);
    if (!list)
        return false;
    p->list = list;
    list[p->count++] = (struct spawn_pair){NULL, NULL};
    return true;
}

/* ---- lines --------------------------------------------------------------- */

/* If the line is "NAME<number>=", with a number of at least `low`, returns the
 * value behind it. */
static const char *find_value(const char *line, const char *name, int low,
                              int *index)
{
    size_t n = strlen(name);
    char *end;
    long i;

    if (strncmp(line, name, n) != 0 || line[n] < '0' || line[n] > '9')
        return NULL;
    i = strtol(line + n, &end, 10);
    if (*end != '=' || i < low || i > WORDS_MOST)
        return NULL;
    *index = (int)i;
    return end + 1;
}

/* Store a copy of a value. Returns false without memory. */
static bool store_text(struct spawn_request *q, char **place, const char *value)
{
    size_t n = strlen(value);
    char *text = malloc(n + 1);

    if (!text)
        return false;
    if (!q->words)
        memcpy(text, value, n + 1);
    else if (!wf_pmi_word_decode(text, n + 1, value, n)) {
        q->wrong = "a value has a zero byte";
        text[0] = '\0';
    }
    free(*place);
    *place = text;
    return true;
}

/* Returns whether an index continues a list; a gap makes the request wrong, so
 * that a few lines cannot ask for much memory. */
static bool continues_list(struct spawn_request *q, int index, int count)
{
    if (index <= count)
        return true;
    q->wrong = "an argument or a value is missing";
    return false;
}

static bool store_word(struct spawn_request *q, int index, const char *value)
{
    struct spawn_command *c = last_command(q);

    if (!continues_list(q, index, c->argc))
        return true;
    return grow_words(c, index) && store_text(q, &c->argv[index], value);
}

static bool store_pair(struct spawn_request *q, struct spawn_pairs *p,
                       int index, const char *value, bool is_key)
{
    if (!continues_list(q, index, p->count))
        return true;
    if (!grow_pairs(p, index))
        return false;
    return store_text(q, is_key ? &p->list[index].key : &p->list[index].value,
                      value);
}

static bool is_word(const char *line, const char *name, int *number)
{
    size_t n = strlen(name);
    char *end;
    long i;

    if (strncmp(line, name, n) != 0 || line[n] != '=')
        return false;
    i = strtol(line + n + 1, &end, 10);
    *number = *end || i < 0 || i > PROCESSES_MOST ? -1 : (int)i;
    return true;
}

/* Take a line inside a block. Returns false without memory. */
static bool take_word(struct spawn_request *q, const char *line)
{
    struct spawn_command *c = last_command(q);
    int number;
    const char *value;

    if (strncmp(line, "execname=", 9) == 0)
        return store_word(q, 0, line + 9);
    if ((value = find_value(line, "arg", 1, &number)))
        return store_word(q, number, value);
    if ((value = find_value(line, "preput_key_", 0, &number)))
        return store_pair(q, &q->preput, number, value, true);
    if ((value = find_value(line, "preput_val_", 0, &number)))
        return store_pair(q, &q->preput, number, value, false);
    if ((value = find_value(line, "info_key_", 0, &number)))
        return store_pair(q, &c->info, number, value, true);
    if ((value = find_value(line, "info_val_", 0, &number)))
        return store_pair(q, &c->info, number, value, false);
    if (is_word(line, "nprocs", &number))
        c->count = number;
    else if (is_word(line, "totspawns", &number))
        q->total = number;
    else if (is_word(line, "spawnssofar", &number))
        q->so_far = number;
    else if (is_word(line, "weft_words", &number))
        q->words = q->is_ours = number == 1;
    return true; /* argcnt, preput_num and the like say nothing new */
}

/* ---- the whole ----------------------------------------------------------- */

static bool has_gaps(const struct spawn_pairs *p)
{
    for (int i = 0; i < p->count; i++)
        if (!p->list[i].key || !p->list[i].value)
            return true;
    return false;
}

static const char *find_wrong(const struct spawn_request *q)
{
    long processes = 0;

    for (int i = 0; i < q->command_count; i++) {
        const struct spawn_command *c = &q->commands[i];
        if (c->count < 0)
            return "a command has no number of processes";
        processes += c->count;
        if (c->argc == 0 || !c->argv[0][0])
            return "a command has no program";
        if (has_gaps(&c->info))
            return "an info key or value is missing";
    }
    if (has_gaps(&q->preput))
        return "a value for the new job is missing";
    for (int i = 0; i < q->preput.count; i++)
        if (strlen(q->preput.list[i].value) > PMI_VALLEN)
            return "a value for the new job is too long";
    if (processes == 0)
        return "no process is asked for";
    return processes > PROCESSES_MOST ? "more processes than a job can have"
                                      : NULL;
}

static enum spawn_progress end_block(struct spawn_request *q)
{
    if (!q->wrong &&
        (q->total < 1 || q->so_far != q->command_count || q->so_far > q->total))
        q->wrong = "the commands are not numbered in order";
    if (!q->wrong && q->so_far < q->total)
        return SPAWN_MORE;
    if (!q->wrong)
        q->wrong = find_wrong(q);
    return SPAWN_COMPLETE;
}

enum spawn_progress wf_spawn_request_take(struct spawn_request **request,
                                          const char *line)
{
    struct spawn_request *q = *request;

    if (!q && !(q = *request = calloc(1, sizeof *q)))
        return SPAWN_NO_MEMORY;
    q->bytes += strlen(line);
    if (q->bytes > BYTES_MOST || q->command_count > COMMANDS_MOST)
        q->wrong = "the request is too long";
    if (strcmp(line, "endcmd") == 0 && q->command_count)
        return end_block(q);
    if (q->wrong)
        return SPAWN_MORE; /* until its block ends */
    if (strncmp(line, "mcmd=", 5) == 0) {
        q->words = false;
        if (strcmp(line, "mcmd=spawn") != 0)
            q->wrong = "it is no spawn request";
        return add_command(q) ? SPAWN_MORE : SPAWN_NO_MEMORY;
    }
    return q->command_count == 0 || take_word(q, line) ? SPAWN_MORE
                                                       : SPAWN_NO_MEMORY;
}

int wf_spawn_request_count(const struct spawn_request *q)
{
    int n = 0;

    for (int i = 0; i < q->command_count; i++)
        n += q->commands[i].count;
    return n;
}

const char *wf_spawn_info(const struct spawn_command *c, const char *key)
{
    const char *value = NULL;

    for (int i = 0; i < c->info.count; i++)
        if (strcmp(c->info.list[i].key, key) == 0)
            value = c->info.list[i].value;
    return value;
}

static void free_pairs(struct spawn_pairs *p)
{
    for (int i = 0; i < p->count; i++) {
        if (p->list[i].value)
            explicit_bzero(p->list[i].value, strlen(p->list[i].value));
        free(p->list[i].key);
        free(p->list[i].value);
    }
    free(p->list);
}

void wf_spawn_request_free(struct spawn_request *q)
{
    if (!q)
        return;
    for (int i = 0; i < q->command_count; i++) {
        for (int k = 0; k < q->commands[i].argc; k++)
            free(q->commands[i].argv[k]);
        free(q->commands[i].argv);
        free_pairs(&q->commands[i].info);
    }
    free(q->commands);
    free_pairs(&q->preput);
    free(q);
}
