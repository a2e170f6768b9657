/* Info objects and the MPI_Info_* functions (MPI-5.0 chapter 10).
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "object/info.h"

#include <stdlib.h>

#include "core_api.h"
#include "object/env.h"
#include "object/error.h"
#include "object/info_env.h"
#include "process/rank.h"

struct wf_info *wf_info_of(struct wf_instance *wf, MPI_Info handle)
{
    static const struct wf_info nothing = {{WF_KIND_INFO, 1}, true, 0, 0, NULL};
    struct wf_env *env;

    if (handle != MPI_INFO_ENV)
        return wf_is_object(handle, WF_KIND_INFO) ? (struct wf_info *)handle
                                                  : NULL;
    env = wf ? wf->rank->env : NULL;
    if (!env)
        return (struct wf_info *)&nothing; /* never written: read only */
    if (!env->info_env) {
        env->info_env = wf_info_environment(0, NULL);
        if (env->info_env)
            env->info_env->read_only = true;
    }
    return env->info_env ? env->info_env : (struct wf_info *)&nothing;
}

struct wf_info *wf_info_create(void)
{
    struct wf_info *info = calloc(1, sizeof *info);
    if (info)
        wf_object_init(&info->object, WF_KIND_INFO);
    return info;
}

void wf_info_destroy(struct wf_info *info)
{
    if (!info)
        return;
    for (int i = 0; i < info->count; i++) {
        free(info->list[i].key);
        free(info->list[i].value);
    }
    free(info->list);
    info->object.kind = WF_KIND_DEAD;
    free(info);
}

struct wf_info *wf_info_copy(const struct wf_info *from)
{
    struct wf_info *to = wf_info_create();
    for (int i = 0; to && from && i < from->count; i++) {
        struct wf_info_entry *e = &from->list[i];
        if (wf_info_put(to, e->key, e->value) != MPI_SUCCESS) {
            wf_info_destroy(to);
            return NULL;
        }
    }
    return to;
}

static int index_of(const struct wf_info *info, const char *key)
{
    for (int i = 0; i < info->count; i++)
        if (!strcmp(info->list[i].key, key))
            return i;
    return -1;
}

const char *wf_info_find(const struct wf_info *info, const char *key)
{
    int i = info ? index_of(info, key) : -1;
    return i < 0 ? NULL : info->list[i].value;
}

static bool ensure_room(struct wf_info *info)
{
    if (info->count < info->room)
        return true;
    int room = info->room ? 2 * info->room : 4;
    struct wf_info_entry *list =
        realloc(info->list, (size_t)room * sizeof *list);
    if (!list)
        return false;
    info->list = list;
    info->room = room;
    return true;
}

int wf_info_put(struct wf_info *info, const char *key, const char *value)
{
    int i = index_of(info, key);
    char *v = strdup(value);
    char *k = i < 0 ? strdup(key) : NULL;
    if (!v || (i < 0 && (!k || !ensure_room(info)))) {
        free(v);
        free(k);
        return wf_error(MPI_ERR_NO_MEM, "no memory for info key '%s'", key);
    }
    if (i < 0) {
        i = info->count++;
        info->list[i].key = k;
    } else {
        free(info->list[i].value);
    }
    info->list[i].value = v;
    return MPI_SUCCESS;
}

bool wf_info_is_boolean(const char *value)
{
    return !strcmp(value, "true") || !strcmp(value, "false");
}

bool wf_info_is_true(const struct wf_info *info, const char *key)
{
    const char *value = wf_info_find(info, key);

    return value && !strcmp(value, "true");
}

int wf_info_answer(struct wf_info *copy, int rc, MPI_Info *info_used)
{
    if (copy && rc == MPI_SUCCESS)
        rc = wf_info_put(copy, WF_INFO_ALLOC_KINDS, WF_ALLOC_KINDS);
    if (!copy || rc) {
        wf_info_destroy(copy);
        return wf_error(MPI_ERR_NO_MEM, "no memory for an info object");
    }
    *info_used = (MPI_Info)copy;
    return MPI_SUCCESS;
}

static void remove_at(struct wf_info *info, int i)
{
    free(info->list[i].key);
    free(info->list[i].value);
    info->count--;
    memmove(&info->list[i], &info->list[i + 1],
            (size_t)(info->count - i) * sizeof *info->list);
}

void wf_info_remove(struct wf_info *info, const char *key)
{
    int i = info ? index_of(info, key) : -1;
    if (i >= 0)
        remove_at(info, i);
}

/* Check the length of a key. The ABI's limits count the terminating null
 * character. */
static int check_key(const char *key)
{
    size_t n = strlen(key);
    if (n == 0)
        return wf_error(MPI_ERR_INFO_KEY, "the key is empty");
    if (n >= MPI_MAX_INFO_KEY)
        return wf_error(MPI_ERR_INFO_KEY,
                        "the key has %zu characters, the limit is %d", n,
                        MPI_MAX_INFO_KEY - 1);
    return MPI_SUCCESS;
}

static int check_writable(const struct wf_info *info)
{
    return info->read_only
               ? wf_error(MPI_ERR_INFO, "MPI_INFO_ENV cannot be changed; use a "
                                        "copy made by MPI_Info_dup")
               : MPI_SUCCESS;
}

