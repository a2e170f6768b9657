/* Hints of windows (MPI-5.0 s12.2.1, s12.2.7).
 *
 * Weft obeys no_locks, which saves the progress thread. It keeps the others,
 * and does not need them: accumulates are ordered and atomic in any case.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rma/info.h"

#include <stdlib.h>

#include "core_api.h"
#include "object/error.h"
#include "object/info.h"
#include "rma/win.h"

static bool is_ops(const char *value)
{
    return !strcmp(value, "same_op") || !strcmp(value, "same_op_no_op");
}

/* "none", or a list of rar, raw, war and waw. */
static bool is_ordering(const char *value)
{
    if (!strcmp(value, "none"))
        return true;
    for (;; value += 4) {
        if (strncmp(value, "rar", 3) && strncmp(value, "raw", 3) &&
            strncmp(value, "war", 3) && strncmp(value, "waw", 3))
            return false;
        if (value[3] != ',')
            return value[3] == 0;
    }
}

static bool is_number(const char *value)
{
    char *end;

    return strtoll(value, &end, 10) >= 0 && end != value && !*end;
}

/* The hints that windows have, with the values that hold unless the program
 * gives others. */
static const struct {
    const char *key, *value;
    bool (*is_valid)(const char *);
} known[] = {{"no_locks", "false", wf_info_is_boolean},
             {"accumulate_ordering", "rar,raw,war,waw", is_ordering},
             {"accumulate_ops", "same_op_no_op", is_ops},
             {"mpi_accumulate_granularity", "0", is_number},
             {"same_size", "false", wf_info_is_boolean},
             {"same_disp_unit", "false", wf_info_is_boolean},
             {"alloc_shared_noncontig", "false", wf_info_is_boolean}};

enum { KNOWN = sizeof known / sizeof *known };

/* The value of a known hint is ignored if it makes no sense, and so is
 * no_locks once the window exists: its members agree on it. */
static bool is_ignored(const struct wf_win *win, const struct wf_info_entry *e)
{
    if (win->all && !strcmp(e->key, "no_locks"))
        return true;
    for (int i = 0; i < KNOWN; i++)
        if (!strcmp(e->key, known[i].key))
            return !known[i].is_valid(e->value);
    return false;
}

int wf_win_set_hints(struct wf_win *win, const struct wf_info *info)
{
    int rc = MPI_SUCCESS;

    if (!win->info && !(win->info = wf_info_create()))
        return wf_error(MPI_ERR_NO_MEM, "no memory for hints");
    for (int i = 0; info && i < info->count && rc == MPI_SUCCESS; i++)
        if (!is_ignored(win, &info->list[i]))
            rc = wf_info_put(win->info, info->list[i].key, info->list[i].value);
    win->no_locks = wf_info_is_true(win->info, "no_locks");
    return rc;
}

int wf_mpi_win_set_info(struct wf_instance *wf, struct wf_win *win,
                        struct wf_info *info)
{
    if (!info)
        return wf_error(MPI_ERR_INFO, "info is MPI_INFO_NULL");
    return wf_win_set_hints(win, info);
}

static int complete_hints(const struct wf_win *win, struct wf_info *info)
{
    int rc = MPI_SUCCESS;

    for (int i = 0; i < KNOWN && rc == MPI_SUCCESS; i++)
        if (!wf_info_find(info, known[i].key) &&
            (win->flavor == MPI_WIN_FLAVOR_SHARED ||
             strcmp(known[i].key, "alloc_shared_noncontig")))
            rc = wf_info_put(info, known[i].key, known[i].value);
    return rc;
}

int wf_mpi_win_get_info(struct wf_instance *wf, struct wf_win *win,
                        MPI_Info *info_used)
{
    struct wf_info *copy = wf_info_copy(win->info);

    return wf_info_answer(
        copy, copy ? complete_hints(win, copy) : MPI_ERR_NO_MEM, info_used);
}
