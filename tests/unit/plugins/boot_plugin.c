/* A bootstrap as a file, whose launcher is the environment: BOOT_RANK, and the
 * size 4. When it is executed it makes the file $BOOT_MARK.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "weft_bootstrap.h"

static __attribute__((constructor)) void leave_mark(void)
{
    const char *mark = getenv("BOOT_MARK");

    if (mark)
        close(open(mark, O_CREAT | O_WRONLY, 0644));
}

struct weft_boot {
    int used;
};

static int open_boot(const weft_boot_host *host, weft_boot **out,
                     weft_boot_job *job, weft_boot_error *why)
{
    static struct weft_boot one;
    const char *rank = getenv("BOOT_RANK");

    if (!rank)
        return WEFT_EUNREACH;
    job->rank = (uint32_t)atoi(rank);
    job->count = 4;
    *out = &one;
    return 0;
}

static int put_value(weft_boot *b, const char *key, const void *value, size_t n,
               weft_boot_error *why)
{
    return 0;
}

static int get_value(weft_boot *b, uint32_t rank, const char *key, void **value,
               size_t *n, weft_boot_error *why)
{
    return WEFT_EUNREACH;
}

static int start_fence(weft_boot *b, weft_boot_error *why)
{
    return WEFT_ESYS;
}

static void end_job(weft_boot *b, int code, const char *message)
{
}

static int leave_job(weft_boot *b, weft_boot_error *why)
{
    return 0;
}

static void close_boot(weft_boot *b)
{
}

WEFT_BOOTSTRAP(pmix) = {
    .magic = WEFT_BOOT_MAGIC,
    .abi = ABI,
    .size = sizeof(weft_bootstrap),
    .name = "pmix",
    .open = open_boot,
    .put = put_value,
    .get = get_value,
    .fence = start_fence,
    .abort = end_job,
    .finalize = leave_job,
    .close = close_boot,
};
