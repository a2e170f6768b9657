/* Text as one word of a PMI line: all bytes but [A-Za-z0-9._:/+-] become %XX.
 *
 * The client and mpirun share it.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PMI_WORD_H
#define WF_PMI_WORD_H

#include <stdbool.h>
#include <stddef.h>

/* Write the word; false: it has no room. */
bool wf_pmi_word_encode(char *out, size_t size, const char *text);
/* Read the text of a word of n bytes. A percent sign before anything else than
 * two digits stands for itself, because other programs do not encode. false: it
 * has no room, or contains a zero byte. */
bool wf_pmi_word_decode(char *out, size_t size, const char *word, size_t n);

#endif
