/* The sections and settings of the file as text, before they are interpreted.
 * Duplicates are errors, because it would be unclear which value counts.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_CONFIG_SECTIONS_H
#define WF_CONFIG_SECTIONS_H

#include "base.h"
#include "config/model.h"

struct wf_config;
struct wf_place;
struct wf_section;
struct wf_setting;

/* The place as text: "mpi.ini:12", or "WEFT_SET". */
const char *wf_place_text(struct wf_config *, const struct wf_place *);

/* Read a text in mpi.ini form into sections and settings. */
void wf_sections_read(struct wf_config *, const char *file, const char *text,
                      size_t n);
struct wf_section *wf_section_find(const struct wf_config *,
                                   enum wf_section_kind, const char *name);
struct wf_section *wf_section_add(struct wf_config *, enum wf_section_kind,
                                  const char *name, const struct wf_place *);
struct wf_setting *wf_setting_find(const struct wf_section *, const char *key);

/* Add a setting, or replace the value and place of the one that exists. */
void wf_setting_put(struct wf_config *, struct wf_section *, const char *key,
                    const char *value, const struct wf_place *);

/* The kind that a word names (enum wf_section_kind); -1: there is none. */
int wf_section_kind(const char *word);

#endif
