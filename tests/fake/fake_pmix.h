/* A PMIx server and its client library in this process, for the tests of
 * plugins/pmix: these functions take the place of those of libpmix.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef FAKE_PMIX_H
#define FAKE_PMIX_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pmix.h>

enum { FAKE_VALUES = 16, FAKE_NODES = 4, FAKE_SETS = 4 };

struct fake_value {
    uint32_t rank;
    char key[64];
    bool far; /* only on another node's server */
    pmix_value_t value;
};

/* The answers of the server, and a count of what it has been told. */
static struct fake_pmix {
    uint32_t rank, size;
    pmix_status_t init, fence; /* how these end */
    const char *nodes, *peers[FAKE_NODES]; /* names; ranks as letters from a */
    const char *sets[FAKE_SETS][2];        /* names and ranks, likewise */
    bool at_once;                          /* the fence ends in its call */
    struct fake_value values[FAKE_VALUES];
    int count, commits, fences, collected, far, inits, finalizes, aborted;
    int handlers, unwiped, queries;
    pmix_notification_fn_t lost;
    pmix_info_t lost_info;
    pmix_op_cbfunc_t fence_done;
    void *fence_arg;
    pmix_status_t spawn, spawned; /* how the request, and its answer, end */
    bool silent;                  /* no answer comes by itself */
    pmix_spawn_cbfunc_t spawn_done;
    void *spawn_arg;
    char request[512]; /* that to spawn, as text */
    char modules[32];  /* which PMIx_Init may use for the server's values */
    bool forgotten;    /* the spawned job is unknown */
    const pmix_proc_state_t *states; /* of its two processes; NULL: no table */
    bool wrapped;                    /* the table has an info for each */
} pmix;

const char *PMIx_Error_string(pmix_status_t status)
{
    return status == PMIX_ERR_UNREACH           ? "UNREACHABLE"
           : status == PMIX_ERR_LOST_CONNECTION ? "LOST_CONNECTION"
           : status == PMIX_ERR_NOT_SUPPORTED   ? "NOT-SUPPORTED"
                                                : "ERROR";
}

pmix_status_t PMIx_Init(pmix_proc_t *me, pmix_info_t info[], size_t n)
{
    const char *modules = getenv("PMIX_GDS_MODULE");

    snprintf(pmix.modules, sizeof pmix.modules, "%s", modules ? modules : "");
    memset(me, 0, sizeof *me);
    strcpy(me->nspace, "job-17");
    me->rank = pmix.rank;
    pmix.inits++;
    return pmix.init;
}

pmix_status_t PMIx_Finalize(const pmix_info_t info[], size_t n)
{
    pmix.finalizes++;
    return PMIX_SUCCESS;
}

pmix_status_t PMIx_Abort(int status, const char text[], pmix_proc_t procs[],
                         size_t n)
{
    pmix.aborted = status;
    return PMIX_SUCCESS;
}

pmix_status_t PMIx_Commit(void)
{
    pmix.commits++;
    return PMIX_SUCCESS;
}

static inline void fake_store(uint32_t rank, const char *key, pmix_value_t v,
                              bool far)
{
    struct fake_value *f = &pmix.values[pmix.count++];

    if (pmix.count == FAKE_VALUES)
        abort();
    f->rank = rank;
    f->far = far;
    snprintf(f->key, sizeof f->key, "%s", key);
    f->value = v;
    if (v.type == PMIX_BYTE_OBJECT) {
        f->value.data.bo.bytes = malloc(v.data.bo.size + 1);
        memcpy(f->value.data.bo.bytes, v.data.bo.bytes, v.data.bo.size);
    }
}

pmix_status_t PMIx_Put(pmix_scope_t scope, const char key[], pmix_value_t *v)
{
    fake_store(pmix.rank, key, *v, false);
    return scope == PMIX_GLOBAL ? PMIX_SUCCESS : PMIX_ERROR;
}

static inline pmix_value_t *fake_number(uint32_t number)
{
    pmix_value_t *v = calloc(1, sizeof *v);

    v->type = PMIX_UINT32;
    v->data.uint32 = number;
    return v;
}

static inline pmix_value_t *fake_copy(const pmix_value_t *of)
{
    pmix_value_t *v = malloc(sizeof *v);

    *v = *of;
    if (v->type == PMIX_BYTE_OBJECT) {
        v->data.bo.bytes = malloc(v->data.bo.size + 1);
        memcpy(v->data.bo.bytes, of->data.bo.bytes, v->data.bo.size);
    }
    return v;
}

