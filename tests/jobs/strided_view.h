/* A file that ranks share piece by piece, accessed in two phases.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef JOB_STRIDED_VIEW_H
#define JOB_STRIDED_VIEW_H

#include "check.h"

/* Opens a file of which this rank sees every n-th piece. write, read: hints
 * about two phases; read may be NULL. */
static inline MPI_File open_strided_on(MPI_Comm comm, const char *path,
                                       int piece, const char *write,
                                       const char *read)
{
    int me = rank_in(comm), n = size_of(comm);
    MPI_Datatype bytes, tile;
    MPI_File f = MPI_FILE_NULL;
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_cb_write", write);
    if (read)
        MPI_Info_set(info, "romio_cb_read", read);
    MPI_Info_set(info, "cb_buffer_size", "4096");
    CHECK(MPI_File_open(comm, path, MPI_MODE_RDWR | MPI_MODE_CREATE, info,
                        &f) == MPI_SUCCESS);
    MPI_Info_free(&info);
    MPI_Type_contiguous(piece, MPI_BYTE, &bytes);
    MPI_Type_create_resized(bytes, 0, piece * n, &tile);
    MPI_Type_commit(&tile);
    CHECK(MPI_File_set_view(f, me * piece, MPI_BYTE, tile, "native",
                            MPI_INFO_NULL) == MPI_SUCCESS);
    MPI_Type_free(&bytes);
    MPI_Type_free(&tile);
    return f;
}

static inline MPI_File open_strided(const char *path, int piece,
                                    const char *write, const char *read)
{
    return open_strided_on(MPI_COMM_WORLD, path, piece, write, read);
}

#endif
