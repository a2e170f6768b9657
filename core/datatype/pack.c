/* This file implements MPI_Pack, MPI_Unpack and MPI_Pack_size, MPI-5.0 s5.2.
 *
 * The packed form is the packed stream itself; nothing is added to it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core_api.h"
#include "datatype/derived.h"
#include "datatype/move.h"
#include "object/error.h"

/* Computes the bytes of count elements; an error when they do not fit 63
 * bits. */
static int stream_size(const struct wf_type *t, MPI_Count count, int64_t *bytes)
{
    if (__builtin_mul_overflow(count, t->size, bytes))
        return wf_error(MPI_ERR_COUNT,
                        "%lld elements of %lld bytes are more than 2^63 - 1",
                        (long long)count, (long long)t->size);
    return MPI_SUCCESS;
}

/* Checks that [position, position + need) lies inside a buffer of size
 * bytes. */
static int check_room(const char *buffer, const char *what, MPI_Count size,
                      MPI_Count position, int64_t need)
{
    if (position < 0 || position > size)
        return wf_error(MPI_ERR_ARG, "position %lld is outside 0..%lld (%s)",
                        (long long)position, (long long)size, what);
    if (need > size - position)
        return wf_error(MPI_ERR_TRUNCATE,
                        "%s holds %lld bytes after position %lld; the data "
                        "needs %lld",
                        buffer, (long long)(size - position),
                        (long long)position, (long long)need);
    return MPI_SUCCESS;
}

int wf_mpi_pack(struct wf_instance *wf, const void *inbuf, MPI_Count incount,
                struct wf_type *datatype, void *outbuf, MPI_Count outsize,
                MPI_Count *position, struct wf_comm *comm)
{
    int64_t n;
    int rc = stream_size(datatype, incount, &n);

    if (!rc)
        rc = check_room("outbuf", "outsize", outsize, *position, n);
    if (rc || n == 0)
        return rc;
    wf_type_pack(datatype, inbuf, (uint64_t)incount, 0,
                 (char *)outbuf + *position, (uint64_t)n);
    *position += n;
    return MPI_SUCCESS;
}

int wf_mpi_unpack(struct wf_instance *wf, const void *inbuf, MPI_Count insize,
                  MPI_Count *position, void *outbuf, MPI_Count outcount,
                  struct wf_type *datatype, struct wf_comm *comm)
{
    int64_t n;
    int rc = stream_size(datatype, outcount, &n);

    if (!rc)
        rc = check_room("inbuf", "insize", insize, *position, n);
    if (rc || n == 0)
        return rc;
    wf_type_unpack(datatype, outbuf, (uint64_t)outcount, 0,
                   (const char *)inbuf + *position, (uint64_t)n);
    *position += n;
    return MPI_SUCCESS;
}

int wf_mpi_pack_size(struct wf_instance *wf, MPI_Count incount,
                     struct wf_type *datatype, struct wf_comm *comm,
                     MPI_Count *size)
{
    return stream_size(datatype, incount, size);
}
