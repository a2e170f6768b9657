/* Error classes, codes and strings that the program adds (MPI-5.0 s9.5).
 *
 * Codes above MPI_ERR_LASTCODE are numbered in the order they are added and
 * never used again, so MPI_LASTUSEDCODE only grows. A class is a code whose
 * class is itself.
 *
 * LOCK  section codes of struct wf_process: any thread may make these calls at
 *       any time.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "object/error_user.h"

#include <stdio.h>
#include <stdlib.h>

#include "core_api.h"
#include "process/process.h"
#include "object/error.h"
#include "process/rank.h"

struct code {
    int mpi_class; /* 0: removed */
    int members;   /* of a class: its codes, not counting itself */
    char *text;
};

struct codes {
    struct wf_error_codes base;
    int count, room;
    struct code *list; /* list[i] is for code MPI_ERR_LASTCODE + 1 + i */
};

/* Returns the codes that the program has added; NULL: none yet. */
static struct codes *find_codes(void) WF_REQUIRES(wf_process()->lock)
{
    struct wf_error_codes *base = wf_process()->codes;
    return base ? wf_container(base, struct codes, base) : NULL;
}

static void free_codes(struct wf_error_codes *base)
{
    struct codes *all = wf_container(base, struct codes, base);
    for (int i = 0; i < all->count; i++)
        free(all->list[i].text);
    free(all->list);
    free(all);
}

static struct codes *make_codes(void) WF_REQUIRES(wf_process()->lock)
{
    struct codes *all = calloc(1, sizeof *all);
    if (!all)
        return NULL;
    all->base.free = free_codes;
    wf_process()->codes = &all->base;
    return all;
}

static struct code *find_code(int code) WF_REQUIRES(wf_process()->lock)
{
    struct codes *all = find_codes();
    long i = (long)code - MPI_ERR_LASTCODE - 1;
    if (!all || i < 0 || i >= all->count || !all->list[i].mpi_class)
        return NULL;
    return &all->list[i];
}

static bool is_user_class(int code) WF_REQUIRES(wf_process()->lock)
{
    struct code *c = find_code(code);
    return c && c->mpi_class == code;
}

static bool ensure_room(void) WF_REQUIRES(wf_process()->lock)
{
    struct codes *all = find_codes();
    if (!all && !(all = make_codes()))
        return false;
    if (all->count < all->room)
        return true;
    int room = all->room ? 2 * all->room : 8;
    struct code *list = realloc(all->list, (size_t)room * sizeof *list);
    if (!list)
        return false;
    all->list = list;
    all->room = room;
    return true;
}

static void count_member(int mpi_class, int change)
    WF_REQUIRES(wf_process()->lock)
{
    struct code *c = find_code(mpi_class);
    if (c)
        c->members += change;
}

/* Add a code to the class mpi_class; 0: the new code is a class of its own. */
static int add_code(int mpi_class, int *out)
{
    bool ok = false;
    WF_SECTION(codes, wf_process()) {
        ok = ensure_room();
        if (ok) {
            struct codes *all = find_codes();
            *out = MPI_ERR_LASTCODE + 1 + all->count;
            all->list[all->count++] =
                (struct code){.mpi_class = mpi_class ? mpi_class : *out};
            count_member(mpi_class, 1);
        }
    }
    return ok ? MPI_SUCCESS
              : wf_error(MPI_ERR_NO_MEM, "no memory for an error code");
}

/* Update MPI_LASTUSEDCODE, to which the user may hold a pointer. */
static void publish_last_code(struct wf_instance *wf)
{
    if (wf)
        wf->rank->last_used_code = wf_error_last_code();
}

int wf_error_last_code(void)
{
    int last = MPI_ERR_LASTCODE;
    WF_SECTION(codes, wf_process()) {
        struct codes *all = find_codes();
        last += all ? all->count : 0;
    }
    return last;
}

