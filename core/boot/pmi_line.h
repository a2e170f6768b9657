/* One line of the PMI-1 wire: words "key=value", separated by blanks.
 *
 * Shared by the client (pmi1.c) and by mpirun's server. Lines come from other
 * processes: nothing in them is trusted.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PMI_LINE_H
#define WF_PMI_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The value of the first word that starts with "key=", up to the next blank
 * or the end; false if there is none. The value is not NUL-terminated. */
bool wf_pmi_field(const char *line, const char *key, const char **value,
                  size_t *len);
/* The same, compared with a word. */
bool wf_pmi_field_is(const char *line, const char *key, const char *word);
/* The same as a decimal number that fits an int; false if it is not one. */
bool wf_pmi_field_int(const char *line, const char *key, int *value);
/* Copied into out with a NUL; false if absent or too long. */
bool wf_pmi_field_copy(const char *line, const char *key, char *out,
                       size_t size);

/* Parse "(vector,(first,nodes,ppn),...)" into the node of each rank. Blocks
 * are repeated when they cover fewer than size ranks. 0, or -1 and nothing
 * usable in node_of when the text is malformed. */
int wf_pmi_map_parse(const char *text, size_t len, uint32_t size,
                     uint32_t *node_of, uint32_t *node_count);

#endif
