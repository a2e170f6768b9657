/* Values of settings: see value.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "config/value.h"

#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "os/text.h"

/* Parse digits at *text, and move it behind them; false: there are none, or too
 * many. */
static bool take_digits(const char **text, uint64_t *value)
{
    const char *at = *text;
    uint64_t n = 0;
    if (*at < '0' || *at > '9')
        return false;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (__builtin_mul_overflow(n, 10u, &n) ||
            __builtin_add_overflow(n, (uint64_t)(*at - '0'), &n))
            return false;
    }
    *text = at;
    *value = n;
    return true;
}

static bool take_size(const char **text, uint64_t *bytes)
{
    static const char units[] = "KMGT";
    uint64_t n;
    if (!take_digits(text, &n))
        return false;
    char c = **text >= 'a' ? (char)(**text - 'a' + 'A') : **text;
    const char *unit = c != '\0' ? strchr(units, c) : NULL;
    if (unit != NULL) {
        (*text)++;
        if (__builtin_mul_overflow(n, UINT64_C(1) << 10 * (unit - units + 1),
                                   &n))
            return false;
    }
    *bytes = n;
    return true;
}

bool wf_value_size(const char *text, uint64_t *bytes)
{
    return take_size(&text, bytes) && *text == '\0';
}

bool wf_value_time(const char *text, uint64_t *ns)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
    uint64_t n;
    if (!take_digits(&text, &n))
        return false;
    if (n == 0 && *text == '\0') {
        *ns = 0;
        return true;
    }
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(text, units[i].name) == 0)
            return !__builtin_mul_overflow(n, units[i].ns, ns);
    }
    return false;
}

bool wf_value_bool(const char *text, int *on)
{
    static const char *const yes[] = {"yes", "true", "on", "1"};
    static const char *const no[] = {"no", "false", "off", "0"};
    for (int i = 0; i < 4; i++) {
        if (wf_same_word(text, yes[i])) {
            *on = 1;
            return true;
        }
        if (wf_same_word(text, no[i])) {
            *on = 0;
            return true;
        }
    }
    return false;
}

bool wf_value_int(const char *text, int64_t *value)
{
    bool negative = *text == '-';
    uint64_t n;
    text += negative;
    if (!take_digits(&text, &n) || *text != '\0' || n > INT64_MAX)
        return false;
    *value = negative ? -(int64_t)n : (int64_t)n;
    return true;
}

/* Skip the sign between the ends of a range: "-" or "..". */
static bool take_dash(const char **text)
{
    size_t n = **text == '-' ? 1 : strncmp(*text, "..", 2) == 0 ? 2 : 0;
    *text += n;
    return n > 0;
}

bool wf_value_size_range(const char *text, uint64_t *lo, uint64_t *hi)
{
    uint64_t from = 0, to = UINT64_MAX;
    bool open = *text != '-' && *text != '.';
    if (open && !take_size(&text, &from))
        return false;
    if (*text == '\0')
        to = from;
    else if (!take_dash(&text))
        return false;
    else if (*text == '\0' && !open)
        return false;
    else if (*text != '\0' && !take_size(&text, &to))
        return false;
    *lo = from;
    *hi = to;
    return *text == '\0' && from <= to;
}

bool wf_value_range(const char *from, size_t n, struct wf_range *range)
{
    char buf[72];
    const char *text = buf;
    if (n >= sizeof buf)
        return false;
    memcpy(buf, from, n);
    buf[n] = '\0';
    range->step = 1;
    if (!take_digits(&text, &range->lo))
        return false;
    range->hi = range->lo;
    if (*text == '-') {
        text++;
        range->hi = UINT64_MAX;
        if (*text != '\0' && *text != ':' && !take_digits(&text, &range->hi))
            return false;
    }
    if (*text == ':') {
        text++;
        if (!take_digits(&text, &range->step))
            return false;
    }
    return *text == '\0' && range->step > 0 && range->lo <= range->hi;
}

bool wf_range_has(const struct wf_range *range, uint64_t n)
{
    return n >= range->lo && n <= range->hi &&
           (n - range->lo) % range->step == 0;
}

void wf_value_list(char *text)
{
    char *to = text;
    bool between = false;
    for (const char *from = text; *from != '\0'; from++) {
        if (*from == ' ' || *from == '\t' || *from == ',') {
            between = true;
            continue;
        }
        if (between && to != text)
            *to++ = ',';
        between = false;
        *to++ = *from;
    }
    if (to != text || between)
        *to = '\0';
}

const char *wf_value_type_name(uint32_t type)
{
    switch (type) {
    case WEFT_OPT_BOOL:
        return "yes or no";
    case WEFT_OPT_INT:
        return "number";
    case WEFT_OPT_SIZE:
        return "size";
    case WEFT_OPT_TIME:
        return "time";
    case WEFT_OPT_STR:
        return "text";
    case WEFT_OPT_ENUM:
        return "choice";
    case WEFT_OPT_LIST:
        return "list";
    default:
        return "unknown type";
    }
}

static const char *describe_form(uint32_t type)
{
    switch (type) {
    case WEFT_OPT_BOOL:
        return "not yes or no";
    case WEFT_OPT_INT:
        return "not a whole number";
    case WEFT_OPT_SIZE:
        return "not a size (digits, then K, M, G or T)";
    case WEFT_OPT_TIME:
        return "not a time (digits, then ns, us, ms or s)";
    default:
        return "of a type this library does not know";
    }
}

