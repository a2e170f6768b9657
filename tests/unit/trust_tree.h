/* This rig makes a tree of files for a test of trust, and asks about its files.
 *
 * Each case builds its tree in a directory of its own below /tmp, which is
 * sticky.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef TRUST_TREE_H
#define TRUST_TREE_H

#include "directory.h"

#include <errno.h>
#include <fcntl.h>

#include "os/trust.h"

enum { STRANGER = 65534, OTHER = 65533 };

static char why[WF_TRUST_WHY_MAX];

static inline void put_file(const char *file, mode_t mode)
{
    FILE *f = fopen(file, "w");
    assert_non_null(f);
    fputs(file, f);
    fclose(f);
    assert_int_equal(chmod(file, mode), 0);
}

static inline void make_dir(const char *dir, mode_t mode)
{
    assert_int_equal(mkdir(dir, 0700), 0);
    assert_int_equal(chmod(dir, mode), 0);
}

static inline void change_owner(const char *path, uid_t to)
{
    assert_int_equal(lchown(path, to, to), 0);
}

#define NEED_ROOT()                                                            \
    do {                                                                       \
        if (geteuid() != 0) {                                                  \
            print_message("only root can give files to other users\n");        \
            skip();                                                            \
        }                                                                      \
    } while (0)

static inline void assert_trusted(const char *path)
{
    int fd = wf_trust_open(path, why, sizeof why);
    if (fd < 0)
        print_error("%s: %s\n", path, why);
    assert_true(fd >= 0);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    close(fd);
}

static inline void assert_says(const char *wanted)
{
    if (strstr(why, wanted) == NULL)
        print_error("wanted: %s\nfound:  %s\n", wanted, why);
    assert_non_null(strstr(why, wanted));
}

static inline void assert_refused(const char *path, const char *wanted)
{
    int fd = wf_trust_open(path, why, sizeof why);
    if (fd != WF_TRUST_REFUSED)
        print_error("%s: %d, %s\n", path, fd, why);
    assert_int_equal(fd, WF_TRUST_REFUSED);
    assert_says(wanted);
}

static inline void assert_absent(const char *path, const char *wanted)
{
    assert_int_equal(wf_trust_open(path, why, sizeof why), WF_TRUST_ABSENT);
    assert_says(wanted);
}

#endif
