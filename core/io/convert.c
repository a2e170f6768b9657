/* Accesses that convert their data: external32, and registered representations
 * (MPI-5.0 s14.5.2, s14.5.3).
 *
 * Elements go through a staging buffer that holds them as they are in the file,
 * some at a time. A read that ends inside an element gives the whole elements
 * before it.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "io/convert.h"

#include <stdlib.h>

#include "core_api.h"
#include "datatype/predefined.h"
#include "datatype/type.h"
#include "io/access.h"
#include "io/datarep.h"
#include "io/view.h"
#include "object/error.h"

enum { STAGE = 256 << 10 };

typedef int conversion_fn(void *, MPI_Datatype, int, void *, MPI_Offset,
                          void *);
typedef int conversion_fn_c(void *, MPI_Datatype, MPI_Count, void *, MPI_Offset,
                            void *);

/* Calls a function of the program for n elements from `first` on. */
static int call_conversion(const struct wf_access *a, uint64_t first,
                           uint64_t n, void *stage)
{
    const struct wf_datarep *rep = a->view->datarep;
    struct wf_polyfn f = a->write ? rep->write : rep->read;
    MPI_Datatype type = wf_type_handle(a->type);
    int rc;

    rc = f.large
             ? ((conversion_fn_c *)f.fn)(a->buf, type, (MPI_Count)n, stage,
                                         (MPI_Offset)first, rep->extra_state)
             : ((conversion_fn *)f.fn)(a->buf, type, (int)n, stage,
                                       (MPI_Offset)first, rep->extra_state);
    if (rc == MPI_SUCCESS)
        return MPI_SUCCESS;
    return wf_error(
        MPI_ERR_CONVERSION, "the %s function of datarep \"%s\" returned %d",
        a->write ? "write conversion" : "read conversion", rep->name, rc);
}

/* Converts n elements from `first` on between memory and the staging buffer.
 * The conversions of external32 need no instance. */
static int convert_elements(const struct wf_access *a, uint64_t first,
                            uint64_t n, void *stage, uint64_t bytes)
{
    void *memory = (void *)((uintptr_t)a->buf +
                            (uintptr_t)((int64_t)first * a->type->extent));
    MPI_Count position = 0;

    if (a->view->datarep->kind == WF_REP_REGISTERED)
        return call_conversion(a, first, n, stage);
    if (a->write)
        return wf_mpi_pack_external(NULL, "external32", memory, (MPI_Count)n,
                                    a->type, stage, (MPI_Count)bytes,
                                    &position);
    return wf_mpi_unpack_external(NULL, "external32", stage, (MPI_Count)bytes,
                                  &position, memory, (MPI_Count)n, a->type);
}

/* Moves n elements from `first` on. *moved: the whole ones that were. */
static int move_elements(const struct wf_access *a, uint64_t first, uint64_t n,
                         void *stage, uint64_t *moved)
{
    uint64_t each = a->stream_bytes / a->count;
    struct wf_access bytes = *a;
    int rc = MPI_SUCCESS, rc_convert = MPI_SUCCESS;

    bytes.buf = stage;
    bytes.type = wf_type_of(MPI_BYTE);
    bytes.count = bytes.stream_bytes = n * each;
    bytes.stream = a->stream + first * each;
    bytes.bytes_done = 0;
    if (a->write)
        rc = convert_elements(a, first, n, stage, n * each);
    if (rc == MPI_SUCCESS)
        rc = wf_access_transfer(&bytes);
    *moved = bytes.bytes_done / each;
    if (!a->write && *moved > 0)
        rc_convert = convert_elements(a, first, *moved, stage, *moved * each);
    return rc ? rc : rc_convert;
}

int wf_access_convert(struct wf_access *a)
{
    uint64_t each = a->stream_bytes / a->count;
    uint64_t most = STAGE / each > 0 ? STAGE / each : 1;
    uint64_t done = 0, moved;
    int rc = MPI_SUCCESS;

    if (most > a->count)
        most = a->count;
    void *stage = malloc((size_t)(most * each));
    if (!stage)
        return wf_error(MPI_ERR_NO_MEM, "no memory to convert %llu bytes",
                        (unsigned long long)(most * each));
    while (rc == MPI_SUCCESS && done < a->count) {
        uint64_t n = a->count - done < most ? a->count - done : most;

        rc = move_elements(a, done, n, stage, &moved);
        done += moved;
        if (moved < n)
            break;
    }
    a->bytes_done = done * (uint64_t)a->type->size;
    free(stage);
    return rc;
}
