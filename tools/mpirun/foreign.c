/* This file detects programs of other MPI libraries that do not join the job:
 * each of their processes finds itself rank 0 of 1, and nothing else would
 * report it.
 *
 * It reports once, for the first process of a job of several ranks, if that
 * process has never used its PMI connection and has such a library: while it
 * runs, according to what it has mapped (checked a few times, ever more
 * rarely), and when it ends, according to what its file needs. MPICH's programs
 * speak PMI-1 and are served.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "job.h"

#if __SIZEOF_POINTER__ == 8
typedef Elf64_Ehdr elf_header;
typedef Elf64_Phdr elf_segment;
typedef Elf64_Dyn elf_dynamic;
enum { ELF_CLASS = ELFCLASS64 };
#else
typedef Elf32_Ehdr elf_header;
typedef Elf32_Phdr elf_segment;
typedef Elf32_Dyn elf_dynamic;
enum { ELF_CLASS = ELFCLASS32 };
#endif

enum { FIRST_MS = 300, ROUNDS = 5 /* each after three times as long */ };

static const struct {
    const char *file, *name;
} libraries[] = {{"libmpi.so.40", "Open MPI"},     {"libmpi.so.20", "Open MPI"},
                 {"libopen-pal.so", "Open MPI"},   {"libmpich.so", "MPICH"},
                 {"libmpi.so.12", "MPICH or Intel MPI"},
                 {"libmpi_cray.so", "Cray MPICH"},
                 {"libmpi_mt.so", "Intel MPI"}};

enum { LIBRARIES = sizeof libraries / sizeof *libraries };

static void say_foreign(struct job *job, const struct rank *r, int library)
{
    job->foreign_deadline = 0;
    job->foreign_round = ROUNDS;
    wf_job_say(job, "%s uses %s of %s and has not joined this job, so each of "
               "its %d ranks finds itself rank 0 of 1: start it by that "
               "library's mpirun, or compile it by Weft's mpicc",
               r->app->argv[0], libraries[library].file,
               libraries[library].name, job->size);
}

/* ---- what is mapped ------------------------------------------------------ */

/* Returns the library that a line of /proc/PID/maps or a NEEDED entry names, or
 * -1. */
static int library_in(const char *text)
{
    const char *slash = strrchr(text, '/'), *name = slash ? slash + 1 : text;

    for (int i = 0; i < LIBRARIES; i++)
        if (strncmp(name, libraries[i].file, strlen(libraries[i].file)) == 0)
            return i;
    return -1;
}

static int library_mapped(pid_t pid)
{
    char path[32], line[4096];
    int found = -1;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    f = fopen(path, "re");
    while (f && found < 0 && fgets(line, sizeof line, f))
        if (strchr(line, '/'))
            found = library_in(line);
    if (f)
        fclose(f);
    return found;
}

/* ---- what a file needs --------------------------------------------------- */

struct file {
    const char *data;
    size_t size;
};

/* Returns n members at this offset of the file, or NULL if they are not all
 * inside it. */
static const void *find_part(const struct file *f, size_t at, size_t n,
                             size_t size)
{
    if (at > f->size || n > (f->size - at) / size || at % sizeof(long))
        return NULL;
    return f->data + at;
}

static const elf_segment *find_segments(const struct file *f, size_t *n)
{
    const elf_header *e = find_part(f, 0, 1, sizeof *e);

    if (!e || memcmp(e->e_ident, ELFMAG, SELFMAG) != 0 ||
        e->e_ident[EI_CLASS] != ELF_CLASS ||
        e->e_phentsize != sizeof(elf_segment))
        return NULL;
    *n = e->e_phnum;
    return find_part(f, e->e_phoff, *n, sizeof(elf_segment));
}

/* Returns the offset in the file of an address; 0 if it has none. */
static size_t find_offset(const elf_segment *h, size_t n, size_t address)
{
    for (size_t i = 0; i < n; i++)
        if (h[i].p_type == PT_LOAD && address >= h[i].p_vaddr &&
            address - h[i].p_vaddr < h[i].p_filesz)
            return h[i].p_offset + (address - h[i].p_vaddr);
    return 0;
}

static int library_in_table(const struct file *f, const elf_dynamic *d,
                            size_t n, size_t strings)
{
    for (size_t i = 0; strings && i < n && d[i].d_tag != DT_NULL; i++) {
        size_t at = strings + d[i].d_un.d_val;
        if (d[i].d_tag != DT_NEEDED || at < strings || at >= f->size ||
            !memchr(f->data + at, '\0', f->size - at))
            continue;
        int found = library_in(f->data + at);
        if (found >= 0)
            return found;
    }
    return -1;
}

static int library_in_elf(const struct file *f)
{
    size_t n = 0, count, strings = 0;
    const elf_segment *h = find_segments(f, &n);
    const elf_dynamic *d;

    for (size_t i = 0; h && i < n; i++) {
        if (h[i].p_type != PT_DYNAMIC)
            continue;
        count = h[i].p_filesz / sizeof *d;
        d = find_part(f, h[i].p_offset, count, sizeof *d);
        for (size_t k = 0; d && k < count; k++)
            if (d[k].d_tag == DT_STRTAB)
                strings = find_offset(h, n, d[k].d_un.d_ptr);
        return d ? library_in_table(f, d, count, strings) : -1;
    }
    return -1;
}

static int library_needed(const char *program)
{
    int fd = open(program, O_RDONLY | O_CLOEXEC), found = -1;
    struct file f = {NULL, 0};
    struct stat st;

    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
        st.st_size > 0) {
        size_t size = (size_t)st.st_size;
        void *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data != MAP_FAILED) {
            f = (struct file){data, size};
            found = library_in_elf(&f);
            munmap(data, f.size);
        }
    }
    if (fd >= 0)
        close(fd);
    return found;
}

/* ---- when it is looked at ------------------------------------------------ */

static bool is_suspect(const struct job *job, const struct rank *r)
{
    return r->index == 0 && job->size > 1 && r->host->here && !r->pmi_init &&
           job->foreign_round < ROUNDS;
}

void wf_foreign_start(struct job *job)
{
    if (job->count && is_suspect(job, &job->ranks[0]))
        job->foreign_deadline = wf_job_now() + FIRST_MS * 1000000ull;
}

void wf_foreign_deadline(struct job *job)
{
    struct rank *r = &job->ranks[0];
    uint64_t now = wf_job_now(), wait = FIRST_MS * 1000000ull;
    int found;

    if (!job->foreign_deadline || now < job->foreign_deadline)
        return;
    job->foreign_deadline = 0;
    if (!is_suspect(job, r) || !r->pid)
        return;
    found = library_mapped(r->pid);
    if (found >= 0) {
        say_foreign(job, r, found);
        return;
    }
    for (int i = 0; i <= job->foreign_round; i++)
        wait *= 3;
    if (++job->foreign_round < ROUNDS)
        job->foreign_deadline = now + wait;
}

void wf_foreign_ended(struct job *job, const struct rank *r)
{
    int found = is_suspect(job, r) ? library_needed(r->app->program) : -1;

    if (found >= 0)
        say_foreign(job, r, found);
}
