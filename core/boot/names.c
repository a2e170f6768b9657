/* Names between launchers: see names.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "boot/names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base.h"
#include "boot/pmi_word.h"
#include "report/error.h"

enum {
    PORT_MOST = 4096, /* bytes of a port */
    LOCK_TRIES = 5000 /* milliseconds to wait for the folder */
};

struct name {
    struct name *next;
    char *folder, *service;
    int fd; /* holds the lock of the file; -1: there is none */
};

struct wf_names {
    struct name *first;
};

/* ---- the folder ---------------------------------------------------------- */

static void name_folder(char *path, size_t n, const char *folder)
{
    if (folder)
        snprintf(path, n, "%s", folder);
    else
        snprintf(path, n, "/tmp/weft-names-%u", (unsigned)geteuid());
}

/* Open the folder, and make it first if it is not there. */
static int open_folder(const char *folder)
{
    char path[1024];
    struct stat st;
    int fd;

    name_folder(path, sizeof path, folder);
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return wf_fail(WEFT_ESYS,
                       "cannot make the folder %s for published names: %s; "
                       "core.names names another",
                       path, strerror(errno));
    fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0) {
        int error = errno;
        if (fd >= 0)
            close(fd);
        return wf_fail(WEFT_ESYS,
                       "cannot open the folder %s for published names: %s",
                       path, strerror(error));
    }
    if (st.st_uid == geteuid() && !(st.st_mode & 077))
        return fd;
    close(fd);
    return wf_fail(WEFT_EAUTH,
                   "the folder %s for published names belongs to user %u with "
                   "mode %04o, and must belong to user %u with mode 0700; "
                   "core.names names another",
                   path, (unsigned)st.st_uid, (unsigned)st.st_mode & 07777,
                   (unsigned)geteuid());
}

/* Lock the folder; the lock is held for a moment only, but its holder may have
 * been stopped. */
