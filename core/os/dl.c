/* The plugin loader: the only user of dlopen, alone in this archive member.
 *
 * The core reaches it through the weak object weft_dl_loader. A program gets
 * it with -Wl,-u,weft_dl_loader (mpicc adds that); a fully static program
 * leaves it out, and with it dlopen and the linker's warning about it.
 *
 * DESIGN  A plugin is loaded from the descriptor that was checked (os/trust.h),
 * by its name in /proc. The dynamic linker identifies objects by that name: it
 * takes a second file under a used name for the first one. So the descriptor
 * stays open while the object is loaded, which keeps the name unique and lets
 * debuggers read the file. An object that is loaded already is found by device
 * and inode, and gets no second name.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "os/dl.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

/* NODELETE and no dlclose: thread-local destructors may outlive the use. */
enum { HOW = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE };
enum { NAME_LEN = 64 };

static bool is_same_file(const char *name, const struct stat *st)
{
    struct stat other;

    return stat(name, &other) == 0 && other.st_dev == st->st_dev &&
           other.st_ino == st->st_ino;
}

/* ---- checks that the dynamic linker does not make ------------------------ */

/* The mapped ELF header of this very object; NULL: it is not mapped. */
static const ElfW(Ehdr) * find_own_header(void)
{
    Dl_info info;
    const ElfW(Ehdr) * own;

    if (!dladdr((void *)(uintptr_t)&find_own_header, &info))
        return NULL;
    own = info.dli_fbase;
    return memcmp(own->e_ident, ELFMAG, SELFMAG) == 0 ? own : NULL;
}

static const char of_another_machine[] =
    "built for another kind of machine; rebuild it for this one";

/* The reason why the file cannot be loaded, or NULL. A truncated file would
 * kill the process when its missing pages are touched. */
static const char *find_elf_fault(int fd, off_t size)
{
    const ElfW(Ehdr) *own = find_own_header();
    ElfW(Ehdr) h;
    ElfW(Phdr) p;

    if (pread(fd, &h, sizeof h, 0) != (ssize_t)sizeof h ||
        memcmp(h.e_ident, ELFMAG, SELFMAG) != 0)
        return "invalid ELF header";
    if (own && (memcmp(h.e_ident, own->e_ident, EI_VERSION) != 0 ||
                h.e_machine != own->e_machine))
        return of_another_machine;
    if (h.e_type != ET_DYN || h.e_phentsize != sizeof p)
        return "not a shared library";
    for (unsigned i = 0; i < h.e_phnum; i++) {
        if (pread(fd, &p, sizeof p, (off_t)(h.e_phoff + i * sizeof p)) !=
                (ssize_t)sizeof p ||
            p.p_filesz > (size_t)size || p.p_offset > (size_t)size - p.p_filesz)
            return "the file is truncated; build or copy it again";
    }
    return NULL;
}

/* ---- loading ------------------------------------------------------------- */

struct loaded {
    const struct stat *st;
    const char *ours; /* name of the new descriptor, which no object has */
    char name[PATH_MAX];
};

static int match_loaded(struct dl_phdr_info *info, size_t size, void *user)
{
    struct loaded *l = user;

    (void)size;
    if (!info->dlpi_name[0] || strcmp(info->dlpi_name, l->ours) == 0 ||
        !is_same_file(info->dlpi_name, l->st))
        return 0;
    snprintf(l->name, sizeof l->name, "%s", info->dlpi_name);
    return 1;
}

static int match_name(struct dl_phdr_info *info, size_t size, void *name)
{
    (void)size;
    return strcmp(info->dlpi_name, name) == 0;
}

/* Write the name of the descriptor, which is valid in other processes too (a
 * debugger); "" and false without /proc. */
static bool name_descriptor(int fd, const struct stat *st, char name[NAME_LEN])
{
    char self[16];
    ssize_t n = readlink("/proc/self", self, sizeof self - 1);

    snprintf(name, NAME_LEN, "/proc/%.*s/fd/%d", n > 0 ? (int)n : 0, self, fd);
    if (n <= 0 || !is_same_file(name, st))
        name[0] = '\0';
    return name[0] != '\0';
}

/* Move the descriptor until no loaded object has its name. One has it if the
 * program closed descriptors that it had not opened. */
static int give_unused_name(int fd, const struct stat *st, char name[NAME_LEN])
{
    while (name_descriptor(fd, st, name) && dl_iterate_phdr(match_name, name)) {
        int next = fcntl(fd, F_DUPFD_CLOEXEC, fd + 1), error = errno;
        close(fd);
        if (next < 0) {
            errno = error == EINVAL ? EMFILE : error; /* there is no such one */
            return -1;
        }
        fd = next;
    }
    return fd;
}

