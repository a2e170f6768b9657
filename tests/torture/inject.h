/* Failing the n-th allocation or the n-th descriptor of a process.
 *
 * inject.c is linked into a dynamic program and defines the functions of libc
 * that give memory or descriptors, so that every caller in the process uses
 * them: the program, the library, and libc itself where it calls malloc.
 * Calls are counted and can fail only between inject_arm and inject_disarm.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef TORTURE_INJECT_H
#define TORTURE_INJECT_H

enum inject_kind {
    INJECT_NOTHING,
    INJECT_MEMORY, /* ENOMEM from allocators and mmap; no thread is made */
    INJECT_FILES   /* EMFILE from whatever makes a descriptor */
};

struct inject {
    enum inject_kind kind;
    long nth;    /* which call fails, from 1; 0: count only */
    int forever; /* so do all calls after it; but a descriptor that is closed
                    makes room for another */
};

/* From now on, count and fail. Threads that are ranks may arm and disarm at the
 * same time: the last one to disarm ends it. */
void inject_arm(const struct inject *);
/* Calls counted since the last inject_arm that found it disarmed. */
long inject_disarm(void);
/* Let the calls of this thread pass uncounted (1), or no longer (0). */
void inject_spare(int yes);
/* Whether some call has been failed. */
int inject_fired(void);
/* The call that failed first, and where from: for the reader of a report. */
void inject_trace(void);

#endif
