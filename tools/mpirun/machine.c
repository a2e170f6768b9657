/* This file reads the processors of this host: see machine.h.
 *
 * A part is read once, from one of its CPUs, and remembered for the others.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NOT_READ = -2, NOT_KNOWN = -1 };

/* The instances that have been read, for each CPU and type. */
struct reader {
    const char *sysfs;
    int first[WF_HARDWARE_TYPES][WF_CPUS_MAX];
};

static const char *test_sysfs(void)
{
    const char *root = getenv("WEFT_TEST_SYSFS");

    return root && *root ? root : NULL;
}

bool wf_machine_usable(struct wf_cpus *s)
{
    char path[512], line[4096];
    FILE *f;
    bool good;

    if (!test_sysfs())
        return wf_hardware_affinity(0, s);
    snprintf(path, sizeof path, "%s/cpu/online", test_sysfs());
    f = fopen(path, "re");
    good = f && fgets(line, sizeof line, f) && wf_cpus_read(line, s);
    if (f)
        fclose(f);
    return good;
}

/* ---- parts --------------------------------------------------------------- */

/* Note that the kernel does not name the instance of a CPU. A kernel that names
 * no NUMA node for one CPU has none at all. */
static void remember_silence(int *first, int cpu, enum wf_hardware type)
{
    if (type != WF_HARDWARE_NUMA)
        first[cpu] = NOT_KNOWN;
    for (int c = 0; type == WF_HARDWARE_NUMA && c < WF_CPUS_MAX; c++)
        first[c] = NOT_KNOWN;
}

static int first_of(struct reader *r, int cpu, enum wf_hardware type)
{
    int *first = r->first[type];
    struct wf_cpus part;

    if (first[cpu] != NOT_READ)
        return first[cpu];
    if (!wf_hardware_part(r->sysfs, cpu, type, &part) ||
        !wf_cpu_in(&part, cpu)) {
        remember_silence(first, cpu, type);
        return first[cpu];
    }
    for (int c = 0, low = wf_cpus_lowest(&part); c < WF_CPUS_MAX; c++)
        if (wf_cpu_in(&part, c))
            first[c] = low;
    return first[cpu];
}

/* Returns the instance of a CPU with the usual one for an unknown one: each CPU
 * is a core of its own, and there is one package and one NUMA node. */
static int known_or_usual(int first, int cpu, enum wf_hardware type)
{
    if (first != NOT_KNOWN)
        return first;
    if (type == WF_HARDWARE_CORE)
        return cpu;
    return type == WF_HARDWARE_PACKAGE || type == WF_HARDWARE_NUMA ? 0 : first;
}

static void read_processor(struct reader *r, int cpu, struct processor *p)
{
    for (enum wf_hardware t = 0; t < WF_HARDWARE_TYPES; t++)
        p->first[t] = known_or_usual(first_of(r, cpu, t), cpu, t);
}

static int compare_processors(const void *left, const void *right)
{
    const struct processor *a = left, *b = right;

    for (int t = 0; t < WF_HARDWARE_TYPES; t++)
        if (a->first[t] != b->first[t])
            return a->first[t] < b->first[t] ? -1 : 1;
    return 0;
}

/* ---- the machine --------------------------------------------------------- */

static int count_cpus(const struct wf_cpus *s)
{
    int n = 0;

    for (int i = 0; i < WF_CPUS_MAX / 64; i++)
        n += __builtin_popcountll(s->word[i]);
    return n;
}

/* Make the hardware threads of one core, which are neighbours after sorting,
 * one processor. */
static void join_threads(struct machine *m)
{
    int n = 0;

    for (int i = 0; i < m->count; i++) {
        struct processor *last = n ? &m->processors[n - 1] : NULL;
        const struct processor *p = &m->processors[i];
        if (!m->by_thread && last &&
            last->first[WF_HARDWARE_CORE] == p->first[WF_HARDWARE_CORE])
            last->count++;
        else
            m->processors[n++] = *p;
    }
    m->count = n;
}