int wf_mpi_info_create(struct wf_instance *wf, MPI_Info *info)
{
    struct wf_info *i = wf_info_create();
    if (!i)
        return wf_error(MPI_ERR_NO_MEM, "no memory for an info object");
    *info = (MPI_Info)i;
    return MPI_SUCCESS;
}

int wf_mpi_info_create_env(struct wf_instance *wf, int argc, char *argv[],
                           MPI_Info *info)
{
    struct wf_info *i = wf_info_environment(argc, argv);
    if (!i)
        return wf_error(MPI_ERR_NO_MEM, "no memory for an info object");
    *info = (MPI_Info)i;
    return MPI_SUCCESS;
}

int wf_mpi_info_dup(struct wf_instance *wf, struct wf_info *info,
                    MPI_Info *newinfo)
{
    struct wf_info *i = wf_info_copy(info);
    if (!i)
        return wf_error(MPI_ERR_NO_MEM, "no memory for an info object");
    *newinfo = (MPI_Info)i;
    return MPI_SUCCESS;
}

int wf_mpi_info_free(struct wf_instance *wf, MPI_Info *info)
{
    struct wf_info *i = wf_info_of(wf, *info);
    if (!i)
        return wf_error(MPI_ERR_INFO, "the handle is not an info object");
    if (i->read_only)
        return wf_error(MPI_ERR_INFO, "MPI_INFO_ENV cannot be freed");
    wf_info_destroy(i);
    *info = MPI_INFO_NULL;
    return MPI_SUCCESS;
}

int wf_mpi_info_set(struct wf_instance *wf, struct wf_info *info,
                    const char *key, const char *value)
{
    int rc = check_writable(info);
    if (rc == MPI_SUCCESS)
        rc = check_key(key);
    if (rc != MPI_SUCCESS)
        return rc;
    if (strlen(value) >= MPI_MAX_INFO_VAL)
        return wf_error(MPI_ERR_INFO_VALUE,
                        "the value of key '%s' has %zu characters, the limit "
                        "is %d",
                        key, strlen(value), MPI_MAX_INFO_VAL - 1);
    return wf_info_put(info, key, value);
}

int wf_mpi_info_delete(struct wf_instance *wf, struct wf_info *info,
                       const char *key)
{
    int rc = check_writable(info);
    if (rc == MPI_SUCCESS)
        rc = check_key(key);
    if (rc != MPI_SUCCESS)
        return rc;
    int i = index_of(info, key);
    if (i < 0)
        return wf_error(MPI_ERR_INFO_NOKEY, "there is no key '%s'", key);
    remove_at(info, i);
    return MPI_SUCCESS;
}

/* Copy at most room bytes of text with its null character. */
static void copy_text(char *out, size_t room, const char *text)
{
    size_t n = strlen(text);
    if (n >= room)
        n = room - 1;
    memcpy(out, text, n);
    out[n] = 0;
}

/* valuelen does not count the null character, which is written all the same:
 * the array has valuelen + 1 places. */
int wf_mpi_info_get(struct wf_instance *wf, struct wf_info *info,
                    const char *key, int valuelen, char *value, int *flag)
{
    int rc = check_key(key);
    if (rc != MPI_SUCCESS)
        return rc;
    if (valuelen < 0)
        return wf_error(MPI_ERR_ARG, "valuelen is %d", valuelen);
    const char *text = wf_info_find(info, key);
    *flag = text != NULL;
    if (text)
        copy_text(value, (size_t)valuelen + 1, text);
    return MPI_SUCCESS;
}

/* buflen counts the null character (MPI-5.0 chapter 10). */
int wf_mpi_info_get_string(struct wf_instance *wf, struct wf_info *info,
                           const char *key, int *buflen, char *value, int *flag)
{
    int rc = check_key(key);
    if (rc != MPI_SUCCESS)
        return rc;
    if (*buflen < 0)
        return wf_error(MPI_ERR_ARG, "*buflen is %d", *buflen);
    const char *text = wf_info_find(info, key);
    *flag = text != NULL;
    if (!text)
        return MPI_SUCCESS;
    if (*buflen > 0)
        copy_text(value, (size_t)*buflen, text);
    *buflen = (int)strlen(text) + 1;
    return MPI_SUCCESS;
}

int wf_mpi_info_get_valuelen(struct wf_instance *wf, struct wf_info *info,
                             const char *key, int *valuelen, int *flag)
{
    int rc = check_key(key);
    if (rc != MPI_SUCCESS)
        return rc;
    const char *text = wf_info_find(info, key);
    *flag = text != NULL;
    if (text)
        *valuelen = (int)strlen(text);
    return MPI_SUCCESS;
}

int wf_mpi_info_get_nkeys(struct wf_instance *wf, struct wf_info *info,
                          int *nkeys)
{
    *nkeys = info->count;
    return MPI_SUCCESS;
}

int wf_mpi_info_get_nthkey(struct wf_instance *wf, struct wf_info *info, int n,
                           char *key)
{
    if (n < 0 || n >= info->count)
        return wf_error(MPI_ERR_ARG, "n is %d, but the object has %d keys", n,
                        info->count);
    strcpy(key, info->list[n].key);
    return MPI_SUCCESS;
}
