/* Names and near misses: equality of names, edit distance, "did you mean".
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_WORDS_H
#define WF_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* The words that would have been right, gathered for a message. */
struct wf_words {
    const char *word[96];
    int count;
};

void wf_words_add(struct wf_words *, const char *);
/* "-" and "_" are equal in names of plugins and transports. */
bool wf_name_equal(const char *a, const char *b);
/* The known word nearest to `word`, or NULL if none is near. */
const char *wf_words_nearest(const struct wf_words *, const char *word);
/* "; did you mean 'x'? known: x y z" into buf; returns buf. */
const char *wf_words_hint(const struct wf_words *, const char *word, char *buf,
                          size_t n);
/* "x, y, z" into buf; returns buf. */
const char *wf_words_list(const struct wf_words *, const char *between,
                          char *buf, size_t n);

#endif
