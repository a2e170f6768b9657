/* Published names (MPI-5.0 s11.9.4): by which a client finds the port of a
 * server.
 *
 *   launcher   its server keeps the names of its jobs; they are found first
 *   folder     of the user (boot/names.h), for jobs of other launchers; or the
 *              name server that core.names = HOST:PORT says, which the launcher
 *              asks
 *
 * A name is published in both. If another job has it in the folder already, it
 * is the launcher's only, and where no launcher keeps names that is an error.
 * The info key "ompi_global_scope" chooses: "true" demands the folder, "false"
 * leaves it out. A name ends with the process that has published it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <string.h>

#include "boot/boot.h"
#include "boot/names.h"
#include "boot/pmi_word.h"
#include "config/config.h"
#include "core_api.h"
#include "object/error.h"
#include "object/info.h"
#include "process/rank.h"
#include "progress/launcher_requests.h"

#define SCOPE_KEY "ompi_global_scope"

static const char *folder_of(const struct wf_instance *wf)
{
    return wf->rank->options->names;
}

/* The name server that is instead of a folder, or NULL. */
static const char *server_of(const struct wf_instance *wf)
{
    const char *names = folder_of(wf);

    return names && strchr(names, ':') && !strchr(names, '/') ? names : NULL;
}

static int check_service(const char *service)
{
    char word[WF_NAME_MOST];

    if (!*service)
        return wf_error(MPI_ERR_SERVICE, "service_name is empty");
    if (!wf_pmi_word_encode(word, sizeof word, service))
        return wf_error(MPI_ERR_SERVICE,
                        "service_name '%.40s...' is too long: %d bytes, of "
                        "which those that are no letters or digits count "
                        "thrice, are possible",
                        service, WF_NAME_MOST - 4);
    return MPI_SUCCESS;
}

/* The names that this process has published. */
static struct wf_names **names_of(struct wf_instance *wf)
{
    struct wf_boot *boot = wf->rank->boot;

    boot->free_names = wf_names_free;
    return &boot->names;
}

static int note_name(struct wf_instance *wf, const char *service)
{
    return wf_error_class(wf_names_note(names_of(wf), service));
}

/* Ask the launcher; server: it asks that one. */
static int call_launcher(struct wf_instance *wf, enum wf_name_call call,
                         const char *service, const char *port, char *found,
                         const char *server)
{
    const struct wf_name_request name = {.call = call,
                                         .service = service,
                                         .port = port,
                                         .server = server,
                                         .found = found,
                                         .size = MPI_MAX_PORT_NAME};
    int status = wf_launcher_call_name(wf, &name);

    if (server && (status == WEFT_EAGAIN || status == WEFT_EUNREACH))
        wf_fail(status, "the name '%s' is %s", service,
                status == WEFT_EAGAIN ? "published already" : "not published");
    return status;
}

/* Publish in the folder or at the server. kept: the launcher has the name, so
 * that neither is necessary. */
static int publish_for_all(struct wf_instance *wf, const char *service,
                           const char *port, bool kept)
{
    const char *server = server_of(wf);
    int status =
        server ? call_launcher(wf, WF_NAME_PUBLISH, service, port, NULL, server)
               : wf_names_publish(names_of(wf), folder_of(wf), service, port);

    if (status == 0)
        return server ? note_name(wf, service) : MPI_SUCCESS;
    if (!kept)
        return wf_error_raise_as(status == WEFT_ENOMEM ? MPI_ERR_NO_MEM
                                                       : MPI_ERR_SERVICE);
    wf_log(wf, status == WEFT_EAGAIN ? WF_LOG_INFO : WF_LOG_WARN,
           "'%s' is published for the jobs of this launcher only: %s", service,
           wf_error_last()->text);
    return note_name(wf, service);
}

int wf_mpi_publish_name(struct wf_instance *wf, const char *service_name,
                        struct wf_info *info, const char *port_name)
{
    const char *scope = wf_info_find(info, SCOPE_KEY);
    bool everywhere = scope && strcmp(scope, "true") == 0;
    int rc = check_service(service_name), status;

    if (rc != MPI_SUCCESS)
        return rc;
    if (!*port_name || strlen(port_name) >= MPI_MAX_PORT_NAME)
        return wf_error(MPI_ERR_PORT,
                        "port_name has %zu characters, and a "
                        "port has 1 to %d",
                        strlen(port_name), MPI_MAX_PORT_NAME - 1);
    status =
        call_launcher(wf, WF_NAME_PUBLISH, service_name, port_name, NULL, NULL);
    if (status == WEFT_EAGAIN)
        return wf_error(MPI_ERR_SERVICE, "the name '%s' is published already",
                        service_name);
    if (status < 0 && status != WEFT_ENOTSUP)
        return wf_error_class(status);
    if (status == 0 && scope && strcmp(scope, "false") == 0)
        rc = note_name(wf, service_name);
    else
        rc = publish_for_all(wf, service_name, port_name,
                             status == 0 && !everywhere);
    if (rc != MPI_SUCCESS && status == 0)
        (void)call_launcher(wf, WF_NAME_UNPUBLISH, service_name, NULL, NULL,
                            NULL);
    return rc;
}

int wf_mpi_lookup_name(struct wf_instance *wf, const char *service_name,
                       struct wf_info *info, char *port_name)
{
    const char *scope = wf_info_find(info, SCOPE_KEY), *server = server_of(wf);
    int rc = check_service(service_name), status;

    if (rc != MPI_SUCCESS)
        return rc;
    status =
        call_launcher(wf, WF_NAME_LOOKUP, service_name, NULL, port_name, NULL);
    if (status == 0)
        return MPI_SUCCESS;
    if (status != WEFT_EUNREACH && status != WEFT_ENOTSUP)
        return wf_error_class(status);
    if (status == WEFT_EUNREACH && scope && strcmp(scope, "false") == 0)
        return wf_error(MPI_ERR_NAME,
                        "the name '%s' is not published by a job "
                        "of this launcher",
                        service_name);
    status = server ? call_launcher(wf, WF_NAME_LOOKUP, service_name, NULL,
                                    port_name, server)
                    : wf_names_lookup(folder_of(wf), service_name, port_name,
                                      MPI_MAX_PORT_NAME);
    if (status == 0)
        return MPI_SUCCESS;
    return wf_error_raise_as(MPI_ERR_NAME);
}

int wf_mpi_unpublish_name(struct wf_instance *wf, const char *service_name,
                          struct wf_info *info, const char *port_name)
{
    int rc = check_service(service_name);

    if (rc != MPI_SUCCESS)
        return rc;
    /* some launchers let anybody unpublish a name */
    if (wf_names_unpublish(names_of(wf), service_name) < 0)
        return wf_error_raise_as(MPI_ERR_SERVICE);
    (void)call_launcher(wf, WF_NAME_UNPUBLISH, service_name, NULL, NULL, NULL);
    if (server_of(wf))
        (void)call_launcher(wf, WF_NAME_UNPUBLISH, service_name, NULL, NULL,
                            server_of(wf));
    return MPI_SUCCESS;
}
