/* Names that the launcher keeps: see pmi1_names.h. Names and ports are words,
 * encoded (pmi_word.h), because a blank ends a word of the protocol.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "boot/pmi1_names.h"

#include <stdio.h>
#include <string.h>

#include "boot/boot.h"
#include "boot/hosted.h"
#include "boot/pmi1.h"
#include "boot/pmi_line.h"
#include "boot/pmi_word.h"
#include "boot/spawn.h"
#include "report/error.h"

struct named {
    char service[PMI_VALUE_MAX], port[2 * PMI_VALUE_MAX + 8];
    char server[PMI_VALUE_MAX];
};

/* Encode the word of a line: text, after what introduces it. */
static bool encode_word(char *out, size_t size, const char *head,
                        const char *text)
{
    size_t n = strlen(head);

    if (!text)
        return true;
    memcpy(out, head, n);
    return wf_pmi_word_encode(out + n, size - n, text);
}

/* Record what the launcher says about another one, which it has asked. */
static int fail_for_server(const char *reply)
{
    char why[PMI_VALUE_MAX] = "";
    const char *word;
    size_t n;

    if (wf_pmi_field(reply, "msg", &word, &n))
        (void)wf_pmi_word_decode(why, sizeof why, word, n);
    return wf_fail(WEFT_ESYS, "%s", why);
}

/* Ask, and tell what a refusal means. A launcher whose answer is none of these
 * keeps no names. */
static int ask_launcher(struct wf_pmi1 *p, const struct wf_name_request *name,
                        const struct named *words, char **reply)
{
    static const char *const verbs[] = {"publish", "lookup", "unpublish"};
    const char *verb = verbs[name->call];
    char answer[24];
    int rc, code = 0;

    snprintf(answer, sizeof answer, "%s_result", verb);
    rc = wf_pmi1_ask(p, reply, answer, "cmd=%s_name service=%s%s%s\n", verb,
                     words->service, words->port, words->server);
    if (rc == WEFT_EPROTO || rc == WEFT_EINVAL)
        return WEFT_ENOTSUP;
    if (rc < 0)
        return wf_pmi1_fail(p, rc, "name");
    if (!wf_pmi1_refused(*reply))
        return 0;
    if (name->server && wf_pmi_field_int(*reply, "rc", &code) && code == 2)
        return fail_for_server(*reply);
    return name->call == WF_NAME_PUBLISH ? WEFT_EAGAIN : WEFT_EUNREACH;
}

static int call_server(struct wf_pmi1 *p, const struct wf_name_request *name)
{
    struct named words = {.service = ""};
    const char *word;
    char *reply;
    size_t n;

    if (!encode_word(words.service, sizeof words.service, "", name->service) ||
        !encode_word(words.port, sizeof words.port, " port=", name->port) ||
        !encode_word(words.server, sizeof words.server,
                     " server=", name->server))
        return WEFT_ENOTSUP;
    int rc = ask_launcher(p, name, &words, &reply);
    if (rc < 0 || name->call != WF_NAME_LOOKUP)
        return rc;
    return wf_pmi_field(reply, "port", &word, &n) &&
                   wf_pmi_word_decode(name->found, name->size, word, n)
               ? 0
               : WEFT_EUNREACH;
}

/* Find the launcher that asks another one; a process without one starts its
 * own. */
static int find_asker(struct wf_boot *up)
{
    int rc = up ? wf_spawn_find_server(up) : WEFT_ENOTSUP;

    if (rc == 0 && up->server->awaits)
        return 0;
    return rc < 0 && up ? rc
                        : wf_fail(WEFT_ENOTSUP, "only Weft's mpirun asks "
                                                "other launchers for names");
}

int wf_boot_call_name(struct wf_boot *boot, const struct wf_name_request *name)
{
    struct wf_boot *up = wf_boot_hosted_lock_up(boot);
    int rc = name->server             ? find_asker(up)
             : up && up->server == up ? 0
                                      : WEFT_ENOTSUP;

    if (rc == 0)
        rc = call_server(wf_pmi1_of(up->server), name);
    wf_boot_hosted_unlock_up(boot);
    return rc;
}
