/* A JSON writer keeps commas, indentation and escapes right.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WEFT_INFO_JSON_H
#define WEFT_INFO_JSON_H

#include <stdint.h>
#include <stdio.h>

struct json {
    FILE *out;
    int depth, members; /* members: written so far at this depth */
};

/* Open an object or array; key: NULL inside an array. */
void json_open(struct json *, const char *key, char bracket);
void json_close(struct json *, char bracket);
/* Write a text; value NULL: null */
void json_text(struct json *, const char *key, const char *value);
void json_number(struct json *, const char *key, double value);
void json_flag(struct json *, const char *key, int value);

#endif
