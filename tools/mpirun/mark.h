/* A mark tells the processes of a job from others: it is a variable in their
 * environments.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MARK_H
#define WF_MARK_H

#include <stddef.h>
#include <sys/types.h>

enum wf_mark {
    WF_MARK_MISSING,
    WF_MARK_THERE,
    WF_MARK_UNKNOWN /* it is about to execute a program */
};

/* Looks for the mark, whose size includes a zero byte before it and one after
 * it, in the environment of the process. One that ends, or that this user may
 * not look into, has none. */
enum wf_mark wf_mark_find(pid_t pid, const char *mark, size_t mark_size);

#endif
