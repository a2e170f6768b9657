/* A directory below /tmp for a case or a program, the files in it, and its end.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef DIRECTORY_H
#define DIRECTORY_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Makes a directory of the case's own the current one. */
static inline int enter_directory(void **state)
{
    static char dir[64];
    strcpy(dir, "/tmp/weft-unit-XXXXXX");
    *state = dir;
    return mkdtemp(dir) == NULL || chdir(dir) != 0 || chmod(dir, 0755) != 0;
}

static inline int remove_one(const char *path, const struct stat *st, int type,
                             struct FTW *at)
{
    return remove(path);
}

static inline int remove_tree(const char *dir)
{
    return nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline int leave_directory(void **state)
{
    return chdir("/") != 0 || remove_tree(*state) != 0;
}

/* Writes a file, with the directories on its way. */
static inline void put_text(const char *file, const char *text)
{
    char path[256];
    FILE *f;

    assert_in_range(snprintf(path, sizeof path, "%s", file), 1,
                    sizeof path - 1);
    for (char *at = path; (at = strchr(at + 1, '/')); *at = '/') {
        *at = '\0';
        mkdir(path, 0700);
    }
    f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

#endif
