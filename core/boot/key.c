/* The job key: given by the configuration, by the launcher, or made here.
 *
 * Under a launcher that knows nothing of keys (Hydra), rank 0 makes one and
 * passes it through the launcher's key-value space, which is as private as the
 * launcher is.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "boot/key.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "boot/auth.h"
#include "boot/auth_key.h"
#include "boot/boot.h"
#include "config/config.h"
#include "config/shared.h"
#include "crypto/vendor.h"
#include "os/secret.h"
#include "os/trust.h"
#include "process/rank.h"
#include "report/error.h"

enum { KEY_FILE_MAX = 4096 };

static int use_key(struct wf_instance *wf, const void *bytes, size_t n)
{
    return wf_auth_key_create(bytes, n, wf->rank->boot->job,
                              &wf->rank->job.key);
}

/* Record and print a fault of the key file. WEFT_EINVAL says that it has been
 * printed. */
static int fail_for_file(struct wf_instance *wf, const char *file,
                         const char *why)
{
    const char *value;

    wf_fail(WEFT_EINVAL, "%s: job_key_file: %s: %s",
            wf_config_origin(wf->rank->config, "core", "job_key_file", &value),
            wf_trust_caller() ? file : "(not shown to this caller)", why);
    fprintf(stderr, "%s\n", wf_error_last()->text);
    return WEFT_EINVAL;
}

/* Record that the file cannot be read for lack of memory or descriptors, which
 * is no error of the configuration. */
static int fail_for_lack(const char *file, int error)
{
    int r = error == ENOMEM ? WEFT_ENOMEM : WEFT_ESYS;

    return wf_fail(r, "cannot read the job key file %s: %s", file,
                   strerror(error));
}

static int read_key_file(struct wf_instance *wf, const char *file)
{
    unsigned char bytes[KEY_FILE_MAX];
    char why[WF_TRUST_WHY_MAX];
    struct stat st;
    int fd = wf_trust_open(file, why, sizeof why), r;
    ssize_t n;

    if (fd == WF_TRUST_SHORTAGE)
        return fail_for_lack(file, errno);
    if (fd < 0)
        return fail_for_file(wf, file, why);
    r = fstat(fd, &st);
    n = read(fd, bytes, sizeof bytes);
    close(fd);
    if (r != 0 || n <= 0)
        r = fail_for_file(wf, file,
                          n == 0 ? "the file is empty" : strerror(errno));
    else if (st.st_mode & (S_IRWXG | S_IRWXO))
        r = fail_for_file(wf, file, "others may read it; chmod 600");
    else
        r = use_key(wf, bytes, (size_t)n);
    wf_vendor_sodium_memzero(bytes, sizeof bytes);
    return r;
}

static int make_key(struct wf_instance *wf)
{
    unsigned char bytes[WF_AUTH_KEY_BYTES];
    int r = wf_auth_key_generate(bytes);

    if (r == 0)
        r = use_key(wf, bytes, sizeof bytes);
    if (r == 0 && wf->rank->job.size > 1)
        r = wf->rank->boot->ops->put(wf->rank->boot, "weft.key", bytes,
                                     sizeof bytes);
    if (r < 0) {
        wf_auth_key_free(wf->rank->job.key);
        wf->rank->job.key = NULL;
    }
    wf_vendor_sodium_memzero(bytes, sizeof bytes);
    return r;
}

/* Fail if mpirun has no key any more: it always has one at first, and gives it
 * to each rank once. */
static int fail_if_given_before(const struct wf_instance *wf)
{
    if (!wf->rank->boot->awaits || wf->rank->job.size == 1)
        return 0;
    return wf_fail(WEFT_EPROTO,
                   "mpirun gave the job key of rank %u to an earlier program, "
                   "and gives it once: let each rank run one program that uses "
                   "MPI, or start mpirun for each of them",
                   wf->rank->id);
}

/* Fail because nobody but mpi.ini can give a key to several processes without a
 * launcher. WEFT_EINVAL says that it has been printed. */
static int fail_without_launcher(const struct wf_instance *wf)
{
    wf_fail(WEFT_EINVAL,
            "%s: a static start of several ranks needs core.job_key_file (a "
            "secret in a file of mode 0600), or core.job_key",
            wf_config_source(wf->rank->config));
    fprintf(stderr, "%s\n", wf_error_last()->text);
    return WEFT_EINVAL;
}

/* Get the key from the launcher. Memory is allocated first, because the
 * launcher may give the key only once. */
static int get_launcher_key(struct wf_instance *wf)
{
    struct wf_auth_key *key = wf_auth_key_alloc();
    void *bytes = NULL;
    size_t n = 0;
    int r =
        key ? wf->rank->boot->ops->get(wf->rank->boot, "weft.key", &bytes, &n)
            : WEFT_ENOMEM;

    if (r == 0) {
        r = wf_auth_key_fill(key, bytes, n, wf->rank->boot->job);
        wf_vendor_sodium_memzero(bytes, n);
        free(bytes);
    }
    if (r == 0)
        wf->rank->job.key = key;
    else
        wf_auth_key_free(key);
    return r;
}

static int find_key(struct wf_instance *wf)
{
    const struct wf_core_options *o = wf->rank->options;
    int r;

    wf->rank->job.key = wf->rank->boot->key;
    wf->rank->boot->key = NULL;
    if (wf->rank->job.key)
        return 0;
    if (o->job_key && *o->job_key)
        return use_key(wf, o->job_key, strlen(o->job_key));
    if (o->job_key_file && *o->job_key_file)
        return read_key_file(wf, o->job_key_file);
    r = get_launcher_key(wf);
    if (r != WEFT_EUNREACH)
        return r;
    if (wf->rank->boot->is_static && wf->rank->job.size > 1)
        return fail_without_launcher(wf);
    r = fail_if_given_before(wf);
    return r == 0 && wf->rank->id == 0 ? make_key(wf) : r;
}

int wf_key_find(struct wf_instance *wf)
{
    int r = find_key(wf);

    if (wf->rank->job.key)
        wf->rank->job.tag = wf_auth_tag(wf->rank->job.key);
    wf_secret_wipe_stack();
    return r;
}