pmix_status_t PMIx_Get(const pmix_proc_t *of, const char key[],
                       const pmix_info_t how[], size_t n, pmix_value_t **v)
{
    bool far = n == 0 || strcmp(how[0].key, PMIX_IMMEDIATE) != 0;

    *v = NULL;
    if (strcmp(of->nspace, "job-18") == 0)
        *v = pmix.forgotten ? NULL : fake_number(2);
    else if (of->rank == PMIX_RANK_WILDCARD &&
             strcmp(key, PMIX_JOB_SIZE) == 0 && pmix.size)
        *v = fake_number(pmix.size);
    else if (strcmp(key, PMIX_APPNUM) == 0)
        *v = fake_number(2);
    else if (strcmp(key, PMIX_UNIV_SIZE) == 0)
        *v = fake_number(9);
    else
        pmix.far += far;
    for (int i = pmix.count; !*v && i-- > 0;)
        if (pmix.values[i].rank == of->rank && (far || !pmix.values[i].far) &&
            strcmp(pmix.values[i].key, key) == 0)
            *v = fake_copy(&pmix.values[i].value);
    return *v ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND;
}

/* Counts bytes that come back and were not wiped. */
void PMIx_Value_destruct(pmix_value_t *v)
{
    if (v->type == PMIX_BYTE_OBJECT) {
        for (size_t i = 0; i < v->data.bo.size; i++)
            pmix.unwiped += v->data.bo.bytes[i] != 0;
        free(v->data.bo.bytes);
    } else if (v->type == PMIX_STRING) {
        free(v->data.string);
    } else if (v->type == PMIX_PROC_INFO) {
        free(v->data.pinfo);
    } else if (v->type == PMIX_DATA_ARRAY) {
        pmix_info_t *info = v->data.darray->array;
        for (size_t i = 0; v->data.darray->type == PMIX_INFO && i < 2; i++)
            PMIx_Value_destruct(&info[i].value);
        free(v->data.darray->array);
        free(v->data.darray);
    }
    v->type = PMIX_UNDEF;
}

pmix_status_t PMIx_Fence_nb(const pmix_proc_t procs[], size_t nprocs,
                            const pmix_info_t info[], size_t n,
                            pmix_op_cbfunc_t done, void *arg)
{
    if (procs || n != 1 || strcmp(info[0].key, PMIX_COLLECT_DATA) != 0)
        return PMIX_ERROR;
    pmix.fences++;
    pmix.collected += info[0].value.data.flag;
    if (pmix.at_once)
        return PMIX_OPERATION_SUCCEEDED;
    pmix.fence_done = done;
    pmix.fence_arg = arg;
    return PMIX_SUCCESS;
}

static inline void *fake_end_fence(void *arg)
{
    pmix.fence_done(pmix.fence, pmix.fence_arg);
    return NULL;
}

/* The fence ends, as the library's own thread says. */
static inline pthread_t fake_start_end_of_fence(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, fake_end_fence, NULL) != 0)
        abort();
    return thread;
}

static inline pmix_proc_t *fake_procs(const char *ranks, const char *nspace,
                                      size_t *n)
{
    pmix_proc_t *procs;

    *n = strlen(ranks);
    procs = calloc(*n + 1, sizeof *procs);
    for (size_t i = 0; i < *n; i++) {
        snprintf(procs[i].nspace, sizeof procs[i].nspace, "%s", nspace);
        if (ranks[i] >= 'A' && ranks[i] <= 'Z') /* of another job */
            strcpy(procs[i].nspace, "job-18");
        procs[i].rank = (uint32_t)((ranks[i] | 32) - 'a');
    }
    return procs;
}

pmix_status_t PMIx_Resolve_nodes(const pmix_nspace_t nspace, char **nodes)
{
    *nodes = pmix.nodes ? strdup(pmix.nodes) : NULL;
    return *nodes ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND;
}

pmix_status_t PMIx_Resolve_peers(const char *node, const pmix_nspace_t nspace,
                                 pmix_proc_t **procs, size_t *n)
{
    int i = node[0] - '0'; /* their names are 0, 1 and so on */

    if (i < 0 || i >= FAKE_NODES || !pmix.peers[i])
        return PMIX_ERR_NOT_FOUND;
    *procs = fake_procs(pmix.peers[i], nspace, n);
    return PMIX_SUCCESS;
}

pmix_status_t PMIx_Register_event_handler(pmix_status_t codes[], size_t ncodes,
                                          pmix_info_t info[], size_t n,
                                          pmix_notification_fn_t handler,
                                          pmix_hdlr_reg_cbfunc_t done,
                                          void *arg)
{
    pmix.handlers++;
    pmix.lost = codes[0] == PMIX_ERR_LOST_CONNECTION ? handler : NULL;
    pmix.lost_info = info[0];
    return 5;
}

pmix_status_t PMIx_Deregister_event_handler(size_t id, pmix_op_cbfunc_t done,
                                            void *arg)
{
    pmix.handlers -= id == 5;
    return PMIX_SUCCESS;
}

static inline pmix_info_t *fake_answer(const char *key, pmix_data_type_t type)
{
    pmix_info_t *answer = calloc(1, sizeof *answer);

    snprintf(answer->key, sizeof answer->key, "%s", key);
    answer->value.type = type;
    return answer;
}

