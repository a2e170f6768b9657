/* Hints of files: which there are, which values they may have, and what
 * MPI_File_get_info answers (MPI-5.0 s14.2.8).
 *
 * A hint with a value that makes no sense is ignored, as one that is not known.
 * The answer has all hints that are known, with the values in force.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "io/hints.h"

#include <stdio.h>
#include <stdlib.h>

#include "core_api.h"
#include "io/file.h"
#include "io/fs.h"
#include "io/vote.h"
#include "object/error.h"
#include "object/info.h"

static const char *const uses[] = {"disable", "automatic", "enable"};

static bool is_use(const char *value)
{
    return !strcmp(value, uses[0]) || !strcmp(value, uses[1]) ||
           !strcmp(value, uses[2]);
}

static bool is_number(const char *value)
{
    char *end;

    return value[0] != '-' && strtoll(value, &end, 10) >= 0 && end != value &&
           !*end;
}

static bool is_size(const char *value)
{
    return is_number(value) && strtoll(value, NULL, 10) > 0;
}

static bool is_octal(const char *value)
{
    char *end;
    long n = strtol(value, &end, 8);

    return end != value && !*end && n >= 0 && n <= 07777;
}

static bool is_locks(const char *value)
{
    return !strcmp(value, "auto") || !strcmp(value, "never");
}

static bool is_anything(const char *value)
{
    return true;
}

/* The hints that are known, with the values that hold unless the program gives
 * others. No value: it is in the answer only if it was given. */
static const struct {
    const char *key, *value;
    bool (*is_valid)(const char *);
} known[] = {
    {"access_style", NULL, is_anything},
    {"cb_block_size", NULL, is_size},
    {"cb_buffer_size", "16777216", is_size},
    {"cb_config_list", NULL, is_anything},
    {"cb_nodes", NULL, is_size},
    {"chunked", NULL, is_anything},
    {"chunked_item", NULL, is_anything},
    {"chunked_size", NULL, is_anything},
    {"collective_buffering", "true", wf_info_is_boolean},
    {"file_perm", "0666", is_octal},
    {"ind_rd_buffer_size", "524288", is_size},
    {"ind_wr_buffer_size", "524288", is_size},
    {"io_locks", "auto", is_locks},
    {"io_node_list", NULL, is_anything},
    {"nb_proc", NULL, is_number},
    {"num_io_nodes", NULL, is_number},
    {"romio_cb_read", "automatic", is_use},
    {"romio_cb_write", "automatic", is_use},
    {"romio_ds_read", "automatic", is_use},
    {"romio_ds_write", "automatic", is_use},
    {"romio_no_indep_rw", "false", wf_info_is_boolean},
    {"striping_factor", NULL, is_number},
    {"striping_unit", NULL, is_number},
};
enum { KNOWN = sizeof known / sizeof *known };

static bool is_accepted(const struct wf_info_entry *e)
{
    for (int i = 0; i < KNOWN; i++)
        if (!strcmp(e->key, known[i].key))
            return known[i].is_valid(e->value);
    return false;
}

/* Returns the value in force; NULL: there is none. */
static const char *find_value(const struct wf_info *info, const char *key)
{
    const char *value = wf_info_find(info, key);

    for (int i = 0; !value && i < KNOWN; i++)
        if (!strcmp(key, known[i].key))
            value = known[i].value;
    return value;
}

static uint64_t find_number(const struct wf_info *info, const char *key)
{
    const char *value = find_value(info, key);

    return value ? (uint64_t)strtoll(value, NULL, 10) : 0;
}

static uint8_t find_use(const struct wf_info *info, const char *key)
{
    const char *value = find_value(info, key);
    uint8_t i = 0;

    while (strcmp(value, uses[i]))
        i++;
    return i;
}

/* collective_buffering = false is the standard's word for both of ROMIO's. */
static uint8_t find_buffering(const struct wf_info *info, const char *key)
{
    return strcmp(find_value(info, "collective_buffering"), "false")
               ? find_use(info, key)
               : WF_HINT_DISABLE;
}

static void read_hints(struct wf_file_hints *h, const struct wf_info *info)
{
    uint64_t nodes = find_number(info, "cb_nodes");

    h->sieve.read = find_use(info, "romio_ds_read");
    h->sieve.write = find_use(info, "romio_ds_write");
    h->sieve.read_buffer = find_number(info, "ind_rd_buffer_size");
    h->sieve.write_buffer = find_number(info, "ind_wr_buffer_size");
    h->cb_read = find_buffering(info, "romio_cb_read");
    h->cb_write = find_buffering(info, "romio_cb_write");
    h->cb_buffer_size = find_number(info, "cb_buffer_size");
    h->cb_nodes = nodes > INT32_MAX ? INT32_MAX : (int)nodes;
    h->permissions = (int)strtol(find_value(info, "file_perm"), NULL, 8);
}

int wf_file_set_hints(struct wf_file *f, const struct wf_info *info)
{
    int rc = MPI_SUCCESS;

    if (!f->info && !(f->info = wf_info_create()))
        return wf_error(MPI_ERR_NO_MEM, "no memory for hints");
    for (int i = 0; info && i < info->count && rc == MPI_SUCCESS; i++)
        if (is_accepted(&info->list[i]))
            rc = wf_info_put(f->info, info->list[i].key, info->list[i].value);
    read_hints(&f->hints, f->info);
    if (f->fs_file && wf_info_find(f->info, "io_locks"))
        f->fs_file->locks = strcmp(wf_info_find(f->info, "io_locks"), "never")
                                ? WF_FS_LOCKS_AUTO
                                : WF_FS_LOCKS_NEVER;
    return rc;
}

/* ---- MPI functions ------------------------------------------------------- */

int wf_mpi_file_set_info(struct wf_instance *wf, struct wf_file *fh,
                         struct wf_info *info)
{
    struct wf_file_vote vote = {.rc = wf_file_set_hints(fh, info)};

    return wf_file_vote_hints(fh->comm, fh, &vote);
}

static int complete_hints(const struct wf_file *f, struct wf_info *info)
{
    int rc = wf_info_put(info, "filename", f->path);

    for (int i = 0; i < KNOWN && rc == MPI_SUCCESS; i++)
        if (known[i].value && !wf_info_find(info, known[i].key))
            rc = wf_info_put(info, known[i].key, known[i].value);
    if (rc == MPI_SUCCESS && f->sieves_writes)
        rc = wf_info_put(info, "romio_ds_write", "enable");
    return rc;
}

int wf_mpi_file_get_info(struct wf_instance *wf, struct wf_file *fh,
                         MPI_Info *info_used)
{
    struct wf_info *copy = wf_info_copy(fh->info);

    return wf_info_answer(
        copy, copy ? complete_hints(fh, copy) : MPI_ERR_NO_MEM, info_used);
}
