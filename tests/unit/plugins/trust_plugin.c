/* A plugin that does nothing, for trust_load.c: it shows that it was executed.
 *
 * NAME is its name, MARK the variable that names a file which its constructor
 * makes.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "weft_transport.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void run_case(void)
{
    const char *mark = getenv(MARK);
    int fd = mark ? open(mark, O_CREAT | O_WRONLY, 0600) : -1;

    if (fd >= 0)
        close(fd);
}

static int no_op(void)
{
    return WEFT_ENOTSUP;
}

struct config {
    uint64_t unused;
};

static const weft_option options[] = {{0}};
static const weft_ops ops = {
    .size = sizeof ops,
    .open = (void *)no_op,
    .close = (void *)no_op,
    .attr = (void *)no_op,
    .address = (void *)no_op,
    .reach = (void *)no_op,
    .peer_add = (void *)no_op,
    .peer_del = (void *)no_op,
    .send = (void *)no_op,
    .progress = (void *)no_op,
    .drain = (void *)no_op,
};

/* WEFT_PLUGIN joins its first argument to others before it is expanded. */
#define DEFINE(name)                                                           \
    WEFT_PLUGIN(name, "1", "does nothing", options, struct config, &ops)
DEFINE(NAME);
