/* Names that the launcher keeps: see pmi1_names.h. Names and ports are words,
 * encoded (pmi_word.h), because a blank ends a word of the protocol.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "boot/pmi1_names.h"

#include <string.h>

#include "boot/boot.h"
#include "boot/hosted.h"
#include "boot/pmi1.h"
#include "boot/pmi_line.h"
#include "boot/pmi_word.h"

/* Ask, and tell what a refusal means. A launcher whose answer is none of these
 * keeps no names. */
static int ask_launcher(struct wf_pmi1 *p, const struct wf_name_request *name,
                        const char *service, const char *port, char **reply)
{
    static const char *const answers[] = {"publish_result", "lookup_result",
                                          "unpublish_result"};
    const char *answer = answers[name->call];
    int rc = name->call == WF_NAME_PUBLISH
                 ? wf_pmi1_ask(p, reply, answer,
                               "cmd=publish_name service=%s port=%s\n", service,
                               port)
             : name->call == WF_NAME_LOOKUP
                 ? wf_pmi1_ask(p, reply, answer, "cmd=lookup_name service=%s\n",
                               service)
                 : wf_pmi1_ask(p, reply, answer,
                               "cmd=unpublish_name service=%s\n", service);

    if (rc == WEFT_EPROTO || rc == WEFT_EINVAL)
        return WEFT_ENOTSUP;
    if (rc < 0)
        return wf_pmi1_fail(p, rc, "name");
    if (!wf_pmi1_refused(*reply))
        return 0;
    return name->call == WF_NAME_PUBLISH ? WEFT_EAGAIN : WEFT_EUNREACH;
}

static int call_server(struct wf_pmi1 *p, const struct wf_name_request *name)
{
    char service[PMI_VALUE_MAX], port[2 * PMI_VALUE_MAX] = "";
    const char *word;
    char *reply;
    size_t n;

    if (!wf_pmi_word_encode(service, sizeof service, name->service) ||
        (name->call == WF_NAME_PUBLISH &&
         !wf_pmi_word_encode(port, sizeof port, name->port)))
        return WEFT_ENOTSUP;
    int rc = ask_launcher(p, name, service, port, &reply);
    if (rc < 0 || name->call != WF_NAME_LOOKUP)
        return rc;
    return wf_pmi_field(reply, "port", &word, &n) &&
                   wf_pmi_word_decode(name->found, name->size, word, n)
               ? 0
               : WEFT_EUNREACH;
}

int wf_boot_call_name(struct wf_boot *boot, const struct wf_name_request *name)
{
    struct wf_boot *up = wf_boot_hosted_lock_up(boot);
    int rc = up && up->server == up ? call_server(wf_pmi1_of(up), name)
                                    : WEFT_ENOTSUP;

    wf_boot_hosted_unlock_up(boot);
    return rc;
}