/* The position of a word in "a|b|c", or -1. */
static int find_word(const char *choices, const char *word)
{
    size_t n = strlen(word);
    for (int i = 0;; i++) {
        size_t length = strcspn(choices, "|");
        if (length == n && wf_same_start(choices, word, n))
            return i;
        if (choices[length] == '\0')
            return -1;
        choices += length + 1;
    }
}

/* The position of a choice, or -1. Each word of a switch ("on", "true") counts
 * as "yes" or "no" if that is one of the choices. */
static int find_choice(const char *choices, const char *text)
{
    int i = find_word(choices, text), on;
    if (i < 0 && wf_value_bool(text, &on))
        i = find_word(choices, on ? "yes" : "no");
    return i;
}

/* Whether a size or time may be "auto": its range or default says so. */
static bool takes_auto(const weft_option *o)
{
    return (o->dflt != NULL && strcmp(o->dflt, "auto") == 0) ||
           (o->range != NULL && strncmp(o->range, "auto|", 5) == 0);
}

static bool parse_unsigned(uint32_t type, const char *text, uint64_t *value)
{
    return type == WEFT_OPT_TIME ? wf_value_time(text, value)
                                 : wf_value_size(text, value);
}

/* Split a range "a..b" into its ends, either of which may be empty. */
static bool split_range(const weft_option *o, char *lo, char *hi, size_t n)
{
    const char *range = o->range;
    if (range == NULL)
        return false;
    if (strncmp(range, "auto|", 5) == 0)
        range += 5;
    const char *dots = strstr(range, "..");
    if (dots == NULL || (size_t)(dots - range) >= n || strlen(dots + 2) >= n)
        return false;
    memcpy(lo, range, (size_t)(dots - range));
    lo[dots - range] = '\0';
    strcpy(hi, dots + 2);
    return true;
}

static bool is_unsigned_in_range(const weft_option *o, uint64_t value)
{
    char lo[32], hi[32];
    uint64_t end;
    if (!split_range(o, lo, hi, sizeof lo))
        return true;
    if (parse_unsigned(o->type, lo, &end) && value < end)
        return false;
    return !(parse_unsigned(o->type, hi, &end) && value > end);
}

static bool is_int_in_range(const weft_option *o, int64_t value)
{
    char lo[32], hi[32];
    int64_t end;
    if (!split_range(o, lo, hi, sizeof lo))
        return true;
    if (wf_value_int(lo, &end) && value < end)
        return false;
    return !(wf_value_int(hi, &end) && value > end);
}

static bool report_out_of_range(const weft_option *o, const char *text,
                                char *why, size_t n)
{
    snprintf(why, n, "'%s' is outside %s", text, o->range);
    return false;
}

static bool store_unsigned(const weft_option *o, const char *text,
                           uint64_t *place, char *why, size_t n)
{
    uint64_t value;
    if (takes_auto(o) && wf_same_word(text, "auto")) {
        *place = WF_AUTO;
        return true;
    }
    if (!parse_unsigned(o->type, text, &value)) {
        snprintf(why, n, "'%s' is %s%s", text, describe_form(o->type),
                 takes_auto(o) ? " nor auto" : "");
        return false;
    }
    if (!is_unsigned_in_range(o, value))
        return report_out_of_range(o, text, why, n);
    *place = value;
    return true;
}

static bool store_int(const weft_option *o, const char *text, int64_t *place,
                      char *why, size_t n)
{
    int64_t value;
    if (!wf_value_int(text, &value)) {
        snprintf(why, n, "'%s' is %s", text, describe_form(o->type));
        return false;
    }
    if (!is_int_in_range(o, value))
        return report_out_of_range(o, text, why, n);
    *place = value;
    return true;
}

static bool store_choice(const weft_option *o, const char *text, int *place,
                         char *why, size_t n)
{
    int i;
    if (o->type == WEFT_OPT_BOOL && wf_value_bool(text, place))
        return true;
    if (o->type == WEFT_OPT_BOOL) {
        snprintf(why, n, "'%s' is %s", text, describe_form(o->type));
        return false;
    }
    i = find_choice(o->range != NULL ? o->range : "", text);
    if (i < 0 && o->range != NULL && strchr(o->range, '|') == NULL) {
        snprintf(why, n, "'%s' is not available in this version; only %s", text,
                 o->range);
        return false;
    }
    if (i < 0) {
        snprintf(why, n, "'%s' is not one of %s", text,
                 o->range != NULL ? o->range : "(none)");
        return false;
    }
    *place = i;
    return true;
}

bool wf_value_store(const weft_option *o, const char *text, void *cfg,
                    char *why, size_t n)
{
    void *place = (char *)cfg + o->offset;
    switch (o->type) {
    case WEFT_OPT_BOOL:
    case WEFT_OPT_ENUM:
        return store_choice(o, text, place, why, n);
    case WEFT_OPT_INT:
        return store_int(o, text, place, why, n);
    case WEFT_OPT_SIZE:
    case WEFT_OPT_TIME:
        return store_unsigned(o, text, place, why, n);
    case WEFT_OPT_STR:
    case WEFT_OPT_LIST:
        *(const char **)place = text;
        return true;
    default:
        snprintf(why, n, "'%s' is %s", text, describe_form(o->type));
        return false;
    }
}
