/* This file writes JSON: see json.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "json.h"

static void put_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < 0x20)
            fprintf(out, "\\u%04x", c);
        else
            fputc(c, out);
    }
    fputc('"', out);
}

static void begin_member(struct json *j, const char *key)
{
    if (j->members++ > 0)
        fputc(',', j->out);
    if (j->depth > 0)
        fprintf(j->out, "\n%*s", 2 * j->depth, "");
    if (key != NULL) {
        put_text(j->out, key);
        fputs(": ", j->out);
    }
}

void json_open(struct json *j, const char *key, char bracket)
{
    begin_member(j, key);
    fputc(bracket, j->out);
    j->depth++;
    j->members = 0;
}

void json_close(struct json *j, char bracket)
{
    j->depth--;
    if (j->members > 0)
        fprintf(j->out, "\n%*s", 2 * j->depth, "");
    fputc(bracket, j->out);
    j->members = 1; /* of the parent: this one */
    if (j->depth == 0)
        fputc('\n', j->out);
}

void json_text(struct json *j, const char *key, const char *value)
{
    begin_member(j, key);
    if (value == NULL)
        fputs("null", j->out);
    else
        put_text(j->out, value);
}

void json_number(struct json *j, const char *key, double value)
{
    begin_member(j, key);
    fprintf(j->out, "%.15g", value);
}

void json_flag(struct json *j, const char *key, int value)
{
    begin_member(j, key);
    fputs(value ? "true" : "false", j->out);
}
