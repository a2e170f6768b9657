/* The search for mpi.ini. The first file found is the configuration; files are
 * never merged, so it is clear which value counts.
 *
 * INVARIANTS
 *   1. All that configures a job comes from a descriptor that wf_trust_open()
 *      returned, or from the program itself.
 *   2. If the caller is not trusted, its environment, directory and home are
 *      not read.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "config/search.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "config/model.h"
#include "config/sections.h"
#include "os/library.h"
#include "os/shortage.h"
#include "os/trust.h"
#include "report/error.h"

enum { FILE_MAX = 1 << 20 };

/* A text linked into the program: weft-info --embed mpi.ini > ini.c */
extern const char weft_ini_text[] __attribute__((weak));

/* Read all of a file. On failure it returns NULL and sets errno. */
static char *read_text(int fd, size_t *n)
{
    size_t room = 8192, used = 0;
    char *text = malloc(room), *more;
    ssize_t got = 1;

    while (text != NULL && got > 0 && used <= FILE_MAX) {
        if (used == room) {
            more = realloc(text, room *= 4);
            if (more == NULL)
                free(text);
            text = more;
            continue;
        }
        got = read(fd, text + used, room - used);
        used += got > 0 ? (size_t)got : 0;
        got = got < 0 && errno == EINTR ? 1 : got;
    }
    if (text != NULL && (got < 0 || used > FILE_MAX)) {
        int why = got < 0 ? errno : EFBIG;
        free(text);
        text = NULL;
        errno = why;
    }
    *n = used;
    return text;
}

/* Read all of a file and close it. On failure it returns NULL with a reason in
 * why, and sets errno. */
static char *read_and_close(int fd, size_t *n, char *why, size_t why_len)
{
    char *text = read_text(fd, n);
    int error = errno;

    if (text == NULL)
        snprintf(why, why_len, "%s",
                 error == EFBIG ? "it is larger than 1 MiB, the limit"
                                : strerror(error));
    close(fd);
    errno = error;
    return text;
}

/* Call wf_trust_open(). On failure errno is 0 unless memory or descriptors were
 * lacking. */
static int open_trusted(const char *path, char *why, size_t why_len)
{
    int fd = wf_trust_open(path, why, why_len);

    if (fd != WF_TRUST_SHORTAGE)
        errno = 0;
    return fd;
}

char *wf_file_read(const char *path, size_t *n, char *why, size_t why_len)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd >= 0)
        return read_and_close(fd, n, why, why_len);
    snprintf(why, why_len, "%s", strerror(errno));
    return NULL;
}

char *wf_search_text(const struct wf_config *c, const char *path, size_t *n,
                     char *why, size_t why_len)
{
    int fd;

    if (c->unused)
        return wf_file_read(path, n, why, why_len);
    fd = open_trusted(path, why, why_len);
    return fd >= 0 ? read_and_close(fd, n, why, why_len) : NULL;
}

bool wf_search_failed_for_lack(struct wf_config *c, const char *path, int error,
                       const char *why)
{
    if (!wf_is_shortage(error))
        return false;
    c->starved = error == ENOMEM ? WEFT_ENOMEM : WEFT_ESYS;
    wf_fail(c->starved, "cannot read %s: %s", path, why);
    return true;
}

void wf_search_file(struct wf_config *c, const char *path)
{
    char why[WF_TRUST_WHY_MAX];
    size_t n;
    c->source = wf_arena_copy(&c->arena, path, strlen(path));
    char *text = wf_search_text(c, path, &n, why, sizeof why);
    if (text == NULL && wf_search_failed_for_lack(c, path, errno, why))
        return;
    if (text == NULL) {
        struct wf_place at = {c->source, 0, 0};
        wf_problem_add(&c->problems, &at, "cannot use this mpi.ini: %s", why);
        return;
    }
    wf_sections_read(c, c->source, text, n);
    free(text);
}

/* Use a file if it exists; false: it does not, or its directory may not be
 * searched. A file that exists must be readable and trusted: without it the
 * job would run with another configuration than its user sees. */
static bool try_file(struct wf_config *c, const char *path)
{
    char why[WF_TRUST_WHY_MAX];
    size_t n;
    int fd = open_trusted(path, why, sizeof why);
    if (fd == WF_TRUST_ABSENT)
        return false;
    char *text = fd >= 0 ? read_and_close(fd, &n, why, sizeof why) : NULL;
    int error = errno;
    c->source = wf_arena_copy(&c->arena, path, strlen(path));
    if (text != NULL) {
        wf_sections_read(c, c->source, text, n);
    } else if (!wf_search_failed_for_lack(c, path, error, why)) {
        struct wf_place at = {c->source, 0, 0};
        wf_problem_add(&c->problems, &at,
                       "found here and not used: %s; WEFT_INI=- runs without "
                       "a file",
                       why);
    }
    free(text);
    return true;
}

static bool try_file_in(struct wf_config *c, const char *directory,
                        const char *rest)
{
    if (directory == NULL || directory[0] == '\0')
        return false;
    return try_file(c, wf_arena_format(&c->arena, "%s/%s", directory, rest));
}

/* Try the installation of the library, unless the program carries a text of its
 * own, then that of the mpirun or weft-info which started the process. The
 * place of the program means nothing. */
static bool try_installation(struct wf_config *c, bool carries_text)
{
    char path[PATH_MAX];
    const char *launcher = wf_trust_getenv("WEFT_LAUNCHER_INI");
    return (!carries_text && wf_library_ini(path, sizeof path) &&
            try_file(c, path)) ||
           (launcher != NULL && launcher[0] == '/' && try_file(c, launcher));
}

void wf_search_read(struct wf_config *c)
{
    const char *named = wf_trust_getenv("WEFT_INI"), *linked = weft_ini_text;
    if (named != NULL && strcmp(named, "-") == 0)
        return;
    if (named != NULL && named[0] != '\0') {
        wf_search_file(c, named);
        return;
    }
    if (try_file(c, "mpi.ini") ||
        try_file_in(c, wf_trust_getenv("HOME"), ".config/weft/mpi.ini") ||
        try_installation(c, linked != NULL) || try_file(c, "/etc/weft/mpi.ini"))
        return;
    if (linked != NULL) {
        c->source = "weft_ini_text";
        wf_sections_read(c, c->source, linked, strlen(linked));
    }
}
