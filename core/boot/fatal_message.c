/* The fatal message: see fatal_message.h.
 *
 *   PMI_SAY = fd:inode of that socket:device:inode of mpirun's standard error
 *
 * Both are compared, so that a variable inherited through another launcher, or
 * output redirected by the program's own shell, has no effect. One line without
 * answer goes to mpirun: cmd=weft_say text=BASE64.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "boot/fatal_message.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "os/base64.h"
#include "os/trust.h"

enum { SAY_MAX = 40000 };

/* The descriptor of mpirun, or -1. */
static int find_launcher(void)
{
    const char *text = wf_trust_getenv("PMI_SAY");
    uint64_t field[4] = {0};
    struct stat st;

    for (int i = 0; text && i < 4; i++) {
        char *end;
        field[i] = strtoull(text, &end, 10);
        if (*end != (i < 3 ? ':' : 0))
            return -1;
        text = end + 1;
    }
    if (!text || field[0] > INT32_MAX || fstat((int)field[0], &st) != 0 ||
        !S_ISSOCK(st.st_mode) || st.st_ino != field[1])
        return -1;
    if (fstat(2, &st) != 0 || st.st_dev != field[2] || st.st_ino != field[3])
        return -1;
    return (int)field[0];
}

static bool send_all(int fd, const char *text, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(fd, text, n, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        text += sent;
        n -= (size_t)sent;
    }
    return true;
}

static bool send_to_launcher(int fd, const char *text, size_t n)
{
    static const char head[] = "cmd=weft_say text=";
    size_t len = sizeof head - 1 + wf_base64_len(n);
    char *line = malloc(len + 2);
    bool told;

    if (!line)
        return false;
    snprintf(line, sizeof head, "%s", head);
    wf_base64_encode(line + sizeof head - 1, text, n);
    line[len] = '\n';
    told = send_all(fd, line, len + 1);
    free(line);
    return told;
}

void wf_boot_print_fatal(const char *text, size_t n)
{
    int fd = n > 0 && n <= SAY_MAX ? find_launcher() : -1;

    if (fd < 0 || !send_to_launcher(fd, text, n))
        fwrite(text, 1, n, stderr);
}
