/* A file that all processes write together: a plane of numbers, of which each
 * has a rectangle, is stored row by row, as one process would have written it.
 *
 *      file, N x N numbers            memory of process 2
 *      | 0 0 0 1 1 1 |
 *      | 0 0 0 1 1 1 |                 h h h h h
 *      | 2 2 2 3 3 3 |  <-- view -->   h 2 2 2 h     h: halo
 *      | 2 2 2 3 3 3 |                 h 2 2 2 h
 *                                      h h h h h
 *
 * One subarray type says where the rectangle is in the file (the view), another
 * where it is in memory, without its halo. So one collective call writes all of
 * it, and the file can be read back by any number of processes.
 *
 *   mpicc field.c -o field && mpirun -n 4 ./field [FILE]
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 600, HALO = 1 };

static int rows, columns; /* of this process */
static int first_row, first_column;

static double *cell_at(double *cells, int row, int column)
{
    return &cells[(row + HALO) * (columns + 2 * HALO) + column + HALO];
}

/* The value of a cell of the plane. */
static double value_of(int row, int column)
{
    return row + column / 1000.0;
}

/* Ends the program where a file does not do what it should: errors of files are
 * returned, not fatal, unless the program asks for that. */
static void check_call(int rc, const char *what)
{
    char text[MPI_MAX_ERROR_STRING];
    int n;

    if (rc == MPI_SUCCESS)
        return;
    MPI_Error_string(rc, text, &n);
    fprintf(stderr, "field: %s: %s\n", what, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Divides the plane among the processes. */
static void divide_plane(void)
{
    int size, rank, dims[2] = {0, 0};

    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Dims_create(size, 2, dims);
    first_row = rank / dims[1] * N / dims[0];
    first_column = rank % dims[1] * N / dims[1];
    rows = (rank / dims[1] + 1) * N / dims[0] - first_row;
    columns = (rank % dims[1] + 1) * N / dims[1] - first_column;
}

static MPI_Datatype make_rectangle(int outer_rows, int outer_columns, int row,
                                   int column)
{
    int sizes[2] = {outer_rows, outer_columns}, sub[2] = {rows, columns};
    int starts[2] = {row, column};
    MPI_Datatype t;

    MPI_Type_create_subarray(2, sizes, sub, starts, MPI_ORDER_C, MPI_DOUBLE,
                             &t);
    MPI_Type_commit(&t);
    return t;
}

/* Opens the file with the view of this process. */
static MPI_File open_plane(const char *name, int amode)
{
    MPI_Datatype in_file = make_rectangle(N, N, first_row, first_column);
    MPI_File f;

    check_call(MPI_File_open(MPI_COMM_WORLD, name, amode, MPI_INFO_NULL, &f),
               name);
    check_call(MPI_File_set_view(f, 0, MPI_DOUBLE, in_file, "native",
                                 MPI_INFO_NULL), "view");
    MPI_Type_free(&in_file);
    return f;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "field.dat";
    int wrong = 0, all, count, rank;
    MPI_Datatype in_memory;
    MPI_Status status;
    MPI_File f;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    divide_plane();
    in_memory = make_rectangle(rows + 2 * HALO, columns + 2 * HALO, HALO, HALO);
    double *cells = calloc((size_t)(rows + 2 * HALO) *
                           (size_t)(columns + 2 * HALO), sizeof *cells);
    double *back = calloc((size_t)(rows + 2 * HALO) *
                          (size_t)(columns + 2 * HALO), sizeof *back);
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++)
            *cell_at(cells, r, c) = value_of(first_row + r, first_column + c);

    f = open_plane(name, MPI_MODE_CREATE | MPI_MODE_WRONLY);
    check_call(MPI_File_set_size(f, 0), "size");
    check_call(MPI_File_write_all(f, cells, 1, in_memory, &status), "write");
    check_call(MPI_File_close(&f), "close");

    f = open_plane(name, MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE);
    check_call(MPI_File_read_all(f, back, 1, in_memory, &status), "read");
    MPI_Get_count(&status, in_memory, &count);
    check_call(MPI_File_close(&f), "close");

    wrong = count != 1;
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++)
            wrong += *cell_at(back, r, c) !=
                     value_of(first_row + r, first_column + c);
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("field: %d of %d numbers are wrong\n", all, N * N);
    MPI_Type_free(&in_memory);
    free(cells);
    free(back);
    MPI_Finalize();
    return all != 0;
}
