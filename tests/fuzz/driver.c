/* main for a fuzz target where no fuzzing engine is: replays the corpus, then
 * mutates it. One seed, one sequence: a failure prints what repeats it.
 *
 *   TARGET [--runs N] [--seed S] [FILE or DIRECTORY]...
 *
 * With clang -fsanitize=fuzzer the targets are built without this file.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <dirent.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUTS_MAX = 1024, INPUT_MAX = 1 << 16 };

struct input {
    uint8_t *data;
    size_t size;
};

static struct input inputs[INPUTS_MAX];
static int input_count;
static uint64_t seed = 1, run_seed; /* of the run in progress */
static char crash_text[128];

static uint64_t next_random(uint64_t *state) /* splitmix64 */
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static void on_crash(int sig)
{
    ssize_t n = write(2, crash_text, strlen(crash_text));
    (void)n;
    signal(sig, SIG_DFL);
    raise(sig);
}

static int add_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    uint8_t *data = malloc(INPUT_MAX);
    if (f == NULL || data == NULL || input_count == INPUTS_MAX) {
        fprintf(stderr, "cannot take %s\n", path);
        free(data);
        return 1;
    }
    size_t n = fread(data, 1, INPUT_MAX, f);
    fclose(f);
    inputs[input_count++] = (struct input){data, n};
    return 0;
}

static int add_path(const char *path)
{
    struct stat st;
    DIR *dir;
    int bad = 0;
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
        return add_file(path);
    if ((dir = opendir(path)) == NULL)
        return 1;
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        char file[4096];
        snprintf(file, sizeof file, "%s/%s", path, e->d_name);
        if (e->d_name[0] != '.')
            bad |= add_file(file);
    }
    closedir(dir);
    return bad;
}

/* Remove, insert, or copy a stretch from another input. */
static size_t mutate_stretch(uint64_t *r, uint8_t *d, size_t n)
{
    size_t at = n > 0 ? next_random(r) % n : 0;
    size_t length = next_random(r) % 32;
    const struct input *other = &inputs[next_random(r) % (size_t)input_count];
    if (next_random(r) % 2 == 0 || other->size == 0) {
        if (length > n - at)
            length = n - at;
        memmove(d + at, d + at + length, n - at - length);
        return n - length;
    }
    size_t from = next_random(r) % other->size;
    if (length > other->size - from)
        length = other->size - from;
    if (n + length > INPUT_MAX)
        return n;
    memmove(d + at + length, d + at, n - at);
    memcpy(d + at, other->data + from, length);
    return n + length;
}

static size_t mutate_bytes(uint64_t *r, uint8_t *d, size_t n)
{
    static const uint8_t odd[] = "\0\xff\n\r\t =[]\"#;:,-.*!9\x80";
    for (uint64_t k = 1 + next_random(r) % 6; k > 0; k--) {
        size_t at = n > 0 ? next_random(r) % n : 0;
        switch (next_random(r) % 4) {
        case 0:
            if (n > 0)
                d[at] ^= (uint8_t)(1u << next_random(r) % 8);
            break;
        case 1:
            if (n > 0)
                d[at] = odd[next_random(r) % (sizeof odd - 1)];
            break;
        default:
            n = mutate_stretch(r, d, n);
        }
    }
    return n;
}

static void run_mutations(long runs)
{
    uint8_t *d = malloc(INPUT_MAX);
    for (long i = 0; i < runs && d != NULL; i++) {
        uint64_t r = run_seed = seed + (uint64_t)i;
        const struct input *from =
            &inputs[next_random(&r) % (size_t)input_count];
        snprintf(crash_text, sizeof crash_text,
                 "\nfuzz: repeat with --runs 1 --seed %llu\n",
                 (unsigned long long)run_seed);
        memcpy(d, from->data, from->size);
        size_t n = mutate_bytes(&r, d, from->size);
        /* exactly n bytes, so that reading one more is seen */
        uint8_t *exact = malloc(n > 0 ? n : 1);
        if (exact != NULL)
            memcpy(exact, d, n);
        if (exact != NULL)
            LLVMFuzzerTestOneInput(exact, n);
        free(exact);
    }
    free(d);
}

int main(int argc, char **argv)
{
    long runs = 20000;
    int bad = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc)
            runs = strtol(argv[++i], NULL, 0);
        else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            seed = strtoull(argv[++i], NULL, 0);
        else
            bad |= add_path(argv[i]);
    }
    if (input_count == 0)
        inputs[input_count++] = (struct input){calloc(1, 1), 0};
    signal(SIGSEGV, on_crash);
    signal(SIGABRT, on_crash);
    for (int i = 0; i < input_count; i++) {
        snprintf(crash_text, sizeof crash_text, "\nfuzz: input %d\n", i);
        LLVMFuzzerTestOneInput(inputs[i].data, inputs[i].size);
    }
    run_mutations(runs);
    printf("%d inputs, %ld mutations from seed %llu\n", input_count, runs,
           (unsigned long long)seed);
    for (int i = 0; i < input_count; i++)
        free(inputs[i].data);
    return bad;
}
