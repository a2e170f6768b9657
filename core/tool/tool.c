/* MPI_T: begin, end, texts and enumerations. See tool.h.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "tool/tool.h"

#include <stdio.h>

#include "config/model.h"
#include "core_api.h"
#include "lock/critical.h"
#include "tool/cvar.h"
#include "tool/event.h"
#include "tool/event_delivery.h"
#include "tool/event_types.h"

static struct users {
    struct wf_lock lock;
    int users;
    struct wf_config *config; /* while there are users */
} tool;

WF_LOCK_SECTION(tool, struct users, lock, WF_RANK_TOOL)

const struct wf_config *wf_tool_config(void)
{
    const struct wf_config *config = NULL;
    WF_SECTION(tool, &tool)
        config = tool.config;
    return config;
}

/* Read the configuration, or the defaults if it has errors, which MPI_Init
 * reports. */
static struct wf_config *read_config(void)
{
    struct wf_config *config = NULL;
    FILE *nowhere = fopen("/dev/null", "w");
    if (nowhere && wf_config_load(&config, nowhere) != 0) {
        wf_config_free(config);
        config = NULL;
    }
    if (nowhere && !config && wf_config_from_text(NULL, &config, nowhere) != 0)
        config = NULL;
    if (nowhere)
        fclose(nowhere);
    return config;
}

int wf_mpi_t_init_thread(struct wf_instance *wf, int required, int *provided)
{
    int rc = MPI_SUCCESS;
    WF_SECTION(tool, &tool) {
        if (tool.users == 0)
            tool.config = read_config();
        tool.users += tool.config != NULL;
        if (!tool.config)
            rc = MPI_T_ERR_CANNOT_INIT;
    }
    wf_tool_set_int(provided, MPI_THREAD_MULTIPLE);
    return rc;
}

int wf_mpi_t_finalize(struct wf_instance *wf)
{
    WF_TOOL_REQUIRE_INIT();
    bool last = false;
    WF_SECTION(tool, &tool) {
        last = --tool.users == 0;
        if (last) {
            wf_config_free(tool.config);
            tool.config = NULL;
        }
    }
    if (last)
        wf_event_unregister_all(wf);
    return MPI_SUCCESS;
}

void wf_tool_copy_text(const char *text, char *buf, int *len)
{
    if (!len)
        return;
    if (buf && *len > 0)
        snprintf(buf, (size_t)*len, "%s", text);
    *len = (int)strlen(text) + 1;
}

/* ---- enumerations: ranges of options "one|two|three", and texts ---------- */

/* Returns the option to which an enumeration belongs, or NULL. */
static const weft_option *option_of(MPI_T_enum e)
{
    const weft_option *o = (const weft_option *)e;
    for (int i = 0; i < wf_tool_count_cvars(); i++)
        if (o == &wf_core_table[i] && o->type == WEFT_OPT_ENUM)
            return o;
    return NULL;
}

static int count_items(const weft_option *o)
{
    int n = 1;
    for (const char *p = o->range; *p; p++)
        n += *p == '|';
    return n;
}

static int give_text(int number, int *value, char *name, int *name_len)
{
    const char *text = wf_event_text(number);
    if (!text)
        return MPI_T_ERR_INVALID_ITEM;
    wf_tool_set_int(value, number);
    wf_tool_copy_text(text, name, name_len);
    return MPI_SUCCESS;
}

int wf_mpi_t_enum_get_info(struct wf_instance *wf, MPI_T_enum enumtype,
                           int *num, char *name, int *name_len)
{
    WF_TOOL_REQUIRE_INIT();
    bool texts = enumtype == wf_event_text_enum();
    const weft_option *o = texts ? NULL : option_of(enumtype);
    if (!o && !texts)
        return MPI_T_ERR_INVALID_HANDLE;
    wf_tool_set_int(num, texts ? wf_event_count_texts() : count_items(o));
    wf_tool_copy_text(texts ? "text" : o->name, name, name_len);
    return MPI_SUCCESS;
}

int wf_mpi_t_enum_get_item(struct wf_instance *wf, MPI_T_enum enumtype,
                           int indx, int *value, char *name, int *name_len)
{
    WF_TOOL_REQUIRE_INIT();
    const weft_option *o = option_of(enumtype);
    char word[64];
    if (enumtype == wf_event_text_enum())
        return give_text(indx, value, name, name_len);
    if (!o)
        return MPI_T_ERR_INVALID_HANDLE;
    if (indx < 0 || indx >= count_items(o))
        return MPI_T_ERR_INVALID_ITEM;
    const char *from = o->range;
    for (int i = 0; i < indx; i++)
        from = strchr(from, '|') + 1;
    snprintf(word, sizeof word, "%.*s", (int)strcspn(from, "|"), from);
    wf_tool_set_int(value, indx);
    wf_tool_copy_text(word, name, name_len);
    return MPI_SUCCESS;
}
