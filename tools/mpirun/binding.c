/* This file binds the processes that this mpirun starts: see binding.h.
 *
 * Nodes that --nodes pretends share the processors of this host. Where agents
 * start their processes, they are told which processors these get.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "binding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"

enum { STATUS_USAGE = 2 };

static bool by_thread(const struct placement *p)
{
    return p->by_thread || p->map == PLACE_THREAD ||
           (p->binding == BIND_PART && p->bind == PLACE_THREAD &&
            !wf_place_is_part(p->map));
}

bool wf_binding_asked(const struct placement *p)
{
    return p->binding > BIND_NONE || wf_place_is_part(p->map) || p->width ||
           wf_place_is_part(p->rank) || p->cpus;
}

/* ---- the machine --------------------------------------------------------- */

/* Find the CPUs that --cpu-set leaves. */
static bool usable_cpus(const struct placement *p, struct wf_cpus *s,
                        char *error)
{
    struct wf_cpus wanted;
    char text[160];

    if (!wf_machine_usable(s)) {
        snprintf(error, PLACEMENT_ERROR_MAX,
                 "the system does not say which processors this job may use");
        return false;
    }
    if (!p->cpus || !wf_cpus_read(p->cpus, &wanted))
        return true;
    if (!wf_cpus_inside(&wanted, s)) {
        wf_cpus_text(s, text, sizeof text);
        snprintf(error, PLACEMENT_ERROR_MAX,
                 "--cpu-set %s: this job may use the processors %s", p->cpus,
                 text);
        return false;
    }
    *s = wanted;
    return true;
}

static struct machine *read_machine(const struct placement *p, char *error)
{
    struct wf_cpus usable;
    struct machine *m;

    if (!usable_cpus(p, &usable, error))
        return NULL;
    m = malloc(sizeof *m);
    if (m && wf_machine_read(m, &usable, by_thread(p)))
        return m;
    free(m);
    snprintf(error, PLACEMENT_ERROR_MAX, "out of memory");
    return NULL;
}

/* ---- sets ---------------------------------------------------------------- */

static int count_cpus(const struct wf_cpus *s)
{
    int n = 0;

    for (int i = 0; i < WF_CPUS_MAX / 64; i++)
        n += __builtin_popcountll(s->word[i]);
    return n;
}

/* Returns whether the process is on this machine and bound by this mpirun. */
static bool is_bound_here(const struct job *job, const struct rank *r)
{
    return r->host->here || (job->set.nodes && !job->up);
}

/* Give each of these processes its set; the sets stay as long as the job. */
static void hand_out(struct job *job, struct wf_cpus *sets)
{
    for (int i = 0, at = 0; i < job->count; i++)
        if (is_bound_here(job, &job->ranks[i]))
            job->ranks[i].cpus = &sets[at++];
}

static void count_bound(struct job *job)
{
    struct wf_cpus all = {{0}};

    for (int i = 0; i < job->count; i++)
        for (int w = 0; job->ranks[i].cpus && w < WF_CPUS_MAX / 64; w++)
            all.word[w] |= job->ranks[i].cpus->word[w];
    job->bound_cpus = count_cpus(&all);
}

static enum binding_result make_sets(struct job *job, char *error)
{
    size_t most = (size_t)job->count;
    int *held = calloc(most, sizeof *held);
    struct wf_cpus *sets = calloc(most, sizeof *sets);
    struct local_processes who = {0, held};
    enum binding_result result = BINDING_REFUSED;

    for (int i = 0; held && i < job->count; i++)
        if (is_bound_here(job, &job->ranks[i]))
            held[who.count++] = job->ranks[i].rank_count;
    if (held && sets)
        result = wf_binding_make(job->machine, &job->set.place, &who, sets,
                                 error);
    if (result == BINDING_MADE)
        hand_out(job, sets);
    else
        free(sets);
    free(held);
    return result;
}

static bool binds_any(const struct job *job)
{
    for (int i = 0; i < job->count; i++)
        if (is_bound_here(job, &job->ranks[i]))
            return true;
    return false;
}

bool wf_binding_all(struct job *job)
{
    char error[PLACEMENT_ERROR_MAX] = "out of memory";

    if ((!wf_binding_asked(&job->set.place) && !job->set.report_bindings) ||
        !binds_any(job))
        return true; /* nobody looks at the machine */
    bool told = job->up && job->set.nodes;
    job->machine = read_machine(&job->set.place, error);
    if (job->machine && (told || make_sets(job, error) != BINDING_REFUSED)) {
        count_bound(job);
        return true;
    }
    wf_job_fail(job, STATUS_USAGE, "%s", error);
    return false;
}

int wf_binding_count(const struct placement *p)
{
    char error[PLACEMENT_ERROR_MAX];
    struct machine *m = read_machine(p, error);
    int *first = m ? calloc((size_t)m->count + 1, sizeof *first) : NULL, n = 0;

    if (first && p->per)
        n = p->per * wf_machine_instances(m, wf_place_type(p->map), first);
    else if (first)
        n = p->width > m->count ? 1 : m->count / (p->width ? p->width : 1);
    if (!m)
        fprintf(stderr, "mpirun: %s\n", error);
    else
        wf_machine_free(m);
    free(first);
    free(m);
    return n;
}

/* ---- reports ------------------------------------------------------------- */

void wf_binding_text(const struct job *job, const struct wf_cpus *s, char *text,
                     size_t size)
{
    char numbers[256], parts[256];

    wf_cpus_text(s, numbers, sizeof numbers);
    wf_machine_describe(job->machine, s, parts, sizeof parts);
    snprintf(text, size, "processor%s %s (%s)", count_cpus(s) == 1 ? "" : "s",
             numbers, parts);
}

void wf_binding_report(const struct job *job, const struct rank *r)
{
    char text[600], ranks[40];
    struct wf_cpus s;

    if (!wf_hardware_affinity(r->pid, &s))
        return; /* it has ended */
    if (r->rank_count > 1)
        snprintf(ranks, sizeof ranks, "ranks %d-%d", r->id,
                 r->id + r->rank_count - 1);
    else
        snprintf(ranks, sizeof ranks, "rank %d", r->id);
    wf_binding_text(job, &s, text, sizeof text);
    wf_job_say(job, "%s %s %s%s", ranks, r->rank_count > 1 ? "are" : "is",
               r->cpus ? "bound to " : "not bound: ", text);
}
