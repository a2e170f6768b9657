/* The errors of wrong arguments, and checks that most bindings share.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "api/check.h"

#include <stdio.h>

#include "datatype/predefined.h"
#include "group/raise.h"
#include "object/error.h"
#include "os/copies.h"
#include "process/process.h"
#include "protocol/queues.h"
#include "report/trace_note.h"

/* ---- the API section, out of line ---------------------------------------- */

int wf_api_end(struct wf_instance *wf, void *on, const char *function, int rc)
    WF_LEAVES(wf->api) WF_UNANALYSED
{
    wf_api_leave(wf);
    return wf_unlikely(rc) ? wf_raise(wf, on, function, rc) : MPI_SUCCESS;
}

/* In a callback of an event the thread is inside already. */
static bool has_section_to_enter(const struct wf_instance *wf)
{
    return wf && wf->api.threads && !wf_event_shown;
}

void wf_api_enter_early(struct wf_instance *wf) WF_ENTERS(wf->api) WF_UNANALYSED
{
    if (has_section_to_enter(wf))
        wf_api_lock(&wf->api);
}

void wf_api_leave_early(struct wf_instance *wf) WF_LEAVES(wf->api) WF_UNANALYSED
{
    if (has_section_to_enter(wf))
        wf_api_unlock(&wf->api);
}

/* Returns the name of a kind of object, for messages. */
static const char *kind_name(enum wf_kind kind)
{
    switch (kind) {
    case WF_KIND_COMM:
        return "a communicator";
    case WF_KIND_GROUP:
        return "a group";
    case WF_KIND_TYPE:
        return "a datatype";
    case WF_KIND_OP:
        return "an operation";
    case WF_KIND_REQUEST:
        return "a request";
    case WF_KIND_MESSAGE:
        return "a message";
    case WF_KIND_INFO:
        return "an info object";
    case WF_KIND_ERRHANDLER:
        return "an error handler";
    case WF_KIND_SESSION:
        return "a session";
    case WF_KIND_WIN:
        return "a window";
    case WF_KIND_FILE:
        return "a file";
    case WF_KIND_DEAD:
        return "a freed object";
    }
    return "no MPI object, or one that was freed";
}

