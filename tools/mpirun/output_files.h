/* Output files are those of --output-filename, --outfile-pattern and
 * --errfile-pattern. Streams with the same file name share a file.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MPIRUN_OUTPUT_FILES_H
#define WF_MPIRUN_OUTPUT_FILES_H

#include <stdbool.h>

struct job;
struct rank;
struct sink;

/* Returns the pattern expanded for this rank, to be freed; NULL without
 * memory. */
char *wf_output_expand(const struct job *, const char *pattern,
                       const struct rank *);
/* Returns the file of the rank's output or errors; NULL if it has none. */
struct sink *wf_output_file_of(const struct job *, const struct rank *,
                               bool error);

#endif
