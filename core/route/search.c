/* Where mpi.ini is looked for. The first one found is the configuration; files
 * are never merged, so "which value counts" has one answer.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "adi/endpoint.h"
#include "route/model.h"

enum { FILE_MAX = 1 << 20 };

/* Text linked into the program: weft-info --embed mpi.ini > ini.c */
extern const char weft_ini_text[] __attribute__((weak));

static char *stream_read(FILE *f, size_t *n)
{
    size_t room = 8192, used = 0;
    char *text = malloc(room);
    while (text != NULL) {
        used += fread(text + used, 1, room - used, f);
        if (used < room)
            break;
        if (room >= FILE_MAX) {
            free(text);
            errno = EFBIG;
            return NULL;
        }
        room *= 4;
        char *more = realloc(text, room);
        if (more == NULL)
            free(text);
        text = more;
    }
    if (text != NULL && ferror(f)) {
        int why = errno;
        free(text);
        errno = why;
        return NULL;
    }
    *n = used;
    return text;
}

char *wf_file_read(const char *path, size_t *n)
{
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return NULL;
    char *text = stream_read(f, n);
    int why = errno;
    fclose(f);
    errno = why;
    return text;
}

void wf_search_file(struct wf_config *c, const char *path)
{
    size_t n;
    c->source = wf_arena_copy(&c->arena, path, strlen(path));
    char *text = wf_file_read(path, &n);
    if (text == NULL) {
        struct wf_place at = {c->source, 0, 0};
        wf_problem_add(&c->problems, &at, "cannot read this mpi.ini: %s",
                       strerror(errno));
        return;
    }
    wf_sections_read(c, c->source, text, n);
    free(text);
}

/* A file that is not there, or in a place we may not look into, is not found;
 * one that is there must be readable. */
static bool file_try(struct wf_config *c, const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return false;
    wf_search_file(c, path);
    return true;
}

static bool file_try_in(struct wf_config *c, const char *directory,
                        const char *rest)
{
    if (directory == NULL || directory[0] == '\0')
        return false;
    return file_try(c, wf_arena_format(&c->arena, "%s/%s", directory, rest));
}

static bool prefix_try(struct wf_config *c)
{
    if (&weft_dl_loader == NULL || weft_dl_loader.library_dir == NULL)
        return false;
    return file_try_in(c, weft_dl_loader.library_dir(), "../etc/mpi.ini");
}

void wf_search_read(struct wf_config *c)
{
    const char *named = getenv("WEFT_INI");
    if (named != NULL && strcmp(named, "-") == 0)
        return;
    if (named != NULL && named[0] != '\0') {
        wf_search_file(c, named);
        return;
    }
    if (file_try(c, "mpi.ini") ||
        file_try_in(c, getenv("HOME"), ".config/weft/mpi.ini") ||
        prefix_try(c) || file_try(c, "/etc/weft/mpi.ini"))
        return;
    const char *linked = weft_ini_text;
    if (linked != NULL) {
        c->source = "weft_ini_text";
        wf_sections_read(c, c->source, linked, strlen(linked));
    }
}
