/* Text as one word of a PMI line: see pmi_word.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "boot/pmi_word.h"

#include <string.h>

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || (c && strchr("._:/+-", c));
}

bool wf_pmi_word_encode(char *out, size_t size, const char *text)
{
    static const char digits[] = "0123456789ABCDEF";
    size_t at = 0;

    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (at + 4 > size)
            return false;
        if (is_plain(*text)) {
            out[at++] = *text;
            continue;
        }
        out[at++] = '%';
        out[at++] = digits[c >> 4];
        out[at++] = digits[c & 15];
    }
    if (at >= size)
        return false;
    out[at] = '\0';
    return true;
}

/* The value of a hexadecimal digit, or -1. */
static int read_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool wf_pmi_word_decode(char *out, size_t size, const char *word, size_t n)
{
    size_t at = 0;

    for (size_t i = 0; i < n; i++) {
        int high = word[i] == '%' && i + 2 < n ? read_digit(word[i + 1]) : -1;
        int low = high >= 0 ? read_digit(word[i + 2]) : -1;
        char c = low >= 0 ? (char)(high << 4 | low) : word[i];
        i += low >= 0 ? 2 : 0;
        if (!c || at + 1 >= size)
            return false;
        out[at++] = c;
    }
    if (at >= size)
        return false;
    out[at] = '\0';
    return true;
}
