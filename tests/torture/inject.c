/* Failing the n-th allocation or descriptor: see inject.h.
 *
 * The functions behind ours are found by dlsym, so that a sanitizer's come
 * into play as well. A process is one victim: calls of all its threads count.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "inject.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { FRAMES = 24 };

static struct inject plan;
/* Held while armed changes. The first process that is armed begins the count: a
 * second one that took itself for the first would begin it again, and call n
 * would fail twice. */
static pthread_mutex_t arming = PTHREAD_MUTEX_INITIALIZER;
static atomic_int armed, fired;
/* room: descriptors closed since they ran out */
static atomic_long calls, room;
static void *frames[FRAMES];
static int frame_count;
static _Thread_local int spared, took_room;

/* The next definition of the function whose wrapper this is. */
#define NEXT(name)                                                             \
    static __typeof__(name) *next;                                             \
    if (!next)                                                                 \
        next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

/* The leak checker knows the dynamic loader's own memory by who called malloc,
 * which is the wrapper here. */
const char *__lsan_default_suppressions(void)
{
    return "leak:_dl_\n";
}

/* ---- counting ------------------------------------------------------------ */

void inject_spare(int yes)
{
    spared = yes;
}

static void remember_value(void)
{
    spared = 1; /* backtrace loads a library the first time */
    frame_count = backtrace(frames, FRAMES);
    spared = 0;
}

/* Libraries of others that do not survive it, and which nothing here can make
 * to: usrsctp takes what it gets from malloc unseen. */
static int find_foreign(struct dl_phdr_info *info, size_t size, void *caller)
{
    uintptr_t at = (uintptr_t)caller - info->dlpi_addr;
    (void)size;
    if (!strstr(info->dlpi_name, "libusrsctp"))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD &&
            at - info->dlpi_phdr[i].p_vaddr < info->dlpi_phdr[i].p_memsz)
            return 1;
    return 0;
}

/* A descriptor that was closed makes room for another. */
static int take_room(void)
{
    long n = atomic_load(&room);
    while (n > 0)
        if (atomic_compare_exchange_weak(&room, &n, n - 1))
            return took_room = 1;
    return 0;
}

/* The descriptor that was got, or -1: then the room is there still. */
static int give_room_back(int fd)
{
    int before = errno;
    if (fd < 0 && took_room)
        atomic_fetch_add(&room, 1);
    took_room = 0;
    errno = before;
    return fd;
}

static int fails_for(enum inject_kind kind, void *caller)
{
    if (!atomic_load(&armed) || kind != plan.kind || spared ||
        dl_iterate_phdr(find_foreign, caller))
        return 0;
    long n = atomic_fetch_add(&calls, 1) + 1;
    if (!plan.nth || n < plan.nth || (n > plan.nth && !plan.forever))
        return 0;
    if (n > plan.nth && kind == INJECT_FILES && take_room())
        return 0;
    if (!atomic_exchange(&fired, 1))
        remember_value();
    errno = kind == INJECT_MEMORY ? ENOMEM : EMFILE;
    return 1;
}

#define fails(kind) fails_for(kind, __builtin_return_address(0))

/* The first backtrace of a process loads a library, which allocates. */
static void warm_backtrace(void)
{
    void *warm[1];
    int before = spared;

    spared = 1;
    backtrace(warm, 1);
    spared = before;
}

void inject_arm(const struct inject *what)
{
    warm_backtrace();
    pthread_mutex_lock(&arming);
    if (atomic_load(&armed) == 0) {
        plan = *what;
        atomic_store(&calls, 0);
    }
    atomic_fetch_add(&armed, 1);
    pthread_mutex_unlock(&arming);
}

long inject_disarm(void)
{
    pthread_mutex_lock(&arming);
    if (atomic_load(&armed) > 0)
        atomic_fetch_sub(&armed, 1);
    pthread_mutex_unlock(&arming);
    return atomic_load(&calls);
}

int inject_fired(void)
{
    return atomic_load(&fired);
}

void inject_trace(void)
{
    if (frame_count > 2)
        backtrace_symbols_fd(frames + 2, frame_count - 2, STDERR_FILENO);
}

/* ---- memory -------------------------------------------------------------- */

void *malloc(size_t n)
{
    NEXT(malloc);
    return fails(INJECT_MEMORY) ? NULL : next(n);
}

void *calloc(size_t n, size_t size)
{
    NEXT(calloc);
    return fails(INJECT_MEMORY) ? NULL : next(n, size);
}

void *realloc(void *p, size_t n)
{
    NEXT(realloc);
    return fails(INJECT_MEMORY) ? NULL : next(p, n);
}

void *aligned_alloc(size_t align, size_t n)
{
    NEXT(aligned_alloc);
    return fails(INJECT_MEMORY) ? NULL : next(align, n);
}