static const struct {
    enum wf_kind kind;
    int mpi_class;
    uintptr_t null;
    const char *null_name;
    uintptr_t first, last; /* the range of predefined handles in the ABI */
} kinds[] = {
    {WF_KIND_COMM, MPI_ERR_COMM, 0x100, "MPI_COMM_NULL", 0x100, 0x107},
    {WF_KIND_GROUP, MPI_ERR_GROUP, 0x108, "MPI_GROUP_NULL", 0x108, 0x10f},
    {WF_KIND_TYPE, MPI_ERR_TYPE, 0x200, "MPI_DATATYPE_NULL", 0x200, 0x3ff},
    {WF_KIND_OP, MPI_ERR_OP, 0x20, "MPI_OP_NULL", 0x20, 0x3f},
    {WF_KIND_REQUEST, MPI_ERR_REQUEST, 0x180, "MPI_REQUEST_NULL", 0x180, 0x187},
    {WF_KIND_MESSAGE, MPI_ERR_REQUEST, 0x128, "MPI_MESSAGE_NULL", 0x128, 0x12f},
    {WF_KIND_INFO, MPI_ERR_INFO, 0x130, "MPI_INFO_NULL", 0x130, 0x137},
    {WF_KIND_ERRHANDLER, MPI_ERR_ERRHANDLER, 0x140, "MPI_ERRHANDLER_NULL",
     0x140, 0x147},
    {WF_KIND_SESSION, MPI_ERR_SESSION, 0x120, "MPI_SESSION_NULL", 0x120, 0x127},
    {WF_KIND_WIN, MPI_ERR_WIN, 0x110, "MPI_WIN_NULL", 0x110, 0x117},
    {WF_KIND_FILE, MPI_ERR_FILE, 0x118, "MPI_FILE_NULL", 0x118, 0x11f},
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* Returns a description of the object that a handle seems to have. wf_is_object
 * has read the object's head already, so it may be read again. */
static const char *describe_object(const void *handle)
{
    uintptr_t v = (uintptr_t)handle;
    if (v > WF_PREDEFINED_MAX)
        return v & 7
                   ? "no MPI object"
                   : kind_name((enum wf_kind)((const struct wf_object *)handle)
                                   ->kind);
    for (int i = 0; i < KINDS; i++)
        if (v >= kinds[i].first && v <= kinds[i].last)
            return kind_name(kinds[i].kind);
    return "no MPI object";
}

static int record_bad_handle(const char *param, const void *handle,
                             enum wf_kind kind)
{
    int i = 0;
    while (i < KINDS - 1 && kinds[i].kind != kind)
        i++;
    if ((uintptr_t)handle == kinds[i].null)
        return wf_error(kinds[i].mpi_class, "%s is %s where %s is needed",
                        param, kinds[i].null_name, kind_name(kind));
    if (!handle)
        return wf_error(kinds[i].mpi_class,
                        "%s is 0, which is not %s: was it ever set?", param,
                        kind_name(kind));
    if (kind == WF_KIND_TYPE && wf_type_is_removed((MPI_Datatype)handle))
        return wf_error(kinds[i].mpi_class,
                        "%s is a type that the Fortran compiler does not have, "
                        "as MPI_Abi_set_fortran_info was told",
                        param);
    return wf_error(kinds[i].mpi_class, "%s is %p, which is %s and not %s",
                    param, handle, describe_object(handle), kind_name(kind));
}

int wf_bad_handle(struct wf_instance *wf, void *on, const char *fn,
                  const char *param, const void *handle, enum wf_kind kind)
{
    return wf_raise(wf, on, fn, record_bad_handle(param, handle, kind));
}

int wf_bad_handle_at(struct wf_instance *wf, void *on, const char *fn,
                     const char *param, MPI_Count index, const void *handle)
{
    char element[96];
    snprintf(element, sizeof(element), "%s[%lld]", param, (long long)index);
    struct wf_type *type =
        strstr(param, "type") ? wf_api_type((MPI_Datatype)handle) : NULL;
    if (type)
        return wf_bad_committed(wf, on, fn, element, (MPI_Datatype)handle);
    return wf_bad_handle(wf, on, fn, element, handle,
                         strstr(param, "type") ? WF_KIND_TYPE
                                               : WF_KIND_REQUEST);
}

int wf_bad_committed(struct wf_instance *wf, void *on, const char *fn,
                     const char *param, MPI_Datatype type)
{
    if (!wf_api_type(type))
        return wf_bad_handle(wf, on, fn, param, type, WF_KIND_TYPE);
    return wf_raise(wf, on, fn,
                    wf_error(MPI_ERR_TYPE,
                             "%s is not committed: call MPI_Type_commit first",
                             param));
}

int wf_bad_phase(const char *fn)
{
    char copies[600];
    int rc = wf_api_phase() == WF_PHASE_AFTER
                 ? wf_error(MPI_ERR_OTHER, "called after MPI_Finalize")
             : !wf_thread_process && wf_process_state.ranks
                 ? wf_error(MPI_ERR_OTHER,
                            "called by a thread that is no rank, in a process "
                            "whose ranks are threads: call MPI from those, or "
                            "let one ask for MPIX_THREAD_FILTERED")
             : wf_copies_find(copies, sizeof copies)
                 ? wf_error(MPI_ERR_OTHER, "called before MPI_Init: %s", copies)
                 : wf_error(MPI_ERR_OTHER,
                            "called before MPI_Init or MPI_Init_thread");
    return wf_raise(NULL, NULL, fn, rc);
}

int wf_bad_restart(const char *fn)
{
    int rc = wf_api_phase() == WF_PHASE_AFTER
                 ? wf_error(MPI_ERR_OTHER,
                            "called after MPI_Finalize: MPI cannot be "
                            "initialised twice in one process")
                 : wf_error(MPI_ERR_OTHER, "MPI is already initialised: ask "
                                           "MPI_Initialized before");
    return wf_raise(wf_current(), NULL, fn, rc);
}

/* A communicator in a message: "communicator 'rows'", or "the communicator" if
 * it has no name. */
struct comm_text {
    char text[MPI_MAX_OBJECT_NAME + 24];
};

static struct comm_text name_of_comm(const struct wf_comm *comm)
{
    struct comm_text n;
    if (comm->name[0])
        snprintf(n.text, sizeof(n.text), "communicator '%s'", comm->name);
    else
        snprintf(n.text, sizeof(n.text), "the communicator");
    return n;
}

/* Whether the call is of the large-count form, which shares the name of the int
 * form or has its own. */
static bool is_large_form(const char *fn)
{
    size_t n = strlen(fn);

    return wf_call_now.large || (n > 2 && strcmp(fn + n - 2, "_c") == 0);
}

int wf_bad_count(struct wf_instance *wf, void *on, const char *fn,
                 const char *param, MPI_Count value)
{
    int rc;
    if (is_large_form(fn))
        rc = wf_error(MPI_ERR_COUNT, "%s is %lld but must be 0 or more", param,
                      (long long)value);
    else
        rc = wf_error(MPI_ERR_COUNT,
                      "%s is %lld but must be 0..%d; if a larger number "
                      "overflowed, use %s_c",
                      param, (long long)value, INT_MAX, fn);
    return wf_raise(wf, on, fn, rc);
}

int wf_bad_number(struct wf_instance *wf, void *on, const char *fn,
                  const char *param, MPI_Count value, int mpi_class)
{
    return wf_raise(wf, on, fn,
                    wf_error(mpi_class, "%s is %lld but must be 0 or more",
                             param, (long long)value));
}

/* Report a wildcard that a hint of the communicator excludes. */
static int raise_excluded_wildcard(struct wf_instance *wf, struct wf_comm *comm,
                                   const char *fn, int class, const char *param,
                                   const char *wildcard)
{
    int rc = wf_error(class,
                      "%s is %s but %s has the hint mpi_assert_no_%s = true; "
                      "take the hint away with MPI_Comm_set_info, or name what "
                      "is to be received",
                      param, wildcard, name_of_comm(comm).text,
                      class == MPI_ERR_TAG ? "any_tag" : "any_source");

    return wf_raise(wf, comm, fn, rc);
}

int wf_bad_rank(struct wf_instance *wf, struct wf_comm *comm, const char *fn,
                const char *param, int value, const char *others)
{
    if (value == MPI_ANY_SOURCE && comm->asserts & WF_ASSERT_NO_ANY_SOURCE)
        return raise_excluded_wildcard(wf, comm, fn, MPI_ERR_RANK, param,
                                       "MPI_ANY_SOURCE");
    int rc = wf_error(MPI_ERR_RANK, "%s is %d but %s has %sranks 0..%d%s%s%s",
                      param, value, name_of_comm(comm).text,
                      comm->inter ? "remote " : "", wf_api_ranks(comm) - 1,
                      *others ? " (or " : "", others, *others ? ")" : "");
    return wf_raise(wf, comm, fn, rc);
}

int wf_bad_leader(struct wf_instance *wf, struct wf_comm *comm, const char *fn,
                  int value, struct wf_comm *peer)
{
    return wf_raise(wf, comm, fn,
                    wf_error(MPI_ERR_RANK,
                             "remote_leader is %d but peer_comm has ranks "
                             "0..%d",
                             value, wf_api_ranks(peer) - 1));
}

int wf_bad_root(struct wf_instance *wf, struct wf_comm *comm, const char *fn,
                int value)
{
    int rc = wf_error(MPI_ERR_ROOT, "root is %d but %s has %sranks 0..%d%s",
                      value, name_of_comm(comm).text,
                      comm->inter ? "remote " : "", wf_api_ranks(comm) - 1,
                      comm->inter ? " (or MPI_ROOT or MPI_PROC_NULL)" : "");
    return wf_raise(wf, comm, fn, rc);
}

int wf_bad_tag(struct wf_instance *wf, struct wf_comm *comm, const char *fn,
               const char *param, int value)
{
    if (value == MPI_ANY_TAG && comm->asserts & WF_ASSERT_NO_ANY_TAG)
        return raise_excluded_wildcard(wf, comm, fn, MPI_ERR_TAG, param,
                                       "MPI_ANY_TAG");
    return wf_raise(wf, comm, fn,
                    wf_error(MPI_ERR_TAG,
                             "%s is %d but must be 0..%d (MPI_ANY_TAG only to "
                             "receive or probe)",
                             param, value, INT_MAX));
}

int wf_bad_color(struct wf_instance *wf, struct wf_comm *comm, const char *fn,
                 int value)
{
    return wf_raise(wf, comm, fn,
                    wf_error(MPI_ERR_ARG,
                             "color is %d but must be 0..%d or MPI_UNDEFINED",
                             value, INT_MAX));
}

int wf_bad_pointer(struct wf_instance *wf, void *on, const char *fn,
                   const char *param)
{
    return wf_raise(wf, on, fn,
                    wf_error(MPI_ERR_ARG,
                             "%s is NULL but must point to memory of the "
                             "caller",
                             param));
}

int wf_bad_buffer(struct wf_instance *wf, void *on, const char *fn,
                  const char *param, const void *buf, MPI_Count count)
{
    int rc;
    if (buf)
        rc = wf_error(
            MPI_ERR_BUFFER, "%s is %s, which is not a buffer for this function",
            param,
            buf == MPI_IN_PLACE ? "MPI_IN_PLACE" : "MPI_BUFFER_AUTOMATIC");
    else
        rc = wf_error(MPI_ERR_BUFFER,
                      "%s is NULL but %lld elements are to be found there",
                      param, (long long)count);
    return wf_raise(wf, on, fn, rc);
}

int wf_bad_place(struct wf_instance *wf, struct wf_comm *comm, const char *fn,
                 const char *param)
{
    int rc = wf_error(MPI_ERR_BUFFER, "%s is MPI_IN_PLACE, %s", param,
                      comm && comm->inter
                          ? "which an intercommunicator does not allow"
                          : "which only the root may give here");
    return wf_raise(wf, comm, fn, rc);
}

int wf_bad_element(struct wf_instance *wf, void *on, const char *fn,
                   const struct wf_bad_element *e)
{
    int rc;
    if (e->high < e->low)
        rc = wf_error(e->mpi_class, "%s[%lld] is %lld but must be %lld or more",
                      e->param, (long long)e->index, (long long)e->value,
                      (long long)e->low);
    else
        rc = wf_error(e->mpi_class, "%s[%lld] is %lld but must be %lld..%lld",
                      e->param, (long long)e->index, (long long)e->value,
                      (long long)e->low, (long long)e->high);
    return wf_raise(wf, on, fn, rc);
}

int wf_bad_narrow(struct wf_instance *wf, void *on, const char *fn,
                  const char *param, MPI_Count value)
{
    return wf_raise(wf, on, fn,
                    wf_error(MPI_ERR_VALUE_TOO_LARGE,
                             "%s is %lld, which this function cannot return: "
                             "use %s_c",
                             param, (long long)value, fn));
}

struct wf_instance *wf_api_current(void)
{
    return wf_current();
}

struct wf_comm *wf_api_find_comm(struct wf_instance *wf, MPI_Comm h)
{
    return wf_api_comm(wf, h);
}

struct wf_type *wf_api_find_type(MPI_Datatype h)
{
    return wf_api_type(h);
}

struct wf_instance *wf_api_engine_of_message(struct wf_instance *wf,
                                             MPI_Message h)
{
    struct wf_message *m = wf_message_of(h);

    return m && m->comm ? m->comm->wf : wf;
}

struct wf_type *wf_api_null_type(MPI_Datatype type, MPI_Count count, int rank)
{
    return type == MPI_DATATYPE_NULL && count == 0 && rank == MPI_PROC_NULL
               ? wf_type_of(MPI_BYTE)
               : NULL;
}

static bool is_predefined_data(const struct wf_type *type)
{
    return type && (type->flags & WF_TYPE_PREDEFINED) && type->size > 0;
}

bool wf_api_no_buffer(const void *buf, MPI_Count count,
                      const struct wf_type *type)
{
    return buf || (count > 0 && is_predefined_data(type));
}

MPI_Count wf_api_largest_count(struct wf_ints counts, struct wf_ints displs,
                               MPI_Count n, const MPI_Datatype *types)
{
    enum { NO_ADDRESS = 4096 }; /* nothing is ever mapped below */
    MPI_Count most = 0;
    for (MPI_Count i = 0; i < n; i++) {
        MPI_Count count = wf_int_at(counts, (size_t)i);
        bool absolute =
            displs.base && wf_int_at(displs, (size_t)i) >= NO_ADDRESS;
        if (count > most && !absolute &&
            (!types || is_predefined_data(wf_type_of(types[i]))))
            most = count;
    }
    return most;
}

MPI_Count wf_api_find_outside(struct wf_ints v, MPI_Count n, MPI_Count low,
                         MPI_Count high)
{
    for (MPI_Count i = 0; i < n; i++) {
        MPI_Count x = wf_int_at(v, (size_t)i);
        if (wf_unlikely(x < low || (x > high && high >= low)))
            return i;
    }
    return -1;
}

int wf_api_find_bad_request(int n, const MPI_Request *requests)
{
    /* wf_api_request, with one comparison for an address: rotated, one that is
     * not a multiple of 8 is too large */
    const uintptr_t least = (WF_PREDEFINED_MAX + 1) >> 3;

    for (int i = 0; i < n; i++) {
        uintptr_t h = (uintptr_t)requests[i];
        if (((h >> 3 | h << (8 * sizeof h - 3)) - least <
             (UINTPTR_MAX >> 3) - least) &&
            ((const struct wf_object *)h)->kind == WF_KIND_REQUEST)
            continue;
        if (requests[i] != MPI_REQUEST_NULL)
            return i;
    }
    return -1;
}

MPI_Count wf_api_find_bad_type(MPI_Count n, const MPI_Datatype *types,
                         struct wf_ints counts)
{
    for (MPI_Count i = 0; i < n; i++) {
        if (counts.base && wf_int_at(counts, (size_t)i) == 0)
            continue;
        struct wf_type *type = wf_api_type(types[i]);
        if (counts.base ? !wf_api_committed(type) : !type)
            return i;
    }
    return -1;
}

MPI_Count wf_api_find_bad_rank(const int *ranks, int n, int size, bool null_ok)
{
    for (int i = 0; i < n; i++)
        if ((unsigned)ranks[i] >= (unsigned)size &&
            !(null_ok && ranks[i] == MPI_PROC_NULL))
            return i;
    return -1;
}
