/* Suggestions for misspelt names: see words.h.
 *
 * The distance counts inserted, deleted and changed letters, and swapped
 * neighbouring ones (optimal string alignment), as typing errors are.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "config/words.h"

#include <stdio.h>
#include <string.h>

enum { WORD_MAX = 31 };

void wf_words_add(struct wf_words *words, const char *word)
{
    enum { CAPACITY = sizeof words->word / sizeof words->word[0] };
    if (words->count < CAPACITY)
        words->word[words->count++] = word;
}

static char plain_char(char c)
{
    return c == '-' ? '_' : c;
}

bool wf_name_equal(const char *a, const char *b)
{
    while (*a != '\0' && plain_char(*a) == plain_char(*b)) {
        a++;
        b++;
    }
    return plain_char(*a) == plain_char(*b);
}

static int least_of(int a, int b, int c)
{
    int m = a < b ? a : b;
    return m < c ? m : c;
}

static int distance_between(const char *a, const char *b)
{
    int d[WORD_MAX + 1][WORD_MAX + 1];
    int n = (int)strlen(a), m = (int)strlen(b);
    if (n > WORD_MAX || m > WORD_MAX)
        return WORD_MAX;
    for (int i = 0; i <= n; i++)
        d[i][0] = i;
    for (int j = 0; j <= m; j++)
        d[0][j] = j;
    for (int i = 1; i <= n; i++) {
        for (int j = 1; j <= m; j++) {
            int change = plain_char(a[i - 1]) != plain_char(b[j - 1]);
            d[i][j] = least_of(d[i - 1][j] + 1, d[i][j - 1] + 1,
                               d[i - 1][j - 1] + change);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
                a[i - 2] == b[j - 1] && d[i][j] > d[i - 2][j - 2] + 1)
                d[i][j] = d[i - 2][j - 2] + 1;
        }
    }
    return d[n][m];
}

const char *wf_words_nearest(const struct wf_words *words, const char *word)
{
    const char *nearest = NULL;
    size_t length = strlen(word);
    int limit = length < 3 ? 1 : (int)(length / 3) + 1;
    int best = limit + 1;
    for (int i = 0; i < words->count; i++) {
        int d = distance_between(word, words->word[i]);
        /* a word of which no letter remains is not suggested */
        if (d < best && d < (int)strlen(words->word[i])) {
            best = d;
            nearest = words->word[i];
        }
    }
    return nearest;
}

const char *wf_words_list(const struct wf_words *words, const char *between,
                          char *buf, size_t n)
{
    size_t used = 0;
    buf[0] = '\0';
    for (int i = 0; i < words->count && used < n; i++)
        used += (size_t)snprintf(buf + used, n - used, "%s%s",
                                 i > 0 ? between : "", words->word[i]);
    return buf;
}

const char *wf_words_hint(const struct wf_words *words, const char *word,
                          char *buf, size_t n)
{
    const char *nearest = wf_words_nearest(words, word);
    int used = 0;
    buf[0] = '\0';
    if (nearest != NULL)
        used = snprintf(buf, n, "; did you mean '%s'?", nearest);
    if (used >= 0 && (size_t)used < n && words->count > 0) {
        used += snprintf(buf + used, n - (size_t)used,
                         "%s known: ", nearest != NULL ? "" : ";");
        if ((size_t)used < n)
            wf_words_list(words, " ", buf + used, n - (size_t)used);
    }
    return buf;
}