static int lock_folder(int folder)
{
    const struct timespec pause = {0, 1000000};
    int fd =
        openat(folder, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

    for (int i = 0; fd >= 0 && i < LOCK_TRIES; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return fd;
        if (errno != EWOULDBLOCK && errno != EINTR)
            break;
        nanosleep(&pause, NULL);
    }
    if (fd < 0)
        return wf_fail(WEFT_ESYS, "cannot lock the published names: %s",
                       strerror(errno));
    close(fd);
    return wf_fail(WEFT_ESYS, "another process holds the lock of the published "
                              "names for ever, or the file system has no "
                              "locks; core.names names another folder");
}

/* Open and lock the folder, and make the name of a file there. */
static int enter_folder(const char *folder, const char *service, char *file,
                        int fds[2])
{
    memcpy(file, "n.", 2);
    if (!*service || !wf_pmi_word_encode(file + 2, WF_NAME_MOST, service))
        return wf_fail(WEFT_EINVAL,
                       "the name '%.40s%s' is empty or longer "
                       "than %d bytes",
                       service, strlen(service) > 40 ? "..." : "",
                       WF_NAME_MOST - 4);
    for (char *c = file; *c; c++)
        if (*c == '/') /* the only one that a file name cannot have */
            *c = '=';
    fds[0] = open_folder(folder);
    if (fds[0] < 0)
        return fds[0];
    fds[1] = lock_folder(fds[0]);
    if (fds[1] >= 0)
        return 0;
    close(fds[0]);
    return fds[1];
}

static void leave_folder(const int fds[2])
{
    close(fds[1]);
    close(fds[0]);
}

/* Open the file of a name that is published; a stale one is removed. */
static int open_name(int folder, const char *file)
{
    int fd = openat(folder, file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return -1;
    if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        return fd;
    (void)unlinkat(folder, file, 0);
    close(fd);
    return -1;
}

/* ---- publishing ---------------------------------------------------------- */

static int write_port(int folder, const char *file, const char *port)
{
    size_t n = strlen(port);
    int fd = openat(folder, file,
                    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
        write(fd, port, n) == (ssize_t)n)
        return fd;
    int error = errno;
    if (fd >= 0) {
        (void)unlinkat(folder, file, 0);
        close(fd);
    }
    return wf_fail(WEFT_ESYS, "cannot write a published name: %s",
                   strerror(error));
}

static void free_name(struct name *name)
{
    free(name->folder);
    free(name->service);
    free(name);
}

/* Make a name without a file, and the list that it is to be in. NULL: no
 * memory, as recorded. */
static struct name *create_name(struct wf_names **names, const char *folder,
                                const char *service)
{
    char path[1024];
    struct name *name = calloc(1, sizeof *name);

    if (!*names)
        *names = calloc(1, sizeof **names);
    if (name) {
        name_folder(path, sizeof path, folder);
        name->fd = -1;
        name->folder = strdup(path);
        name->service = strdup(service);
        if (*names && name->folder && name->service)
            return name;
        free_name(name);
    }
    wf_fail(WEFT_ENOMEM, "no memory to publish a name");
    return NULL;
}

static void add_name(struct wf_names *names, struct name *name)
{
    name->next = names->first;
    names->first = name;
}

/* Add the file, in the folder that is locked. */
static int add_file(int folder, const char *file, struct name *name,
                    const char *port)
{
    int old = open_name(folder, file);

    if (old >= 0) {
        close(old);
        return wf_fail(WEFT_EAGAIN, "the name '%s' is published already",
                       name->service);
    }
    name->fd = write_port(folder, file, port);
    return name->fd < 0 ? name->fd : 0;
}

int wf_names_publish(struct wf_names **names, const char *folder,
                     const char *service, const char *port)
{
    char file[WF_NAME_MOST + 8];
    struct name *name = create_name(names, folder, service);
    int fds[2], rc;

    if (!name)
        return WEFT_ENOMEM;
    rc = enter_folder(folder, service, file, fds);
    if (rc == 0) {
        rc = add_file(fds[0], file, name, port);
        leave_folder(fds);
    }
    if (rc < 0) {
        free_name(name);
        return rc;
    }
    add_name(*names, name);
    return 0;
}

int wf_names_note(struct wf_names **names, const char *service)
{
    struct name *name = create_name(names, NULL, service);

    if (!name)
        return WEFT_ENOMEM;
    add_name(*names, name);
    return 0;
}

/* ---- the rest ------------------------------------------------------------ */

int wf_names_lookup(const char *folder, const char *service, char *port,
                    size_t size)
{
    char file[WF_NAME_MOST + 8], text[PORT_MOST];
    ssize_t n = 0;
    int fds[2], rc = enter_folder(folder, service, file, fds);

    if (rc < 0)
        return rc;
    int fd = open_name(fds[0], file);
    if (fd >= 0) {
        n = read(fd, text, sizeof text - 1);
        close(fd);
    }
    leave_folder(fds);
    if (n <= 0 || (size_t)n >= size)
        return wf_fail(WEFT_EUNREACH, "the name '%s' is not published",
                       service);
    memcpy(port, text, (size_t)n);
    port[n] = '\0';
    return 0;
}

/* Remove the file of a name of this process, and then its lock. */
static void remove_name(struct name *name)
{
    char file[WF_NAME_MOST + 8];
    int fds[2];

    if (name->fd < 0) {
        free_name(name);
        return;
    }
    if (enter_folder(name->folder, name->service, file, fds) == 0) {
        (void)unlinkat(fds[0], file, 0);
        leave_folder(fds);
    }
    close(name->fd); /* from here on the name is stale, whatever happened */
    free_name(name);
}

int wf_names_unpublish(struct wf_names **names, const char *service)
{
    struct name **at = *names ? &(*names)->first : NULL, *name;

    while (at && *at && strcmp((*at)->service, service) != 0)
        at = &(*at)->next;
    if (!at || !*at)
        return wf_fail(WEFT_EUNREACH,
                       "this process has not published the name "
                       "'%s'",
                       service);
    name = *at;
    *at = name->next;
    remove_name(name);
    return 0;
}

void wf_names_free(struct wf_names *names)
{
    while (names && names->first) {
        struct name *name = names->first;
        names->first = name->next;
        remove_name(name);
    }
    free(names);
}