int posix_memalign(void **p, size_t align, size_t n)
{
    NEXT(posix_memalign);
    return fails(INJECT_MEMORY) ? ENOMEM : next(p, align, n);
}

void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset)
{
    NEXT(mmap);
    return fails(INJECT_MEMORY) ? MAP_FAILED
                                : next(at, n, prot, flags, fd, offset);
}

int ftruncate(int fd, off_t n)
{
    NEXT(ftruncate);
    if (!fails(INJECT_MEMORY))
        return next(fd, n);
    errno = ENOSPC;
    return -1;
}

/* The address sanitizer calls it in each thread that begins, and does not
 * survive its failure; nothing of ours does. */
int pthread_getattr_np(pthread_t t, pthread_attr_t *attr)
{
    int before = spared, rc;

    NEXT(pthread_getattr_np);
    spared = 1;
    rc = next(t, attr);
    spared = before;
    return rc;
}

int pthread_create(pthread_t *t, const pthread_attr_t *attr,
                   void *(*run)(void *), void *arg)
{
    NEXT(pthread_create);
    return fails(INJECT_MEMORY) ? EAGAIN : next(t, attr, run, arg);
}

/* ---- descriptors --------------------------------------------------------- */

int socket(int domain, int type, int protocol)
{
    NEXT(socket);
    return fails(INJECT_FILES) ? -1
                               : give_room_back(next(domain, type, protocol));
}

int accept4(int fd, struct sockaddr *a, socklen_t *n, int flags)
{
    NEXT(accept4);
    return fails(INJECT_FILES) ? -1 : give_room_back(next(fd, a, n, flags));
}

int epoll_create1(int flags)
{
    NEXT(epoll_create1);
    return fails(INJECT_FILES) ? -1 : give_room_back(next(flags));
}

int eventfd(unsigned start, int flags)
{
    NEXT(eventfd);
    return fails(INJECT_FILES) ? -1 : give_room_back(next(start, flags));
}

int timerfd_create(int clock, int flags)
{
    NEXT(timerfd_create);
    return fails(INJECT_FILES) ? -1 : give_room_back(next(clock, flags));
}

int memfd_create(const char *name, unsigned flags)
{
    NEXT(memfd_create);
    return fails(INJECT_FILES) ? -1 : give_room_back(next(name, flags));
}

int dup(int fd)
{
    NEXT(dup);
    return fails(INJECT_FILES) ? -1 : give_room_back(next(fd));
}

int pipe2(int fd[2], int flags)
{
    NEXT(pipe2);
    return fails(INJECT_FILES) ? -1 : give_room_back(next(fd, flags));
}

int close(int fd)
{
    NEXT(close);
    int rc = next(fd);
    if (rc == 0 && atomic_load(&fired) && plan.kind == INJECT_FILES)
        atomic_fetch_add(&room, 1);
    return rc;
}

FILE *fopen(const char *path, const char *mode)
{
    NEXT(fopen);
    return fails(INJECT_FILES) ? NULL : next(path, mode);
}

/* An open takes a descriptor, and memory of the kernel. */
static int opening_fails(void *caller)
{
    return fails_for(INJECT_FILES, caller) || fails_for(INJECT_MEMORY, caller);
}

static int has_mode(int flags)
{
    return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
}

int open(const char *path, int flags, ...)
{
    NEXT(open);
    va_list args;
    va_start(args, flags);
    mode_t mode = has_mode(flags) ? va_arg(args, mode_t) : 0;
    va_end(args);
    return opening_fails(__builtin_return_address(0))
               ? -1
               : give_room_back(next(path, flags, mode));
}

int openat(int directory, const char *path, int flags, ...)
{
    NEXT(openat);
    va_list args;
    va_start(args, flags);
    mode_t mode = has_mode(flags) ? va_arg(args, mode_t) : 0;
    va_end(args);
    return opening_fails(__builtin_return_address(0))
               ? -1
               : give_room_back(next(directory, path, flags, mode));
}

/* Up to six words, as the kernel takes them. pidfd_open has no wrapper in every
 * libc. */
long syscall(long number, ...)
{
    NEXT(syscall);
    long a[6];
    va_list args;
    va_start(args, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(args, long);
    va_end(args);
    if ((number == SYS_pidfd_open || number == SYS_memfd_create) &&
        fails(INJECT_FILES))
        return -1;
    return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* A descriptor that comes with a message finds no place: the kernel delivers
 * the bytes, drops the descriptor, and sets MSG_CTRUNC. */
ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
    NEXT(recvmsg);
    ssize_t n = next(fd, m, flags);
    struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(m) : NULL;
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
        fails(INJECT_FILES)) {
        size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int got;
            memcpy(&got, CMSG_DATA(c) + i * sizeof got, sizeof got);
            close(got);
        }
        m->msg_controllen = 0;
        m->msg_flags |= MSG_CTRUNC;
    }
    return n;
}
