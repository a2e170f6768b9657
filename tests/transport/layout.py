"""The layout of weft_transport.h is that of the snapshot of its major version.

    layout.py CC           compare; what differs is printed, status 1
    layout.py CC --update  append what is new to the snapshot

A plugin of one major runs with every core of it, so within a major nothing may
move, change or go: members are appended to the last struct that has them, and
WEFT_ABI_MINOR grows. Anything else needs a new WEFT_ABI_MAJOR, and with it a
new snapshot, tests/transport/layout_MAJOR.txt.

A line of the snapshot is a struct with its size, a member with its offset, size
and declaration, or the value of a constant.
SPDX-License-Identifier: BSD-3-Clause
"""
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
INCLUDE = os.path.join(HERE, "..", "..", "include")
NO_COMMENT = re.compile(r"/\*.*?\*/", re.S)
STRUCT = re.compile(r"typedef struct(?: \w+)? \{(.*?)\n?\} (\w+);", re.S)
ENUM = re.compile(r"enum(?: \w+)? \{(.*?)\}", re.S)
MACRO = re.compile(r"^#define (WEFT_\w+) +(\w+)\s*$", re.M)
FUNCTION = re.compile(r"\(\*(\w+)\)")
POINTER = 8 # the snapshot is that of machines with 64 bits


def members(body):
    """(name, declaration) of each member, in order."""
    for declaration in body.split(";"):
        text = " ".join(declaration.split())
        function = FUNCTION.search(text)
        if function:
            yield function.group(1), text
        elif text:
            kind, names = re.match(r"((?:const )?(?:struct )?\w+) (.*)",
                                   text).groups()
            for name in names.split(","):
                yield re.search(r"\w+", name).group(), f"{kind} {name.strip()}"


def constants(header):
    names = [n for n, _ in MACRO.findall(header) if "MINOR" not in n]
    for body in ENUM.findall(header):
        names += [part.split("=")[0].strip() for part in body.split(",")]
    return [n for n in names if n and n != "WEFT_CAPS_KNOWN"]


def questions(header):
    """A C statement for each line of the layout."""
    for body, struct in STRUCT.findall(header):
        yield f'printf("struct {struct} %zu\\n", sizeof({struct}));'
        for name, text in members(body):
            yield (f'printf("{struct}.{name} %zu %zu {text}\\n", '
                   f'offsetof({struct}, {name}), '
                   f'sizeof((({struct} *)0)->{name}));')
    for name in constants(header):
        yield f'printf("{name} %#llx\\n", (unsigned long long){name});'


def measure(cc):
    """(major, minor, lines) of the header; None: another kind of machine."""
    header = ""
    for part in ("weft_transport.h", "weft_transport_rma.h"):
        with open(os.path.join(INCLUDE, part)) as f:
            header += NO_COMMENT.sub("", f.read())
    with tempfile.TemporaryDirectory() as where:
        source = os.path.join(where, "layout.c")
        with open(source, "w") as f:
            f.write('#include "weft_transport.h"\n#include <stdio.h>\n'
                    "int main(void)\n{\n"
                    'printf("%zu %d %d\\n", sizeof(void *), WEFT_ABI_MAJOR, '
                    'WEFT_ABI_MINOR);\n'
                    + "\n".join(questions(header)) + "\nreturn 0;\n}\n")
        program = os.path.join(where, "layout")
        subprocess.run([*cc.split(), "-I", INCLUDE, source, "-o", program],
                       check=True)
        lines = subprocess.run([program], check=True, text=True,
                               capture_output=True).stdout.splitlines()
    pointer, major, minor = map(int, lines[0].split())
    return (major, minor, lines[1:]) if pointer == POINTER else None


def read(path):
    with open(path) as f:
        lines = f.read().splitlines()
    return int(lines[0].split()[1]), lines[1:]


def is_fixed(line):
    """Whether a line may not change: all but the size of a struct."""
    return not line.startswith("struct ")


def compare(old, new, old_minor, minor, major):
    """What is wrong, and what is new."""
    wrong = []
    for line in old:
        if is_fixed(line) and line not in new:
            now = [n for n in new if n.split()[0] == line.split()[0]]
            wrong.append(f"{line}\n    is now: {now[0] if now else 'gone'}")
    sizes = {l.split()[1]: int(l.split()[2]) for l in old if not is_fixed(l)}
    fresh = [l for l in new if is_fixed(l) and l not in old]
    names = {l.split()[0] for l in old}
    for line in fresh:
        name, offset = line.split()[0], line.split()[1]
        struct = name.split(".")[0]
        if name not in names and struct in sizes and \
                int(offset) < sizes[struct]:
            wrong.append(f"{line}\n    is inside the old {struct}: append it")
    if fresh and not wrong and minor <= old_minor:
        wrong.append(f"{fresh[0]}\n    is new, and WEFT_ABI_MINOR is still "
                     f"{minor}: raise it")
    if wrong:
        wrong.append(f"To change this is an error within major {major}: it "
                     "breaks plugins that are built already.")
    return wrong, fresh


def main():
    measured = measure(sys.argv[1])
    if not measured:
        return 77
    major, minor, new = measured
    path = os.path.join(HERE, f"layout_{major}.txt")
    update = "--update" in sys.argv
    if update and not os.path.exists(path):
        old_minor, old = -1, []
    else:
        old_minor, old = read(path)
    wrong, fresh = compare(old, new, old_minor, minor, major)
    if fresh and not wrong and not update:
        wrong.append(f"{fresh[0]}\n    is not in {path}: run layout.py CC "
                     "--update")
    if update and not wrong:
        with open(path, "w") as f:
            f.write("\n".join([f"minor {minor}", *new]) + "\n")
    print("\n".join(wrong) or f"the layout is that of {path}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
