"""Calls and includes between folders of core go down the table in its README.

    tests/layers.py BUILD       checks; prints each reference that goes up
    tests/layers.py BUILD -v    the references that go down as well, counted

The table lists the folders from bottom to top. An object file may refer to
symbols of its own folder and of those below it; what goes up is a handler that
the upper folder has registered. Nor may a source file include a header of a
folder above, so that nothing knows what is inside of a structure above it; and
no header includes itself by way of others. No file of a folder whose result is
a status names an MPI error class. The record that all see, struct wf_instance,
stays small, and few files see those of the layers that it points to. What x.c
has for others is declared in x.h, nearly always.
SPDX-License-Identifier: BSD-3-Clause
"""
import collections
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)
ROW = re.compile(r"^\| `([a-z0-9]+)/` \| (status|class|both) \|", re.M)
INSTANCE = "core/process/instance.h"
MEMBERS_MOST = 17  # of struct wf_instance
SEERS_MOST = 39    # files that include it themselves; others declare it
OWN_LEAST = 0.95   # functions that are declared in the header of their file
# The records of the routes and of progress: fewer source files see each.
SEEN = {"core/route/links.h": 40, "core/progress/wait.h": 40}
CLASS = re.compile(r'\bMPI_(?:SUCCESS|ERR_[A-Z_]+)\b|"object/error\.h"')


def folders():
    """The folders of core, from bottom to top, and what each returns."""
    with open(os.path.join(ROOT, "core", "README.md"), encoding="utf-8") as f:
        return ROW.findall(f.read())


def classes_below(results):
    """Yields a sentence for each MPI error class in a folder of statuses."""
    for name in (name for name in results if results[name] == "status"):
        for folder, _, files in os.walk(os.path.join(ROOT, "core", name)):
            for path in (os.path.join(folder, file) for file in files):
                with open(path, encoding="utf-8") as f:
                    lines = f.read().splitlines()
                for number, line in enumerate(lines, 1):
                    for word in CLASS.findall(line):
                        yield (f"{os.path.relpath(path, ROOT)}:{number} names "
                               f"{word}, and core/{name} returns statuses")


def objects(build):
    """Yields object file and source of what CMake has compiled of core."""
    for target in ("core.dir", "archive_only.dir"):
        base = os.path.join(build, "CMakeFiles", target, "core")
        for folder, _, names in os.walk(base):
            for name in names:
                path = os.path.join(folder, name)
                source = "core/" + os.path.relpath(path, base)[:-len(".o")]
                if name.endswith(".c.o") and \
                        os.path.exists(os.path.join(ROOT, source)):
                    yield path, source


def symbols(build):
    """{source: {global symbol of its object file: nm's letter}}"""
    sources = dict(objects(build))
    out = subprocess.run(["nm", "-g", "-A", *sources], capture_output=True,
                         text=True, check=True).stdout
    found = {source: {} for source in sources.values()}
    for line in out.splitlines():
        path, _, words = line.rpartition(":")
        *_, letter, name = words.split()
        found[sources[path]][name] = letter
    return found


def includes():
    """{file of core: the headers of core that it includes}"""
    found = {}
    for folder, _, names in os.walk(os.path.join(ROOT, "core")):
        for name in names:
            if not name.endswith((".c", ".h")):
                continue
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8") as f:
                found[os.path.relpath(path, ROOT)] = [
                    "core/" + header for header in INCLUDE.findall(f.read())]
    return {path: [h for h in headers if h in found]
            for path, headers in found.items()}


def upward_includes(files, order):
    """Yields a sentence for each include of a header of a folder above."""
    def level(path):
        return order.get(path.split("/")[1], -1)

    for path, headers in sorted(files.items()):
        for header in headers:
            if path.count("/") > 1 and level(header) > level(path):
                yield f"{path} includes {header}"


def circles(files):
    """Yields a sentence for each header that includes itself by others."""
    done, under_way = set(), []

    def visit(path):
        if path in under_way:
            yield " includes ".join([*under_way[under_way.index(path):], path])
        elif path not in done:
            under_way.append(path)
            for header in files[path]:
                yield from visit(header)
            under_way.pop()
            done.add(path)

    for path in sorted(files):
        yield from visit(path)


