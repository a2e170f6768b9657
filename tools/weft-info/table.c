/* weft-info --table prints the C table of the transports of a static program.
 *
 * A name is that of a transport inside libmpi.a, or of an archive beside it
 * (libweft_NAME.a). A transport of somebody's own is named by its object file
 * or archive, which is asked for its names.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "info.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>

#include "config/words.h"
#include "layout.h"
#include "object.h"
#include "os/dl.h"
#include "os/library.h"
#include "os/prefix.h"

enum { NAMES_MAX = 64, NAME_MAX_LEN = 64 };

struct names {
    char name[NAMES_MAX][NAME_MAX_LEN]; /* as identifiers */
    int count;
};

static int find_name(const struct names *all, const char *name)
{
    for (int i = 0; i < all->count; i++)
        if (wf_name_equal(all->name[i], name))
            return i;
    return -1;
}

static void add_name(struct names *all, const char *name)
{
    if (find_name(all, name) >= 0 || all->count == NAMES_MAX ||
        strlen(name) >= NAME_MAX_LEN)
        return;
    char *to = strcpy(all->name[all->count++], name);
    for (; *to != '\0'; to++)
        if (*to == '-')
            *to = '_';
}

static void add_plugin(void *names, const char *name, const char *file)
{
    add_name(names, name);
}

/* The directory of libmpi.a: of the installation, or of the build tree. */
static const char *find_archives(char path[PATH_MAX])
{
    const char *dir = wf_library_dir();
    if (dir == NULL && wf_prefix_path(WF_LIB_FROM_BIN, path, PATH_MAX))
        dir = path;
    return dir;
}

/* Add the transports of DIR/libweft_*.a. */
static void add_archives(struct names *all, const char *dir)
{
    static const char prefix[] = "libweft_", suffix[] = ".a";
    DIR *list = dir != NULL ? opendir(dir) : NULL;
    const struct dirent *entry;
    char path[PATH_MAX], why[256];
    while (list != NULL && (entry = readdir(list)) != NULL) {
        size_t n = strlen(entry->d_name);
        if (n < sizeof prefix + sizeof suffix ||
            strncmp(entry->d_name, prefix, sizeof prefix - 1) != 0 ||
            strcmp(entry->d_name + n - 2, suffix) != 0)
            continue;
        if ((size_t)snprintf(path, sizeof path, "%s/%s", dir, entry->d_name) <
            sizeof path)
            info_object_plugins(path, add_plugin, all, why, sizeof why);
    }
    if (list != NULL)
        closedir(list);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Print "tcp, udp-reliable" as names are written in mpi.ini. */
static void list_names(const struct names *all)
{
    for (int i = 0; i < all->count; i++) {
        fprintf(stderr, "%s", i > 0 ? ", " : "");
        for (const char *c = all->name[i]; *c != '\0'; c++)
            fputc(*c == '_' ? '-' : *c, stderr);
    }
}

static int refuse_name(const char *name, const struct names *inside,
                       const struct names *beside, const char *dir)
{
    fprintf(stderr, "weft-info: no transport is named '%s'; there are ", name);
    list_names(inside);
    fprintf(stderr, " in libmpi.a");
    if (beside->count > 0) {
        fprintf(stderr, ", and ");
        list_names(beside);
        fprintf(stderr, " in archives of %s", dir);
    }
    fprintf(stderr,
            "; one of your own is named by its object file or archive, "
            "as ./%s.o\n",
            name);
    return 2;
}

static bool is_file(const char *word)
{
    size_t n = strlen(word);
    return strchr(word, '/') != NULL ||
           (n > 2 && (strcmp(word + n - 2, ".o") == 0 ||
                      strcmp(word + n - 2, ".a") == 0));
}

/* Print the table. self is in it whether named or not, because a process must
 * reach itself. */
static void print_table(const struct names *table)
{
    printf("/* The transports of this program: link it before libmpi.a.\n"
           " * Made by weft-info --table. */\n"
           "#include \"weft_transport.h\"\n"
           "extern const weft_plugin *const weft_builtin[];\n");
    for (int i = 0; i < table->count; i++)
        printf("extern const weft_plugin weft_plugin_%d_%s;\n", WEFT_ABI_MAJOR,
               table->name[i]);
    printf("const weft_plugin *const weft_builtin[] = {\n");
    for (int i = 0; i < table->count; i++)
        printf("    &weft_plugin_%d_%s,\n", WEFT_ABI_MAJOR, table->name[i]);
    printf("    0\n};\n");
}

int info_table(char *const *words, int n)
{
    struct names inside = {.count = 0}, beside = {.count = 0},
                 table = {.count = 0};
    char path[PATH_MAX], why[256];
    const char *dir = find_archives(path);
    for (const weft_plugin *const *p = weft_builtin; *p != NULL; p++)
        add_name(&inside, (*p)->name);
    add_archives(&beside, dir);
    qsort(beside.name, (size_t)beside.count, sizeof beside.name[0],
          compare_names);
    add_name(&table, "self");
    for (int i = 0; i < n; i++) {
        if (!is_file(words[i])) {
            if (find_name(&inside, words[i]) < 0 &&
                find_name(&beside, words[i]) < 0)
                return refuse_name(words[i], &inside, &beside, dir);
            add_name(&table, words[i]);
        } else if (info_object_plugins(words[i], add_plugin, &table, why,
                                       sizeof why) < 0) {
            fprintf(stderr, "weft-info: %s: %s\n", words[i], why);
            return 2;
        }
    }
    print_table(&table);
    return 0;
}
