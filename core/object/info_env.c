/* The keys of MPI_INFO_ENV, which tell how the program was started (MPI-5.0
 * s11.2.1).
 *
 * Keys whose value is not known (soft, file) are absent, as the standard asks;
 * so is thread_level, which cannot be requested before the program starts. The
 * values are the same before MPI_Init, between and after MPI_Finalize, hence
 * nothing here comes from the instance.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "object/info_env.h"

#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "boot/boot.h"
#include "object/info.h"
#include "os/node.h"

/* Arguments collected into two info values. */
struct words {
    char command[MPI_MAX_INFO_VAL], args[MPI_MAX_INFO_VAL];
};

/* Append a word. One that does not fit is left out: half an argument would be
 * wrong. */
static void add_word(char *list, const char *word)
{
    size_t n = strlen(list);
    size_t m = strlen(word);
    if (n + m + 2 > MPI_MAX_INFO_VAL)
        return;
    if (n > 0)
        list[n++] = ' ';
    memcpy(list + n, word, m + 1);
}

static void add_words_of_argv(struct words *w, int argc, char *const argv[])
{
    for (int i = 0; i < argc && argv[i]; i++)
        add_word(i == 0 ? w->command : w->args, argv[i]);
}

static void add_words_of_system(struct words *w)
{
    char text[2 * MPI_MAX_INFO_VAL];
    FILE *f = fopen("/proc/self/cmdline", "r");
    if (!f)
        return;
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = 0;
    for (size_t at = 0; at < n; at += strlen(text + at) + 1)
        add_word(at == 0 ? w->command : w->args, text + at);
}

static int put_unless_empty(struct wf_info *info, const char *key,
                            const char *value)
{
    return value && value[0] ? wf_info_put(info, key, value) : MPI_SUCCESS;
}

static int put_machine_keys(struct wf_info *info)
{
    struct utsname u;
    char dir[MPI_MAX_INFO_VAL];
    int rc = MPI_SUCCESS;
    if (uname(&u) == 0)
        rc = put_unless_empty(info, "arch", u.machine);
    if (rc == MPI_SUCCESS && getcwd(dir, sizeof dir))
        rc = put_unless_empty(info, "wdir", dir);
    return rc;
}

static int put_job_keys(struct wf_info *info)
{
    char number[16] = "", host[256];
    uint32_t n = wf_boot_announced_size();
    if (n)
        snprintf(number, sizeof number, "%u", n);
    int rc = put_unless_empty(info, "maxprocs", number);
    wf_node_name(host, sizeof host);
    return rc == MPI_SUCCESS ? put_unless_empty(info, "host", host) : rc;
}

struct wf_info *wf_info_environment(int argc, char *const argv[])
{
    struct words w = {{0}, {0}};
    struct wf_info *info = wf_info_create();
    if (!info)
        return NULL;
    if (argv && argc > 0)
        add_words_of_argv(&w, argc, argv);
    else
        add_words_of_system(&w);
    if (put_unless_empty(info, "command", w.command) != MPI_SUCCESS ||
        put_unless_empty(info, "argv", w.args) != MPI_SUCCESS ||
        put_machine_keys(info) != MPI_SUCCESS ||
        put_job_keys(info) != MPI_SUCCESS) {
        wf_info_destroy(info);
        return NULL;
    }
    return info;
}
