/* Sessions: begin, end, hints and error handlers. See session.h.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "core_api.h"
#include "env/start.h"
#include "group/raise.h"
#include "instance/instance.h"
#include "instance/leave.h"
#include "object/env.h"
#include "object/errhandler.h"
#include "object/error.h"
#include "object/info.h"
#include "object/session.h"
#include "p2p/buffered.h"
#include "progress/engines.h"
#include "progress/progress.h"
#include "progress/wait.h"

/* ---- begin --------------------------------------------------------------- */

static const struct {
    const char *name;
    int level;
} levels[] = {
    {"MPI_THREAD_SINGLE", MPI_THREAD_SINGLE},
    {"MPI_THREAD_FUNNELED", MPI_THREAD_FUNNELED},
    {"MPI_THREAD_SERIALIZED", MPI_THREAD_SERIALIZED},
    {"MPI_THREAD_MULTIPLE", MPI_THREAD_MULTIPLE},
};

enum { LEVELS = sizeof levels / sizeof levels[0] };

/* Returns the index in `levels` of the level that the program asks for; -1: it
 * is none of them. A program that asks for none gets the highest. */
static int find_level(const struct wf_info *info)
{
    const char *text = wf_info_find(info, "thread_level");
    if (!text)
        return LEVELS - 1;
    for (int i = 0; i < LEVELS; i++)
        if (!strcmp(text, levels[i].name))
            return i;
    return -1;
}

/* Returns whether a session of this level brings threads. A level is a promise
 * about one session only: two sessions that a thread each uses are two threads.
 * Only MPI_THREAD_SINGLE says that the process has one thread. */
static enum wf_use thread_use_of(int level)
{
    return levels[level].level > MPI_THREAD_SINGLE ? WF_USE_THREADS
                                                   : WF_USE_ALONE;
}

static struct wf_info *create_hints(int level)
{
    struct wf_info *info = wf_info_create();
    if (info &&
        wf_info_put(info, "thread_level", levels[level].name) == MPI_SUCCESS &&
        wf_info_put(info, WF_INFO_ALLOC_KINDS, WF_ALLOC_KINDS) == MPI_SUCCESS)
        return info;
    wf_info_destroy(info);
    return NULL;
}

static struct wf_session *create_session(struct wf_instance *wf, int level,
                                         struct wf_errhandler *errhandler)
{
    struct wf_session *s = calloc(1, sizeof *s);
    struct wf_info *info = create_hints(wf->rank->multiple ? level : 0);
    if (!s || !info) {
        free(s);
        wf_info_destroy(info);
        return NULL;
    }
    wf_object_init(&s->object, WF_KIND_SESSION);
    s->wf = wf;
    s->info = info;
    s->errhandler = errhandler;
    wf_errhandler_get(errhandler);
    return s;
}

static int begin_session(const struct wf_info *info,
                         struct wf_errhandler *errhandler,
                         struct wf_session **out)
{
    struct wf_instance *wf;
    int level = find_level(info);
    if (level < 0)
        return wf_error(MPI_ERR_INFO_VALUE,
                        "the info key thread_level is \"%.40s\" but must be "
                        "MPI_THREAD_SINGLE, _FUNNELED, _SERIALIZED or "
                        "_MULTIPLE",
                        wf_info_find(info, "thread_level"));
    int rc = wf_start_add_user(thread_use_of(level), &wf);
    if (rc != MPI_SUCCESS)
        return rc;
    WF_SECTION(api, wf)
        *out = create_session(wf, level, errhandler);
    if (*out)
        return MPI_SUCCESS;
    wf_start_remove_user(wf, WF_LEAVE_FAILED);
    return wf_error(MPI_ERR_NO_MEM, "no memory for a session");
}

int wf_mpi_session_init(struct wf_instance *wf, struct wf_info *info,
                        struct wf_errhandler *errhandler, MPI_Session *session)
{
    struct wf_session *s;
    int rc = wf_errhandler_check(errhandler, &wf_session_owner_kind);
    if (rc == MPI_SUCCESS)
        rc = begin_session(info, errhandler, &s);
    if (rc == MPI_SUCCESS)
        *session = (MPI_Session)s;
    return rc;
}

/* ---- end ----------------------------------------------------------------- */

/* Wait until the transports of each engine have taken all that was sent. */
static void drain_lanes(struct wf_instance *home)
{
    for (struct wf_instance *e = home; e; e = wf_engine_after(e)) {
        wf_engine_switch(home, e);
        wf_progress_wait(e, UINT32_MAX, wf_are_lanes_empty, e, NULL);
        wf_engine_switch(e, home);
    }
}

/* The sends on the session's communicators are complete for the program, but a
 * transport may not have taken all of them. They must leave now, while this
 * thread still polls. */
int wf_mpi_session_finalize(struct wf_instance *wf, MPI_Session *session)
{
    struct wf_session *s = wf_session_of(*session);
    WF_SECTION(api, wf) {
        wf_bsend_release(wf, &s->bsend);
        drain_lanes(wf);
        s->object.kind = WF_KIND_DEAD;
        wf_session_put(s);
    }
    *session = MPI_SESSION_NULL;
    return wf_start_remove_user(wf, WF_LEAVE_IDLE);
}

/* ---- hints and error handlers -------------------------------------------- */

int wf_mpi_session_get_info(struct wf_instance *wf, struct wf_session *session,
                            MPI_Info *info_used)
{
    return wf_mpi_info_dup(wf, session->info, info_used);
}

int wf_mpi_session_create_errhandler(struct wf_instance *wf,
                                     MPI_Session_errhandler_function *fn,
                                     MPI_Errhandler *errhandler)
{
    return wf_errhandler_create(&wf_session_owner_kind, (void (*)(void))fn,
                                errhandler);
}

int wf_mpi_session_set_errhandler(struct wf_instance *wf,
                                  struct wf_session *session,
                                  struct wf_errhandler *errhandler)
{
    return wf_errhandler_replace(&session->errhandler, errhandler,
                                 &wf_session_owner_kind);
}

int wf_mpi_session_get_errhandler(struct wf_instance *wf,
                                  struct wf_session *session,
                                  MPI_Errhandler *errhandler)
{
    *errhandler = wf_errhandler_get_handle(session->errhandler);
    return MPI_SUCCESS;
}

int wf_mpi_session_call_errhandler(struct wf_instance *wf,
                                   struct wf_session *session, int errorcode)
{
    return wf_errhandler_call(wf, session, "MPI_Session_call_errhandler",
                              errorcode);
}