static inline pmix_info_t *fake_members(const char *name)
{
    pmix_info_t *answer;

    for (int i = 0; i < FAKE_SETS && pmix.sets[i][0]; i++) {
        if (strcmp(pmix.sets[i][0], name) != 0)
            continue;
        answer = fake_answer(PMIX_QUERY_PSET_MEMBERSHIP, PMIX_DATA_ARRAY);
        answer->value.data.darray = calloc(1, sizeof(pmix_data_array_t));
        answer->value.data.darray->type = PMIX_PROC;
        answer->value.data.darray->array =
            fake_procs(pmix.sets[i][1], "job-17",
                       &answer->value.data.darray->size);
        return answer;
    }
    return NULL;
}

/* Answer with the table of the processes of the spawned job. */
static inline pmix_info_t *fake_table(void)
{
    pmix_proc_info_t *procs = calloc(2, sizeof *procs);
    pmix_info_t *answer = fake_answer(PMIX_QUERY_PROC_TABLE, PMIX_DATA_ARRAY),
                *infos = calloc(2, sizeof *infos);
    pmix_data_array_t *table = calloc(1, sizeof *table);

    for (int i = 0; i < 2; i++) {
        procs[i].pid = 100 + i;
        procs[i].state = pmix.states[i];
        infos[i].value.type = PMIX_PROC_INFO;
        infos[i].value.data.pinfo = malloc(sizeof *procs);
        *infos[i].value.data.pinfo = procs[i];
    }
    table->type = pmix.wrapped ? PMIX_INFO : PMIX_PROC_INFO;
    table->size = 2;
    table->array = pmix.wrapped ? (void *)infos : (void *)procs;
    for (int i = 0; i < 2 && !pmix.wrapped; i++)
        free(infos[i].value.data.pinfo);
    free(pmix.wrapped ? (void *)procs : (void *)infos);
    answer->value.data.darray = table;
    return answer;
}

pmix_status_t PMIx_Query_info(pmix_query_t q[], size_t nq, pmix_info_t **out,
                              size_t *n)
{
    char names[4096] = "";

    pmix.queries++;
    *out = NULL;
    if (strcmp(q[0].keys[0], PMIX_QUERY_PSET_MEMBERSHIP) == 0) {
        *out = fake_members(q[0].qualifiers[0].value.data.string);
    } else if (strcmp(q[0].keys[0], PMIX_QUERY_PROC_TABLE) == 0) {
        *out = pmix.states ? fake_table() : NULL;
    } else if (pmix.sets[0][0]) {
        for (int i = 0; i < FAKE_SETS && pmix.sets[i][0]; i++)
            strcat(strcat(names, i ? "," : ""), pmix.sets[i][0]);
        *out = fake_answer(PMIX_QUERY_PSET_NAMES, PMIX_STRING);
        (*out)->value.data.string = strdup(names);
    }
    *n = *out != NULL;
    return *out ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND;
}

/* ---- spawning ------------------------------------------------------------ */

/* Write what is asked for: COUNT CMD [ARGV] {ENV} (CWD) <HOST>, for each. */
static inline void fake_write_app(const pmix_app_t *a)
{
    char *at = pmix.request + strlen(pmix.request);
    size_t room = sizeof pmix.request - strlen(pmix.request);
    FILE *f = fmemopen(at, room, "w");

    fprintf(f, "%d %s [", a->maxprocs, a->cmd);
    for (char **w = a->argv; *w; w++)
        fprintf(f, "%s,", *w);
    fprintf(f, "] {");
    for (char **w = a->env; *w; w++)
        fprintf(f, "%s,", *w);
    fprintf(f, "} (%s) <%s>;", a->cwd,
            a->ninfo ? a->info[0].value.data.string : "");
    fclose(f);
}

static inline void fake_answer_spawn(void)
{
    char space[] = "job-18";

    pmix.spawn_done(pmix.spawned, space, pmix.spawn_arg);
}

pmix_status_t PMIx_Spawn_nb(const pmix_info_t info[], size_t ninfo,
                            const pmix_app_t apps[], size_t napps,
                            pmix_spawn_cbfunc_t done, void *arg)
{
    if (pmix.spawn != PMIX_SUCCESS)
        return pmix.spawn;
    for (size_t i = 0; i < napps; i++)
        fake_write_app(&apps[i]);
    pmix.spawn_done = done;
    pmix.spawn_arg = arg;
    if (!pmix.silent)
        fake_answer_spawn();
    return PMIX_SUCCESS;
}

static inline void fake_reset(uint32_t rank, uint32_t size)
{
    for (int i = 0; i < pmix.count; i++)
        if (pmix.values[i].value.type == PMIX_BYTE_OBJECT)
            free(pmix.values[i].value.data.bo.bytes);
    memset(&pmix, 0, sizeof pmix);
    pmix.rank = rank;
    pmix.size = size;
}

#endif
