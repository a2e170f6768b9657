/* Fuzz target: any bytes as a trace (core/report/trace.h), for weft-info.
 *
 * Whatever stands there gives lines in which nothing is that a terminal would
 * obey, or a message that says what is wrong.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((text[i] < ' ' || text[i] > '~') && text[i] != '\n')
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = NULL, *wrong = NULL;
    size_t n = 0, wrong_n = 0;
    FILE *out = open_memstream(&text, &n);
    FILE *errors = open_memstream(&wrong, &wrong_n);
    size_t room = (size + 64) & ~(size_t)63;
    void *bytes = aligned_alloc(64, room);
    int rc;

    if (!out || !errors || !bytes)
        abort();
    memcpy(bytes, data, size);
    rc = info_trace_bytes(bytes, size, out, errors);
    fclose(out);
    fclose(errors);
    if ((rc == 0) != (wrong_n == 0))
        abort();
    check_text(text, n);
    check_text(wrong, wrong_n);
    free(bytes);
    free(text);
    free(wrong);
    return 0;
}
