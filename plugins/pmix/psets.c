/* The process sets that a PMIx server has. Open MPI's mpirun before version 5
 * and Slurm have none.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>
#include <string.h>

#include "client.h"

pmix_info_t *wf_pmix_ask_query(const char *key, pmix_info_t *qualifier,
                               size_t *n)
{
    char *keys[] = {(char *)(uintptr_t)key, NULL};
    pmix_query_t q = {
        .keys = keys, .qualifiers = qualifier, .nqual = qualifier ? 1 : 0};
    pmix_info_t *answers = NULL;

    *n = 0;
    if (PMIx_Query_info(&q, 1, &answers, n) != PMIX_SUCCESS)
        return NULL;
    return *n ? answers : NULL;
}

const pmix_value_t *wf_pmix_find_answer(const pmix_info_t *answers, size_t n,
                                        const char *key, pmix_data_type_t type)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(answers[i].key, key) == 0 && answers[i].value.type == type)
            return &answers[i].value;
    return NULL;
}

/* Take the ranks of this job from an array of processes; whether this process
 * is one of them. */
static bool take_ranks(const struct weft_boot *b, const pmix_data_array_t *a,
                       weft_boot_pset *set)
{
    const pmix_proc_t *procs = a->array;
    bool inside = false;

    for (size_t i = 0; i < a->size; i++) {
        if (strcmp(procs[i].nspace, b->me.nspace) != 0 ||
            procs[i].rank >= b->count || set->count == b->count)
            continue;
        set->ranks[set->count++] = procs[i].rank;
        inside |= procs[i].rank == b->me.rank;
    }
    return inside;
}

static void free_pset(weft_boot_pset *set)
{
    free(set->ranks);
    free(set->name);
    free(set);
}

/* Make the record of a set from the answer to who is in it. *set stays NULL if
 * this process is not. WEFT_ENOMEM. */
static int make_pset(const struct weft_boot *b, const char *name,
                     const pmix_data_array_t *members, weft_boot_pset **out)
{
    weft_boot_pset *set;

    if (!members || members->type != PMIX_PROC || !members->array)
        return 0;
    set = calloc(1, sizeof *set);
    if (!set)
        return WEFT_ENOMEM;
    set->ranks = calloc(b->count, sizeof *set->ranks);
    set->name = strdup(name);
    if (!set->ranks || !set->name) {
        free_pset(set);
        return WEFT_ENOMEM;
    }
    if (take_ranks(b, members, set))
        *out = set;
    else
        free_pset(set);
    return 0;
}

static int read_pset(const struct weft_boot *b, char *name,
                     weft_boot_pset **out)
{
    const pmix_value_t *v;
    pmix_info_t which, *answers;
    size_t n;
    int rc = 0;

    wf_pmix_set_flag(&which, PMIX_PSET_NAME, true);
    which.value.type = PMIX_STRING;
    which.value.data.string = name;
    answers = wf_pmix_ask_query(PMIX_QUERY_PSET_MEMBERSHIP, &which, &n);
    v = wf_pmix_find_answer(answers, n, PMIX_QUERY_PSET_MEMBERSHIP,
                            PMIX_DATA_ARRAY);
    if (v)
        rc = make_pset(b, name, v->data.darray, out);
    if (answers)
        PMIX_INFO_FREE(answers, n);
    return rc;
}

/* Returns the names with commas between them, or NULL; free() it. */
static char *read_names(void)
{
    size_t n;
    pmix_info_t *answers = wf_pmix_ask_query(PMIX_QUERY_PSET_NAMES, NULL, &n);
    const pmix_value_t *v =
        wf_pmix_find_answer(answers, n, PMIX_QUERY_PSET_NAMES, PMIX_STRING);
    char *names = v && v->data.string ? strdup(v->data.string) : NULL;

    if (answers)
        PMIX_INFO_FREE(answers, n);
    return names;
}

int wf_pmix_list_psets(struct weft_boot *b, weft_boot_pset **sets)
{
    char *rest = NULL, *names = read_names();
    weft_boot_pset **end = sets;
    int rc = 0;

    *sets = NULL;
    for (char *name = names ? strtok_r(names, ",", &rest) : NULL;
         name && rc == 0; name = strtok_r(NULL, ",", &rest)) {
        rc = read_pset(b, name, end);
        if (*end)
            end = &(*end)->next;
    }
    while (rc != 0 && *sets) {
        weft_boot_pset *set = *sets;
        *sets = set->next;
        free_pset(set);
    }
    free(names);
    return rc;
}
