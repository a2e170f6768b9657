/* These options choose where the output of ranks goes, in the spellings of both
 * launchers.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

static struct output *output_of(struct parse *p)
{
    return &p->job->set.output;
}

int wf_take_tag(struct parse *p, char **args)
{
    output_of(p)->prefix = "[%r] ";
    return OPTION_DONE;
}

static int take_pattern(struct parse *p, const char **pattern, const char *text)
{
    char bad = 0;

    *pattern = text;
    if (wf_output_pattern_valid(text, &bad))
        return OPTION_DONE;
    return wf_option_error("%s %s: there is no %%%c; there are %%r (rank), %%h "
                           "(host), %%p (its number), %%g and %%%%", p->option,
                           text, bad ? bad : ' ');
}

int wf_take_prefix(struct parse *p, char **args)
{
    return take_pattern(p, &output_of(p)->prefix, args[0]);
}

int wf_take_time(struct parse *p, char **args)
{
    output_of(p)->time = true;
    return OPTION_DONE;
}

int wf_take_merge(struct parse *p, char **args)
{
    output_of(p)->merge = true;
    return OPTION_DONE;
}

int wf_take_out_pattern(struct parse *p, char **args)
{
    return take_pattern(p, &output_of(p)->out_pattern, args[0]);
}

int wf_take_err_pattern(struct parse *p, char **args)
{
    return take_pattern(p, &output_of(p)->err_pattern, args[0]);
}

static int folder_modifier(struct parse *p, const char *word, size_t n)
{
    if (wf_option_is(word, n, "nocopy"))
        output_of(p)->file_only = true;
    else if (wf_option_is(word, n, "copy"))
        output_of(p)->file_only = false;
    else if (wf_option_is(word, n, "nojobid"))
        output_of(p)->no_job_folder = true;
    else if (wf_option_is(word, n, "jobid"))
        output_of(p)->no_job_folder = false;
    else
        return wf_option_error("%s: there is no modifier '%.*s'; there are "
                               "nocopy, copy, nojobid and jobid", p->option,
                               (int)n, word);
    return OPTION_DONE;
}

/* The value is FOLDER[:MODIFIER[,MODIFIER]]. */
int wf_take_folder(struct parse *p, char **args)
{
    size_t n = strcspn(args[0], ":");
    int rc = OPTION_DONE;

    if (n == 0)
        return wf_option_error("%s: name a folder", p->option);
    free(output_of(p)->folder);
    output_of(p)->folder = strndup(args[0], n);
    if (!output_of(p)->folder)
        return wf_option_error("out of memory");
    for (const char *at = args[0] + n; *at && rc == OPTION_DONE;) {
        at++;
        n = strcspn(at, ":,");
        rc = folder_modifier(p, at, n);
        at += n;
    }
    return rc;
}

static int take_word(struct parse *p, char *word, size_t n)
{
    if (wf_option_is(word, n, "tag") || wf_option_is(word, n, "rank"))
        return wf_take_tag(p, NULL);
    if (wf_option_is(word, n, "timestamp"))
        return wf_take_time(p, NULL);
    if (wf_option_is(word, n, "merge") ||
        wf_option_is(word, n, "merge-stderr-to-stdout"))
        return wf_take_merge(p, NULL);
    if (wf_option_is(word, n, "nocopy") || wf_option_is(word, n, "nojobid"))
        return folder_modifier(p, word, n);
    if (n > 4 && strncmp(word, "dir=", 4) == 0) {
        char *folder[] = {strndup(word + 4, n - 4)};
        int rc = folder[0] ? wf_take_folder(p, folder)
                           : wf_option_error("out of memory");
        free(folder[0]);
        return rc;
    }
    return wf_option_error("%s %.*s: there are tag, timestamp, merge, "
                           "dir=FOLDER, nocopy and nojobid; --outfile-pattern "
                           "names files", p->option, (int)n, word);
}

/* This is --output of Open MPI 5. */
int wf_take_output(struct parse *p, char **args)
{
    int rc = OPTION_DONE;

    for (char *at = args[0]; *at && rc == OPTION_DONE;) {
        size_t n = strcspn(at, ",:");
        rc = take_word(p, at, n);
        at += n + (at[n] != '\0');
    }
    return rc;
}

int wf_take_xml(struct parse *p, char **args)
{
    return wf_option_error("%s: output is plain text here; --tag-output and "
                           "--timestamp-output say whose and when", p->option);
}

int wf_take_report_pid(struct parse *p, char **args)
{
    p->job->set.report_pid = args[0];
    return OPTION_DONE;
}
