"""One build that has all mutants of a sample; the environment says which is on.

Where an expression has a mutant, the source gets

    (weft_mutant(7) ? changed : as it was)

and MUTANT_ON=7 turns it on. With MUTANT_SEEN=FILE every process writes
1 to the bytes of the mutants it comes by: which test runs which mutant. Not all
mutants can be switched (the constants of an enum, for instance). For those, the
functions of their file say that they run.

SPDX-License-Identifier: BSD-3-Clause
"""

# Every file has its own: it may end in a plugin, a library or a program; some
# builds make one of several files. The names for the linker are those that no
# test replaces.
SWITCH = """\
#ifndef WEFT_MUTANT
#define WEFT_MUTANT
extern char *weft_mutant_env(const char *) __asm__("getenv");
extern int weft_mutant_int(const char *) __asm__("atoi");
extern int weft_mutant_file(const char *, int, ...) __asm__("open64");
extern int weft_mutant_end(int) __asm__("close");
extern void *weft_mutant_map(void *, unsigned long, int, int, int, long)
    __asm__("mmap");
static int weft_mutant_on;
static unsigned char *weft_mutant_seen;
__attribute__((constructor(101))) static void weft_mutant_begin(void)
{
    const char *on = weft_mutant_env("MUTANT_ON");
    const char *seen = weft_mutant_env("MUTANT_SEEN");
    int file = seen ? weft_mutant_file(seen, 2 /* O_RDWR */) : -1;

    weft_mutant_on = on ? weft_mutant_int(on) : -1;
    if (file >= 0) { /* PROT_READ | PROT_WRITE, MAP_SHARED */
        void *map = weft_mutant_map((void *)0, @ROOM@, 3, 1, file, 0);

        weft_mutant_seen = map == (void *)-1 ? (void *)0 : map;
        weft_mutant_end(file);
    }
}
__attribute__((unused)) static inline int weft_mutant(int k)
{
    if (weft_mutant_seen)
        weft_mutant_seen[k] = 1;
    return weft_mutant_on == k;
}
#endif
#line 1
"""
ROOM = 1 << 16  # mutants at most


def applied(mutant, text, start, end):
    """The text from start to end with the mutant in it."""
    return text[start:mutant.start] + mutant.new + text[mutant.end:end]


def choice(text, start, end, several):
    """The text from start to end, or what one of several mutants makes of it."""
    if len(several) == 1 and several[0][1].is_return:
        k, m = several[0]
        begin = text.rindex("return", 0, start)
        return begin, end + 1, (f"{{ if (weft_mutant({k})) return {m.new}; "
                                f"{text[begin:end + 1]} }}")
    cases = "".join(f"weft_mutant({k}) ? ({applied(m, text, start, end)}) : "
                    for k, m in several)
    return start, end, f"({cases}({text[start:end]}))"


def groups(mutants):
    """Mutants inside the expression of another belong to that one."""
    found = []
    for k, m in sorted(mutants, key=lambda km: (km[1].outer[0],
                                                -km[1].outer[1])):
        if found and m.outer[1] <= found[-1][1]:
            found[-1][2].append((k, m))
        else:
            found.append((*m.outer, [(k, m)]))
    return found


def switched(text, mutants, alone):
    """The source with its mutants, each a pair of number and mutant. Those in
    `alone` are not in it; the functions of the file only say that they run."""
    if not mutants and not alone:
        return text
    for start, end, several in reversed(groups(mutants)):
        start, end, new = choice(text, start, end, several)
        text = text[:start] + new + text[end:]
    for k, _ in alone:
        text = text.replace("\n{\n", f"\n{{ weft_mutant({k});\n")
    return SWITCH.replace("@ROOM@", str(ROOM)) + text
