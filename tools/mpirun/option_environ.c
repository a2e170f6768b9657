/* These options choose the environment of the ranks.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>
#include <string.h>

#include "options.h"

/* Change a variable as "NAME=VALUE" says, or to a value of its own (NULL:
 * mpirun's value). */
static void change_variable(struct env_changes *c, const char *text,
                            const char *value)
{
    const char *equals = strchr(text, '=');
    char *name = strndup(text, strcspn(text, "="));
    if (name)
        wf_env_change(c, name, equals ? equals + 1 : value);
    free(name);
}

static void change_list(struct env_changes *c, const char *list)
{
    while (*list) {
        size_t n = strcspn(list, ",");
        char *name = strndup(list, n);
        if (name && *name)
            wf_env_change(c, name, NULL);
        free(name);
        list += n + (list[n] == ',');
    }
    if (c->base == ENV_DEFAULT)
        c->base = ENV_LISTED;
}

int wf_take_x(struct parse *p, char **args)
{
    change_variable(&p->job->set.env, args[0], NULL);
    return OPTION_DONE;
}

int wf_take_genv(struct parse *p, char **args)
{
    change_variable(&p->job->set.env, args[0], args[1]);
    return OPTION_DONE;
}

int wf_take_env(struct parse *p, char **args)
{
    change_variable(&p->app->env, args[0], args[1]);
    return OPTION_DONE;
}

int wf_take_genvlist(struct parse *p, char **args)
{
    change_list(&p->job->set.env, args[0]);
    return OPTION_DONE;
}

int wf_take_envlist(struct parse *p, char **args)
{
    change_list(&p->app->env, args[0]);
    return OPTION_DONE;
}

int wf_take_genvall(struct parse *p, char **args)
{
    p->job->set.env.base = ENV_ALL;
    return OPTION_DONE;
}

int wf_take_genvnone(struct parse *p, char **args)
{
    p->job->set.env.base = ENV_NONE;
    return OPTION_DONE;
}

int wf_take_envall(struct parse *p, char **args)
{
    p->app->env.base = ENV_ALL;
    return OPTION_DONE;
}

int wf_take_envnone(struct parse *p, char **args)
{
    p->app->env.base = ENV_NONE;
    return OPTION_DONE;
}