def seen_from(path, files):
    """The headers that a file includes, by way of others as well."""
    found, left = set(), [path]
    while left:
        for header in files[left.pop()]:
            if header not in found:
                found.add(header)
                left.append(header)
    return found


def widely_seen(files):
    """Yields a sentence for each record that too many source files see."""
    sources = [path for path in files if path.endswith(".c")]
    count = collections.Counter(header for path in sources
                                for header in seen_from(path, files))
    for header, limit in SEEN.items():
        if not 0 < count[header] < limit:
            yield (f"{header} is seen by {count[header]} source files, and "
                   f"fewer than {limit} are allowed")


def large_record(files):
    """Yields a sentence if struct wf_instance has too many members, or too many
    files include it."""
    seers = sum(INSTANCE in headers for headers in files.values())
    if not 0 < seers <= SEERS_MOST:
        yield (f"{INSTANCE} is included by {seers} files, and {SEERS_MOST} are "
               "allowed: is a declaration of the struct enough?")
    with open(os.path.join(ROOT, INSTANCE), encoding="utf-8") as f:
        text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
    body = re.search(r"^struct wf_instance \{(.*?)^\};", text, re.M | re.S)[1]
    members = len(re.findall("[;,]", body))
    if members > MEMBERS_MOST:
        yield (f"{INSTANCE}: struct wf_instance has {members} members, and "
               f"{MEMBERS_MOST} are allowed: is it the state of one layer?")


def functions(letters):
    """The global functions of an object file that the sources declare: not
    those of MPI, nor the core's, of which prototypes are generated."""
    return {name for name, letter in letters.items() if letter == "T"
            and not re.match("(wf_)?(mpi_|vendor_)|P?MPI_", name)}


def declared_elsewhere(objects_have):
    """Yields a sentence if too many functions are not declared in the header
    that has the name of their source."""
    total, own = 0, 0
    for source, letters in objects_have.items():
        header = os.path.join(ROOT, source[:-len(".c")] + ".h")
        text = ""
        if os.path.exists(header):
            with open(header, encoding="utf-8") as f:
                text = f.read()
        names = functions(letters)
        total += len(names)
        own += sum(bool(re.search(rf"\b{name}\b", text)) for name in names)
    if own < OWN_LEAST * total:
        yield (f"only {own} of {total} functions are declared in the header of "
               f"their own file: {OWN_LEAST:.0%} should be")


def main(build, verbose):
    """Prints what goes up; the exit status."""
    results = dict(folders())
    order = {name: i for i, name in enumerate(results)}
    home, needs, bad = {}, [], list(classes_below(results))
    objects_have = symbols(build)
    for source, letters in objects_have.items():
        folder = source.split("/")[1]
        if folder not in order:
            bad.append(f"core/{folder}/ is not in the table of core/README.md")
            continue
        wanted = {name for name, letter in letters.items() if letter in "Uw"}
        home.update(dict.fromkeys(letters.keys() - wanted, source))
        needs.append((source, wanted))
    if len(needs) < 100:
        bad.append(f"only {len(needs)} object files of core in {build}")
    count = collections.Counter()
    for source, wanted in needs:
        for name in sorted(wanted & home.keys()):
            here, there = source.split("/")[1], home[name].split("/")[1]
            count[here, there] += here != there
            if order[there] > order[here]:
                bad.append(f"{source} needs {name} of {home[name]}")
    files = includes()
    bad += [*upward_includes(files, order), *circles(files),
            *widely_seen(files), *large_record(files),
            *declared_elsewhere(objects_have)]
    for line in sorted(set(bad)):
        print(line)
    if verbose:
        for (here, there), n in sorted(count.items()):
            print(f"{here} -> {there}: {n}")
    print(f"{len(needs)} object files, {sum(count.values())} references between "
          f"folders, {sum(map(len, files.values()))} includes, "
          f"{len(set(bad))} not allowed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], "-v" in sys.argv[2:]))
