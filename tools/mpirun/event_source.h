/* An event source is a descriptor in mpirun's epoll loop. It is the first
 * member of the object that owns it, or leads to that object.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MPIRUN_EVENT_SOURCE_H
#define WF_MPIRUN_EVENT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct job;
struct event_source {
    int fd; /* -1: closed */
    void (*ready)(struct job *, struct event_source *);
};

#endif
