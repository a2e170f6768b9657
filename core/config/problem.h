/* Problems found in a configuration: collected first, printed together.
 *
 * A person who repairs a file wants every mistake at once and in the order of
 * the lines, whichever pass found them.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROBLEM_H
#define WF_PROBLEM_H

#include <stdbool.h>
#include <stdio.h>

/* A place in a file. line 0: `file` is no file, but "WEFT_SET", "built in". */
struct wf_place {
    const char *file;
    int line, col;
};

struct wf_problem;

struct wf_problems {
    struct wf_problem *list;
    int count;
    bool failed; /* one could not be kept: no memory */
};

/* Add a problem at a place. */
void wf_problem_add(struct wf_problems *, const struct wf_place *,
                    const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Print all problems, sorted by place, to out (NULL: nowhere), and free them.
 * Returns how many there were. */
int wf_problems_flush(struct wf_problems *, FILE *out);

#endif
