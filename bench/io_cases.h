/* This header has what mpi_io and raw_io share: the sizes of their cases, and
 * the name of the file.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef BENCH_IO_CASES_H
#define BENCH_IO_CASES_H

#define BENCH_FILE "bench-io.data"

enum {
    SMALL = 8,
    RECORD = 100,
    BLOCK = 4096,
    SHARE = 1 << 20, /* of each rank, of an interleaved access */
    LARGE = 16 << 20
};

#endif
