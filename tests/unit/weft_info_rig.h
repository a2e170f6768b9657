/* The output of weft-info is caught, and its tests say what it contains.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WEFT_INFO_RIG_H
#define WEFT_INFO_RIG_H

#include "config_rig.h"

#include <unistd.h>

static int capture_saved[3];

/* Catches the output to a descriptor, 1 or 2, until capture_end(). */
static inline void capture_begin(int fd)
{
    fflush(fd == 1 ? stdout : stderr);
    capture_saved[fd] = dup(fd);
    FILE *f = tmpfile();
    assert_true(capture_saved[fd] >= 0 && f != NULL &&
                dup2(fileno(f), fd) == fd);
    fclose(f);
}

static inline char *capture_end(int fd)
{
    static char text[1 << 16];
    fflush(fd == 1 ? stdout : stderr);
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    dup2(capture_saved[fd], fd);
    close(capture_saved[fd]);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

static inline void assert_says(const char *text, const char *wanted)
{
    if (strstr(text, wanted) == NULL)
        print_error("wanted: %s\nfound: %s\n", wanted, text);
    assert_non_null(strstr(text, wanted));
}

#endif
