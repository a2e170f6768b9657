/* Fuzz target: any bytes as the lines of a spawn request and of a request for a
 * name, as mpirun takes them.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "base.h"
#include "names.h"
#include "spawn_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A complete request is one that can be started. */
static void check_request(const struct spawn_request *q)
{
    int n = 0;

    if (q->wrong)
        return;
    for (int i = 0; i < q->command_count; i++) {
        const struct spawn_command *c = &q->commands[i];
        if (!c->argv || !c->argv[0] || !c->argv[0][0] || c->argv[c->argc])
            abort();
        for (int k = 0; k < c->argc; k++)
            if (!c->argv[k])
                abort();
        for (int k = 0; k < c->info.count; k++)
            if (!wf_spawn_info(c, c->info.list[k].key))
                abort();
        n += c->count;
    }
    if (n < 1 || n != wf_spawn_request_count(q))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), *rest = text, *line, answer[256];
    struct spawn_request *q = NULL;
    struct name_table *names = NULL;

    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    while ((line = strsep(&rest, "\n")) != NULL) {
        wf_name_serve(&names, "r1", line, answer, sizeof answer);
        enum spawn_progress progress = wf_spawn_request_take(&q, line);
        if (progress == SPAWN_MORE)
            continue;
        if (progress == SPAWN_COMPLETE)
            check_request(q);
        wf_spawn_request_free(q);
        q = NULL;
    }
    wf_spawn_request_free(q);
    wf_name_forget(names, "r1");
    wf_name_free(names);
    free(text);
    return 0;
}
