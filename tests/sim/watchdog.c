/* A simulation that runs for too long prints the stacks of its threads before
 * CTest ends it: a hang that is seen once in a thousand runs can then be told
 * from its record. Linked into each simulation; it needs no call.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#if __has_include(<execinfo.h>)
#include <execinfo.h>
#else /* musl: the addresses of the callers are not to be had */
#define backtrace(frames, n) 0
#define backtrace_symbols_fd(frames, n, fd) ((void)(frames))
#endif

enum { LIMIT_S = 1300, FRAMES = 64, ONE_STACK_S = 20 };
#define STACK_SIGNAL (SIGRTMAX - 1)

/* Of the sanitizers; it knows functions and lines. */
extern void __sanitizer_print_stack_trace(void) __attribute__((weak));

static atomic_int printed; /* stacks */

static void print_own_stack(int signal)
{
    void *frames[FRAMES];
    char head[64];
    int n = snprintf(head, sizeof head, "---- thread %ld\n",
                     (long)syscall(SYS_gettid));

    (void)signal;
    (void)!write(STDERR_FILENO, head, (size_t)n);
    if (__sanitizer_print_stack_trace)
        __sanitizer_print_stack_trace();
    else
        backtrace_symbols_fd(frames, backtrace(frames, FRAMES), STDERR_FILENO);
    atomic_fetch_add(&printed, 1);
}

/* Waits until the thread has printed its stack, or does not answer. */
static void await_stack(int wanted)
{
    const struct timespec step = {.tv_nsec = 10000000};

    for (int i = 0; atomic_load(&printed) < wanted && i < 100 * ONE_STACK_S;
         i++)
        nanosleep(&step, NULL);
}

/* Returns whether a thread can answer: the C library's own, for timers, blocks
 * all signals. */
static int may_answer(const char *thread)
{
    char path[300], line[256];
    unsigned long long blocked = 0;
    FILE *status;

    snprintf(path, sizeof path, "/proc/self/task/%s/status", thread);
    status = fopen(path, "r");
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "SigBlk: %llx", &blocked) == 1)
            break;
    if (status)
        fclose(status);
    return !(blocked >> (STACK_SIGNAL - 1) & 1);
}

static void print_stacks(union sigval unused)
{
    static const char head[] = "watchdog: this program is stuck\n";
    DIR *threads = opendir("/proc/self/task");
    struct dirent *e;

    (void)unused;
    (void)!write(STDERR_FILENO, head, sizeof head - 1);
    while (threads && (e = readdir(threads))) {
        long thread = atol(e->d_name);
        int wanted = atomic_load(&printed) + 1;
        if (thread > 0 && thread != syscall(SYS_gettid) &&
            may_answer(e->d_name) &&
            syscall(SYS_tgkill, getpid(), thread, STACK_SIGNAL) == 0)
            await_stack(wanted);
    }
    _exit(1);
}

__attribute__((constructor)) static void start_watchdog(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD,
                             .sigev_notify_function = print_stacks};
    struct itimerspec limit = {.it_value.tv_sec = LIMIT_S};
    struct sigaction act = {.sa_handler = print_own_stack,
                            .sa_flags = SA_RESTART};
    const char *other = getenv("WATCHDOG_S");
    timer_t timer;

    if (other)
        limit.it_value.tv_sec = atol(other);
    if (sigaction(STACK_SIGNAL, &act, NULL) == 0 &&
        timer_create(CLOCK_MONOTONIC, &event, &timer) == 0)
        timer_settime(timer, 0, &limit, NULL);
}
