/* The end of a process in which an assertion does not hold: see assert.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "report/assert.h"

#include <stdio.h>
#include <stdlib.h>

#include "process/rank.h"

_Noreturn void wf_assertion_failed(const char *file, int line,
                                   const char *function, const char *condition)
{
    struct wf_instance *wf = wf_current();
    char rank[16] = "?";

    if (wf)
        snprintf(rank, sizeof rank, "%u", wf->rank->id);
    fprintf(stderr, "weft[%s]: %s:%d: %s: assertion '%s' does not hold\n", rank,
            file, line, function, condition);
    abort();
}