int wf_error_code_class(int code)
{
    int mpi_class = -1;
    WF_SECTION(codes, wf_process()) {
        struct code *c = find_code(code);
        if (c)
            mpi_class = c->mpi_class;
    }
    return mpi_class;
}

bool wf_error_code_text(int code, char text[MPI_MAX_ERROR_STRING])
{
    struct code *c = NULL;
    WF_SECTION(codes, wf_process()) {
        c = find_code(code);
        if (c) /* without a string of its own the text is empty (s9.5) */
            snprintf(text, MPI_MAX_ERROR_STRING, "%s", c->text ? c->text : "");
    }
    return c != NULL;
}

int wf_mpi_add_error_class(struct wf_instance *wf, int *errorclass)
{
    int rc = add_code(0, errorclass);
    publish_last_code(wf);
    return rc;
}

int wf_mpi_add_error_code(struct wf_instance *wf, int errorclass,
                          int *errorcode)
{
    int mpi_class;
    int rc = wf_mpi_error_class(wf, errorclass, &mpi_class);
    if (rc != MPI_SUCCESS || mpi_class != errorclass ||
        errorclass == MPI_SUCCESS)
        return wf_error(MPI_ERR_ARG, "%d is not an error class", errorclass);
    rc = add_code(errorclass, errorcode);
    publish_last_code(wf);
    return rc;
}

static int set_code_text(int code, char *text)
{
    struct code *c = NULL;
    WF_SECTION(codes, wf_process()) {
        c = find_code(code);
        if (c) {
            char *old = c->text;
            c->text = text;
            text = old;
        }
    }
    free(text);
    return c ? MPI_SUCCESS
             : wf_error(MPI_ERR_ARG, "%d is not an error code that was added",
                        code);
}

int wf_mpi_add_error_string(struct wf_instance *wf, int errorcode,
                            const char *string)
{
    if (strlen(string) >= MPI_MAX_ERROR_STRING)
        return wf_error(MPI_ERR_ARG,
                        "the error string has %zu characters, the limit is %d",
                        strlen(string), MPI_MAX_ERROR_STRING - 1);
    char *copy = strdup(string);
    if (!copy)
        return wf_error(MPI_ERR_NO_MEM, "no memory for an error string");
    return set_code_text(errorcode, copy);
}

int wf_mpi_remove_error_string(struct wf_instance *wf, int errorcode)
{
    bool has_text = false;
    WF_SECTION(codes, wf_process()) {
        struct code *c = find_code(errorcode);
        has_text = c && c->text;
    }
    if (!has_text)
        return wf_error(MPI_ERR_ARG,
                        "error code %d has no string that was added",
                        errorcode);
    return set_code_text(errorcode, NULL);
}

int wf_mpi_remove_error_code(struct wf_instance *wf, int errorcode)
{
    const char *why = NULL;
    WF_SECTION(codes, wf_process()) {
        struct code *c = find_code(errorcode);
        if (!c)
            why = "is not an error code that was added";
        else if (c->mpi_class == errorcode)
            why = "is an error class; use MPI_Remove_error_class";
        else if (c->text)
            why = "still has a string; remove that first";
        else {
            count_member(c->mpi_class, -1);
            c->mpi_class = 0;
        }
    }
    return why ? wf_error(MPI_ERR_ARG, "%d %s", errorcode, why) : MPI_SUCCESS;
}

int wf_mpi_remove_error_class(struct wf_instance *wf, int errorclass)
{
    const char *why = NULL;
    WF_SECTION(codes, wf_process()) {
        if (!is_user_class(errorclass))
            why = "is not an error class that was added";
        else if (find_code(errorclass)->members > 0)
            why = "still has error codes; remove those first";
        else if (find_code(errorclass)->text)
            why = "still has a string; remove that first";
        else
            find_code(errorclass)->mpi_class = 0;
    }
    return why ? wf_error(MPI_ERR_ARG, "%d %s", errorclass, why) : MPI_SUCCESS;
}
