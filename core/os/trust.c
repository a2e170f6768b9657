/* Opens files that only root and the effective user can have written.
 *
 * DESIGN  The path is walked from / one name at a time, by descriptors (openat
 * with O_PATH and O_NOFOLLOW), and this code follows links itself. So each step
 * starts from the very object that was judged, and nothing can be exchanged in
 * between. Each directory, each link and the file are judged by the same rule,
 * judge_object(). The first object that breaks it is remembered and the walk
 * goes on, because a file that does not exist is absent and not refused.
 *
 * RULE  An object belongs to root or the effective user, and neither its group
 * nor others may write it (the group bits include the entries of an access
 * control list). A directory that others may write is passed through only if it
 * is sticky, as /tmp: there no other user can rename or remove an entry of root
 * or the effective user. But any user may make a hard link to such a file
 * there, or mount a file system (FUSE) on an entry of theirs; so an entry of
 * such a directory must have one name and must not be a mount point.
 *
 * INVARIANTS
 *   1. why[0] != 0 before a walk ends at a file if any object was refused.
 *   2. A descriptor is returned only if it was itself judged and why[0] == 0.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "os/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/shortage.h"

enum { LINKS_MAX = 40, OTHERS_WRITE = S_IWGRP | S_IWOTH };

struct walk {
    int dir;             /* the directory that the walk has reached; O_PATH */
    struct stat at;      /* of dir */
    char name[PATH_MAX]; /* of dir, "" for the root: for messages only */
    char rest[PATH_MAX]; /* the names that are left to walk */
    int links;           /* followed so far */
    char *why;           /* the first refusal, or "" */
    size_t n;
};

bool wf_trust_caller(void)
{
    return getauxval(AT_SECURE) == 0;
}

const char *wf_trust_getenv(const char *name)
{
    return wf_trust_caller() ? getenv(name) : NULL;
}

/* Judges `name`, an entry of w->dir; "" is the root, and ".." has no entry. */
static void judge_object(struct walk *w, const char *name,
                         const struct stat *st)
{
    bool link = S_ISLNK(st->st_mode), dir = S_ISDIR(st->st_mode);
    bool entry = *name && strcmp(name, "..") != 0;
    const char *what = dir ? "directory" : link ? "link" : "file";
    unsigned mode = st->st_mode & 07777, me = geteuid();

    if (w->why[0])
        return;
    if (st->st_uid != 0 && st->st_uid != me)
        snprintf(w->why, w->n,
                 "%s %s/%s belongs to user %u (mode %04o), and only what "
                 "belongs to root or to user %u is trusted; use a copy in a "
                 "directory of your own",
                 what, w->name, name, (unsigned)st->st_uid, mode, me);
    else if (!link && mode & OTHERS_WRITE && !(dir && mode & S_ISVTX))
        snprintf(w->why, w->n,
                 "others may write %s %s/%s (user %u, group %u, mode %04o); "
                 "correct it with chmod go-w",
                 what, w->name, name, (unsigned)st->st_uid,
                 (unsigned)st->st_gid, mode);
    else if (entry && w->at.st_mode & OTHERS_WRITE &&
             (st->st_dev != w->at.st_dev || (!dir && st->st_nlink != 1)))
        snprintf(w->why, w->n,
                 "%s %s/%s is a mount point or a hard link, which others may "
                 "have made in %s (mode %04o); use a copy in a directory of "
                 "your own",
                 what, w->name, name, w->name, (unsigned)w->at.st_mode & 07777);
}

/* Makes `fd`, the directory `name`, the one that the walk has reached. */
static int enter_directory(struct walk *w, int fd, const char *name,
                           const struct stat *st)
{
    size_t used = strlen(w->name), room = sizeof w->name - used;

    if (strcmp(name, "..") == 0)
        w->name[used ? strrchr(w->name, '/') - w->name : 0] = '\0';
    else if (*name &&
             (size_t)snprintf(w->name + used, room, "/%s", name) >= room)
        return ENAMETOOLONG;
    if (w->dir >= 0)
        close(w->dir);
    w->dir = fd;
    w->at = *st;
    return 0;
}

static int enter_root(struct walk *w)
{
    struct stat st;
    int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0 || fstat(fd, &st) != 0)
        return errno;
    w->name[0] = '\0';
    judge_object(w, "", &st);
    return enter_directory(w, fd, "", &st);
}

