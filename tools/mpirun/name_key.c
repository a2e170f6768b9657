/* This file reads and makes the key of names: see name_key.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "name_key.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crypto/vendor.h"
#include "os/base64.h"
#include "os/trust.h"

enum { FILE_LEAST = 16, FILE_MOST = 4096 };

static bool find_path(char path[PATH_MAX])
{
    const char *given = getenv("WEFT_NAMES_KEY"), *home = getenv("HOME");
    int n = given && *given ? snprintf(path, PATH_MAX, "%s", given)
            : home ? snprintf(path, PATH_MAX, "%s/.config/weft/%s", home,
                              "names.key")
                   : PATH_MAX;

    return n < PATH_MAX;
}

/* Make the folders that lead to a file, for the user alone. */
static void make_folders(char *path)
{
    for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        (void)mkdir(path, 0700);
        *at = '/';
    }
}

/* Make the file, whole at once, because another launcher may do the same. */
static bool make_file(char *path)
{
    unsigned char bytes[NAME_KEY];
    char text[64], other[PATH_MAX + 16];
    size_t n = wf_base64_len(sizeof bytes);
    bool made;
    int fd;

    make_folders(path);
    snprintf(other, sizeof other, "%s.%ld", path, (long)getpid());
    fd =
        open(other, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    made = getrandom(bytes, sizeof bytes, 0) == (ssize_t)sizeof bytes;
    wf_base64_encode(text, bytes, sizeof bytes);
    text[n] = '\n';
    made = made && write(fd, text, n + 1) == (ssize_t)n + 1 &&
           (link(other, path) == 0 || errno == EEXIST);
    explicit_bzero(bytes, sizeof bytes);
    explicit_bzero(text, sizeof text);
    close(fd);
    (void)unlink(other);
    return made;
}

/* Make the key of the bytes of the file. */
static bool read_file(int fd, unsigned char key[NAME_KEY])
{
    static const unsigned char label[NAME_KEY] = "weft names 1";
    unsigned char bytes[FILE_MOST];
    ssize_t n = read(fd, bytes, sizeof bytes);

    if (n >= FILE_LEAST)
        wf_vendor_crypto_auth_hmacsha256(key, bytes, (size_t)n, label);
    explicit_bzero(bytes, sizeof bytes);
    return n >= FILE_LEAST;
}

bool wf_name_key_read(bool make, unsigned char key[NAME_KEY], char *why,
                      size_t n)
{
    char path[PATH_MAX],
        cause[WF_TRUST_WHY_MAX] = "it is shorter than 16 bytes";
    struct stat st;
    bool good = false;
    int fd;

    if (!find_path(path)) {
        snprintf(why, n, "neither WEFT_NAMES_KEY nor HOME names the key file");
        return false;
    }
    if (make && access(path, F_OK) < 0 && !make_file(path)) {
        snprintf(why, n, "cannot make the key file %s: %s", path,
                 strerror(errno));
        return false;
    }
    fd = wf_trust_open(path, cause, sizeof cause);
    if (fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & 077))
        snprintf(cause, sizeof cause, "others may read it; chmod 600");
    else if (fd >= 0)
        good = read_file(fd, key);
    if (fd >= 0)
        close(fd);
    if (!good)
        snprintf(why, n, "the key file %s: %s", path, cause);
    return good;
}
