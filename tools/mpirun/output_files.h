/* The files that ranks write to: of --output-filename, --outfile-pattern and
 * --errfile-pattern. Streams whose names are the same share a file.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MPIRUN_OUTPUT_FILES_H
#define WF_MPIRUN_OUTPUT_FILES_H

#include <stdbool.h>

struct job;
struct rank;
struct sink;

/* The pattern for this rank, to be freed; NULL: no memory. */
char *wf_output_expand(const char *pattern, const struct rank *);
/* The file of its output or its errors; NULL: it has none. */
struct sink *wf_output_file_of(const struct job *, const struct rank *,
                               bool error);

#endif