bool wf_machine_read(struct machine *m, const struct wf_cpus *usable,
                     bool by_thread)
{
    int n = count_cpus(usable), at = 0;
    struct reader *r = malloc(sizeof *r);

    *m = (struct machine){
        .usable = *usable, .by_thread = by_thread, .count = n};
    m->processors = calloc((size_t)n + 1, sizeof *m->processors);
    m->cpus = calloc((size_t)n + 1, sizeof *m->cpus);
    if (!r || !m->processors || !m->cpus) {
        free(r);
        wf_machine_free(m);
        return false;
    }
    r->sysfs = test_sysfs() ? test_sysfs() : WF_SYSFS;
    for (int t = 0; t < WF_HARDWARE_TYPES; t++)
        for (int c = 0; c < WF_CPUS_MAX; c++)
            r->first[t][c] = NOT_READ;
    for (int cpu = 0; cpu < WF_CPUS_MAX; cpu++)
        if (wf_cpu_in(usable, cpu))
            read_processor(r, cpu, &m->processors[at++]);
    free(r);
    qsort(m->processors, (size_t)n, sizeof *m->processors, compare_processors);
    for (int i = 0; i < n; i++) {
        m->cpus[i] = m->processors[i].first[WF_HARDWARE_THREAD];
        m->processors[i].cpus = &m->cpus[i];
        m->processors[i].count = 1;
    }
    join_threads(m);
    return true;
}

void wf_machine_free(struct machine *m)
{
    free(m->processors);
    free(m->cpus);
    m->processors = NULL;
    m->cpus = NULL;
    m->count = 0;
}

bool wf_machine_knows(const struct machine *m, enum wf_hardware type)
{
    for (int i = 0; i < m->count; i++)
        if (m->processors[i].first[type] == NOT_KNOWN)
            return false;
    return true;
}

int wf_machine_instances(const struct machine *m, enum wf_hardware type,
                         int *first)
{
    int n = 0;

    for (int i = 0; i < m->count; i++) {
        int of = m->processors[i].first[type], k = 0;
        while (k < n && first[k] != of)
            k++;
        if (k == n)
            first[n++] = of;
    }
    return n;
}

void wf_machine_add(const struct machine *m, enum wf_hardware type, int first,
                    struct wf_cpus *s)
{
    for (int i = 0; i < m->count; i++)
        for (int c = 0; c < m->processors[i].count; c++)
            if (m->processors[i].first[type] == first)
                wf_cpu_add(s, m->processors[i].cpus[c]);
}

/* ---- texts --------------------------------------------------------------- */

void wf_cpus_text(const struct wf_cpus *s, char *text, size_t size)
{
    size_t n = 0;

    text[0] = '\0';
    for (int c = 0, end; c < WF_CPUS_MAX && n < size; c = end + 1) {
        for (end = c; end < WF_CPUS_MAX && wf_cpu_in(s, end);)
            end++;
        if (end == c)
            continue;
        n += (size_t)snprintf(text + n, size - n, "%s%d", n ? "," : "", c);
        if (end - 1 > c && n < size)
            n += (size_t)snprintf(text + n, size - n, "-%d", end - 1);
    }
}

/* Find the numbers, from 0 in the order of the machine, of the instances with
 * one of these CPUs. */
static int numbers_of(const struct machine *m, enum wf_hardware type,
                      const struct wf_cpus *s, struct wf_cpus *numbers)
{
    int *first = calloc((size_t)m->count + 1, sizeof *first), n, hit = 0;

    memset(numbers, 0, sizeof *numbers);
    n = first ? wf_machine_instances(m, type, first) : 0;
    for (int i = 0; i < n; i++) {
        struct wf_cpus part = {{0}};
        bool any = false;
        wf_machine_add(m, type, first[i], &part);
        for (int w = 0; w < WF_CPUS_MAX / 64; w++)
            any = any || (part.word[w] & s->word[w]);
        if (any)
            wf_cpu_add(numbers, i);
        hit += any;
    }
    free(first);
    return hit;
}

void wf_machine_describe(const struct machine *m, const struct wf_cpus *s,
                         char *text, size_t size)
{
    static const struct {
        enum wf_hardware type;
        const char *one, *several;
    } rows[] = {{WF_HARDWARE_PACKAGE, "socket", "sockets"},
                {WF_HARDWARE_NUMA, "NUMA node", "NUMA nodes"},
                {WF_HARDWARE_CORE, "core", "cores"}};
    size_t n = 0;

    text[0] = '\0';
    for (size_t i = 0; i < sizeof rows / sizeof *rows && n < size; i++) {
        struct wf_cpus numbers;
        char list[256];
        int hit = numbers_of(m, rows[i].type, s, &numbers);
        wf_cpus_text(&numbers, list, sizeof list);
        n += (size_t)snprintf(text + n, size - n, "%s%s %s", n ? ", " : "",
                              hit == 1 ? rows[i].one : rows[i].several, list);
    }
}