/* Format the dynamic linker's error with the name `file` that the user knows,
 * in place of the name in /proc. */
static void format_error(const char *name, const char *file, char *err,
                         size_t err_len)
{
    int error = errno;
    const char *why = dlerror();
    size_t n = strlen(name);

    if (why && n && strncmp(why, name, n) == 0 && why[n] == ':')
        why += n + 2;
    snprintf(err, err_len, "%s: %s", file, why ? why : "cannot be loaded");
    n = strlen(err); /* it does not always say so, or has no memory to */
    if (error == ENOMEM && !strstr(err, strerror(error)))
        snprintf(err + n, err_len - n, ": %s", strerror(error));
}

/* Load the object and close the descriptor, or keep it as DESIGN says. */
static void *open_object(int fd, const char *file, const struct stat *st,
                         char *err, size_t err_len)
{
    char name[NAME_LEN];
    struct loaded l = {.st = st, .ours = name};
    void *handle;

    fd = give_unused_name(fd, st, name);
    if (fd < 0) {
        snprintf(err, err_len, "%s: %s", file, strerror(errno));
        return NULL;
    }
    bool before = dl_iterate_phdr(match_loaded, &l);
    errno = 0;
    handle = before    ? dlopen(l.name, HOW | RTLD_NOLOAD)
             : name[0] ? dlopen(name, HOW)
                       : dlopen(file, HOW);
    if (!handle)
        format_error(name, file, err, err_len);
    else if (!before && !name[0] && !is_same_file(file, st)) {
        snprintf(err, err_len, "%s: another file took its place", file);
        handle = NULL;
    }
    if (before || !name[0] || !handle)
        close(fd);
    return handle;
}

/* Find a symbol that is in this very object: a plugin that is linked against
 * another one must not be taken for it. */
static const void *find_own_symbol(void *handle, const char *file,
                                   const char *symbol, char *err,
                                   size_t err_len)
{
    void *p = dlsym(handle, symbol);
    struct link_map *own;
    Dl_info info;

    if (!p)
        snprintf(err, err_len,
                 "%s: exports no symbol %s, so it is no plugin of this kind, "
                 "name and ABI; WEFT_PLUGIN of this weft_transport.h makes a "
                 "transport",
                 file, symbol);
    else if (dlinfo(handle, RTLD_DI_LINKMAP, &own) == 0 && dladdr(p, &info) &&
             strcmp(info.dli_fname, own->l_name) == 0)
        return p;
    else
        snprintf(err, err_len, "%s: %s comes from another file", file, symbol);
    return NULL;
}

static const void *load_plugin(int fd, const char *file, const char *symbol,
                               char *err, size_t err_len)
{
    struct stat st;
    const char *fault =
        fstat(fd, &st) == 0 ? find_elf_fault(fd, st.st_size) : strerror(errno);
    void *handle;

    if (fault) {
        snprintf(err, err_len, "%s: %s", file, fault);
        close(fd);
        errno = fault == of_another_machine ? ENOEXEC : EINVAL;
        return NULL;
    }
    handle = open_object(fd, file, &st, err, err_len);
    errno = EINVAL;
    return handle ? find_own_symbol(handle, file, symbol, err, err_len) : NULL;
}

/* Find the object that this function is in; false: it is the main program. */
static bool find_library(Dl_info *own)
{
    Dl_info program;

    return dladdr((void *)(uintptr_t)&find_library, own) &&
           dladdr((void *)getauxval(AT_PHDR), &program) &&
           own->dli_fbase != program.dli_fbase;
}

/* The directory of the library; NULL in the main program. */
static const char *find_library_dir(void)
{
    static char dir[PATH_MAX];
    Dl_info own;
    char *slash;

    if (dir[0])
        return dir;
    if (!find_library(&own) || !realpath(own.dli_fname, dir))
        return NULL;
    slash = strrchr(dir, '/');
    if (slash)
        *slash = 0;
    return dir;
}

static const char *find_unused_tool(void)
{
    void *init = dlsym(RTLD_DEFAULT, "MPI_Init");
    Dl_info own = {0}, other;

    if (find_library(&own) || !init || !dladdr(init, &other) ||
        other.dli_fbase == own.dli_fbase)
        return NULL;
    return other.dli_fname;
}

#define DL_PUBLIC __attribute__((visibility("default")))
extern DL_PUBLIC const struct weft_dl weft_dl_loader;
DL_PUBLIC const struct weft_dl weft_dl_loader = {load_plugin, find_library_dir,
                                                 find_unused_tool};
