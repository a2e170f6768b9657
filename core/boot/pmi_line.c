/* Finding fields of a PMI-1 line.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "boot/pmi_line.h"

#include <limits.h>
#include <string.h>

static bool is_end(char c)
{
    return c == 0 || c == '\n' || c == '\r';
}

bool wf_pmi_field(const char *line, const char *key, const char **value,
                  size_t *len)
{
    size_t k = strlen(key);
    while (!is_end(*line)) {
        size_t word = 0;
        while (*line == ' ' || *line == '\t')
            line++;
        while (!is_end(line[word]) && line[word] != ' ' && line[word] != '\t')
            word++;
        if (word > k && memcmp(line, key, k) == 0 && line[k] == '=') {
            *value = line + k + 1;
            *len = word - k - 1;
            return true;
        }
        line += word;
    }
    return false;
}

bool wf_pmi_field_is(const char *line, const char *key, const char *word)
{
    const char *value;
    size_t len;
    return wf_pmi_field(line, key, &value, &len) && len == strlen(word) &&
           memcmp(value, word, len) == 0;
}

bool wf_pmi_field_int(const char *line, const char *key, int *value)
{
    const char *s;
    size_t len, i = 0;
    long long n = 0;
    if (!wf_pmi_field(line, key, &s, &len) || len == 0)
        return false;
    bool negative = s[0] == '-';
    for (i = negative; i < len; i++) {
        if (s[i] < '0' || s[i] > '9')
            return false;
        n = n * 10 + (s[i] - '0');
        if (n > INT_MAX)
            return false;
    }
    if (i == (size_t)negative)
        return false;
    *value = (int)(negative ? -n : n);
    return true;
}

bool wf_pmi_field_copy(const char *line, const char *key, char *out,
                       size_t size)
{
    const char *value;
    size_t len;
    if (!wf_pmi_field(line, key, &value, &len) || len >= size)
        return false;
    memcpy(out, value, len);
    out[len] = 0;
    return true;
}