/* Puts the target of the link `fd` before the names that are left. */
static int follow_link(struct walk *w, int fd)
{
    char target[PATH_MAX], rest[PATH_MAX];
    ssize_t n = readlinkat(fd, "", target, sizeof target - 1);

    if (n <= 0)
        return n < 0 ? errno : ENOENT;
    if (++w->links > LINKS_MAX)
        return ELOOP;
    target[n] = '\0';
    if ((size_t)snprintf(rest, sizeof rest, "%s/%s", target, w->rest) >=
        sizeof rest)
        return ENAMETOOLONG;
    strcpy(w->rest, rest);
    return target[0] == '/' ? enter_root(w) : 0;
}

/* Takes the next name from w->rest; "" at the end. */
static int take_name(struct walk *w, char name[NAME_MAX + 1])
{
    char *from = w->rest + strspn(w->rest, "/");
    size_t n = strcspn(from, "/");

    if (n > NAME_MAX)
        return ENAMETOOLONG;
    memcpy(name, from, n);
    name[n] = '\0';
    from += n + strspn(from + n, "/");
    memmove(w->rest, from, strlen(from) + 1);
    return 0;
}

/* Opens the file at the end of the path, and judges it. */
static int open_file(struct walk *w, const char *name, int *file)
{
    struct stat st;

    *file = openat(w->dir, name,
                   O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (*file < 0 && wf_is_shortage(errno))
        return errno;
    if (*file < 0 && w->why[0] == '\0')
        snprintf(w->why, w->n, "file %s/%s cannot be read: %s", w->name, name,
                 strerror(errno));
    if (*file < 0)
        return 0;
    if (fstat(*file, &st) != 0)
        return errno;
    judge_object(w, name, &st);
    return S_ISREG(st.st_mode) ? 0 : EINVAL;
}

/* Walks one name further. Sets *done if the walk has ended at a file. */
static int walk_step(struct walk *w, int *file, bool *done)
{
    char name[NAME_MAX + 1];
    struct stat st;
    int r = take_name(w, name), fd;

    if (r != 0 || strcmp(name, ".") == 0)
        return r;
    if (!*name)
        return EISDIR;
    fd = openat(w->dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno;
    if (fstat(fd, &st) != 0) {
        r = errno;
    } else if (S_ISREG(st.st_mode)) {
        *done = w->rest[0] == '\0';
        r = *done ? open_file(w, name, file) : ENOTDIR;
    } else {
        judge_object(w, name, &st);
        r = S_ISDIR(st.st_mode)   ? enter_directory(w, fd, name, &st)
            : S_ISLNK(st.st_mode) ? follow_link(w, fd)
                                  : EINVAL;
    }
    if (fd != w->dir)
        close(fd);
    return r;
}

/* Puts the path from the root into w->rest. */
static int begin_walk(struct walk *w, const char *path)
{
    size_t used = 0;

    if (path[0] != '/') {
        if (!getcwd(w->rest, sizeof w->rest))
            return errno;
        used = strlen(w->rest);
        w->rest[used++] = '/';
    }
    if (used + strlen(path) >= sizeof w->rest)
        return ENAMETOOLONG;
    strcpy(w->rest + used, path);
    return enter_root(w);
}

/* Stores why the walk did not end at a file that may be used; returns an enum
 * wf_trust_failure. irregular: the path leads to something else than a regular
 * file. */
static int judge_failure(const struct walk *w, int error, const char *path,
                         bool irregular)
{
    if (error == 0)
        return WF_TRUST_REFUSED;
    if (wf_is_shortage(error)) {
        snprintf(w->why, w->n, "%s", strerror(error));
        errno = error;
        return WF_TRUST_SHORTAGE;
    }
    if (!irregular) { /* a directory above may not be searched */
        snprintf(w->why, w->n,
                 "file %s cannot be reached from the root directory: %s", path,
                 strerror(error));
        return WF_TRUST_REFUSED;
    }
    snprintf(w->why, w->n, "%s",
             error == EINVAL || error == EISDIR ? "not a regular file"
                                                : strerror(error));
    return WF_TRUST_ABSENT;
}

int wf_trust_open(const char *path, char *why, size_t n)
{
    struct walk w = {.dir = -1, .why = why, .n = n};
    struct stat st;
    int file = -1, r;
    bool done = false;

    why[0] = '\0';
    if (path[0] != '/' && !wf_trust_caller()) {
        snprintf(why, n,
                 "a relative path does not count in a set-user-ID "
                 "program");
        return WF_TRUST_ABSENT;
    }
    if (stat(path, &st) != 0) /* the usual failure; faster than a walk */
        return judge_failure(&w, errno, path, true);
    for (r = begin_walk(&w, path); r == 0 && !done;)
        r = walk_step(&w, &file, &done);
    if (w.dir >= 0)
        close(w.dir);
    if (r == 0 && why[0] == '\0')
        return file;
    if (file >= 0)
        close(file);
    return judge_failure(&w, r, path, !S_ISREG(st.st_mode));
}
