/* This file names, creates and closes the files of ranks: see output_files.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "output_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "job.h"

struct output_file {
    struct sink sink; /* first */
    char *path;
    struct output_file *next;
};

/* ---- names --------------------------------------------------------------- */

bool wf_output_pattern_valid(const char *pattern, char *bad)
{
    for (const char *at = pattern; (at = strchr(at, '%')) != NULL; at += 2)
        if (!at[1] || !strchr("rhpg%", at[1])) {
            *bad = at[1];
            return false;
        }
    return true;
}

char *wf_output_expand(const struct job *job, const char *pattern,
                       const struct rank *r)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    if (!f)
        return NULL;
    for (const char *at = pattern; *at; at++) {
        if (*at != '%' || !at[1])
            fputc(*at, f);
        else if (*++at == 'r')
            fprintf(f, "%d", r->id);
        else if (*at == 'h')
            fputs(r->host->name, f);
        else if (*at == 'p')
            fprintf(f, "%d", r->host->node);
        else
            fputs(*at != 'g' ? "%" : job->label[0] ? job->label : "0", f);
    }
    if (fclose(f) == 0)
        return text;
    free(text);
    return NULL;
}

/* The path is FOLDER/1/rank.07/stdout, as in Open MPI 4; the first job that
 * was spawned has 1.1 for 1. */
static char *path_in_folder(const struct job *job, const struct rank *r,
                            bool error)
{
    const struct output *o = &job->set.output;
    char *path;
    int width = snprintf(NULL, 0, "%d", job->size - 1);

    if (asprintf(&path, "%s%s%s%s/rank.%0*d/%s", o->folder,
                 o->no_job_folder && !job->label[0] ? "" : "/1",
                 job->label[0] ? "." : "", job->label, width, r->id,
                 error ? "stderr" : "stdout") < 0)
        return NULL;
    return path;
}

/* A job that was spawned does not write over the files of the first one. */
static char *path_of_pattern(const struct job *job, const char *pattern,
                             const struct rank *r)
{
    char *path = wf_output_expand(job, pattern, r), *longer;

    if (!path || !job->label[0] || strstr(pattern, "%g"))
        return path;
    if (asprintf(&longer, "%s.%s", path, job->label) < 0)
        longer = NULL;
    free(path);
    return longer;
}

static bool has_file(const struct output *o, bool error)
{
    return o->folder || (error ? o->err_pattern : o->out_pattern);
}

static char *path_of(const struct job *job, const struct rank *r, bool error)
{
    const struct output *o = &job->set.output;
    const char *pattern = error ? o->err_pattern : o->out_pattern;

    return pattern ? path_of_pattern(job, pattern, r)
                   : path_in_folder(job, r, error);
}

/* ---- files --------------------------------------------------------------- */

static struct output_file *find_file(const struct job *job, const char *path)
{
    for (struct output_file *f = job->files; f; f = f->next)
        if (strcmp(f->path, path) == 0)
            return f;
    return NULL;
}

/* Make the folders that lead to the path. */
static void make_folders(char *path)
{
    for (char *at = path; (at = strchr(at + 1, '/')) != NULL;) {
        *at = '\0';
        (void)mkdir(path, 0777);
        *at = '/';
    }
}

/* Create the file of a path, which becomes its own. */
static int create_file(struct job *job, char *path)
{
    struct output_file *f = calloc(1, sizeof *f);
    int fd = -1;

    if (f && path) {
        make_folders(path);
        /* O_NONBLOCK: do not wait for the reader of a named pipe */
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK,
                  0666);
    }
    if (fd < 0) {
        wf_job_fail(job, 1, "cannot create %s: %s", path ? path : "a file",
                    strerror(errno));
        free(path);
        free(f);
        return -1;
    }
    wf_sink_open(&f->sink, fd, path);
    f->path = path;
    f->next = job->files;
    job->files = f;
    return 0;
}

static int open_one(struct job *job, const struct rank *r, bool error)
{
    char *path = path_of(job, r, error);

    if (path && find_file(job, path)) {
        free(path);
        return 0;
    }
    return create_file(job, path);
}

int wf_output_open(struct job *job)
{
    const struct output *o = &job->set.output;

    for (int i = 0; i < job->count; i++)
        for (int error = 0; error <= !o->merge; error++)
            if (has_file(o, error) && open_one(job, &job->ranks[i], error) < 0)
                return -1;
    return 0;
}

struct sink *wf_output_file_of(const struct job *job, const struct rank *r,
                               bool error)
{
    char *path = has_file(&job->set.output, error) ? path_of(job, r, error)
                                                   : NULL;
    struct output_file *f = path ? find_file(job, path) : NULL;

    free(path);
    return f ? &f->sink : NULL;
}

bool wf_output_pending(const struct job *job)
{
    for (const struct output_file *f = job->files; f; f = f->next)
        if (f->sink.have)
            return true;
    return job->sink_out.have || job->sink_err.have;
}

void wf_output_close(struct job *job)
{
    for (struct output_file *f = job->files, *next; f; f = next) {
        next = f->next;
        if (close(f->sink.source.fd) < 0)
            wf_sink_fail(job, &f->sink, strerror(errno));
        free(f->sink.data);
        free(f->path);
        free(f);
    }
    job->files = NULL;
}
