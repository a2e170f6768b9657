/* The search for mpi.ini. The first file found is the configuration; files are
 * never merged, so it is clear which value counts.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_CONFIG_SEARCH_H
#define WF_CONFIG_SEARCH_H

#include "base.h"

struct wf_config;

/* Read a whole file of at most 1 MiB, trusted or not. NULL with the reason in
 * why, and errno, which is 0 for reasons that have none. Free with free(). */
char *wf_file_read(const char *path, size_t *n, char *why, size_t why_len);

/* Read a file of the configuration as wf_file_read does. The file must be
 * trusted, unless the configuration is only inspected. */
char *wf_search_text(const struct wf_config *, const char *path, size_t *n,
                     char *why, size_t why_len);

/* Whether the errno of these two says that memory or descriptors are lacking,
 * rather than that the file is wrong. If so, this is recorded by wf_error. */
bool wf_search_failed_for_lack(struct wf_config *, const char *path, int error,
                       const char *why);

/* Read this file into sections; it is an error if it does not exist. */
void wf_search_file(struct wf_config *, const char *path);

/* Find the configuration and read it into sections. */
void wf_search_read(struct wf_config *);

#endif
