/* The parser of one line of the PMI-1 wire: words "key=value", separated by
 * blanks.
 *
 * The client (pmi1.c) and mpirun's server share it. Lines come from other
 * processes, so nothing in them is trusted.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PMI_LINE_H
#define WF_PMI_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Find the value of the first word that starts with "key=", up to the next
 * blank or the end; false: there is none. The value is not NUL-terminated. */
bool wf_pmi_field(const char *line, const char *key, const char **value,
                  size_t *len);
/* Whether the value under a key is this word. */
bool wf_pmi_field_is(const char *line, const char *key, const char *word);
/* Parse the value as a decimal number that fits an int; false: it is not. */
bool wf_pmi_field_int(const char *line, const char *key, int *value);
/* Copy the value into out with a NUL; false: it is absent or too long. */
bool wf_pmi_field_copy(const char *line, const char *key, char *out,
                       size_t size);

#endif
