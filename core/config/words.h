/* Names and near misses: equality of names, edit distance, "did you mean".
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_WORDS_H
#define WF_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* The known words, collected for a message about an unknown one. */
struct wf_words {
    const char *word[96];
    int count;
};

void wf_words_add(struct wf_words *, const char *);
/* Whether two names are equal, where "-" equals "_". */
bool wf_name_equal(const char *a, const char *b);
/* The known word nearest to `word`, or NULL if none is near. */
const char *wf_words_nearest(const struct wf_words *, const char *word);
/* Write "; did you mean 'x'? known: x y z" into buf; returns buf. */
const char *wf_words_hint(const struct wf_words *, const char *word, char *buf,
                          size_t n);
/* Write the words into buf, with `between` between them; returns buf. */
const char *wf_words_list(const struct wf_words *, const char *between,
                          char *buf, size_t n);

#endif
