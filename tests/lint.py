"""Checks what CONTRIBUTING.md asks of the text of the sources.

    tests/lint.py            all rules; prints what breaks one, status 1
    tests/lint.py --counts   the numbers alone

A rule holds everywhere, except where LIMITS gives folders a number of
exceptions, which may only shrink.
SPDX-License-Identifier: BSD-3-Clause
"""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CODE = ("core", "plugins", "tools", "examples", "tests", "bench")
# files that a program writes, or that one call of the compiler makes
GENERATED = {"include/mpi.h", "tests/outside/pipes.c"}
COLUMNS, LINES, FUNCTION, ARGUMENTS = 80, 500, 60, 6
PROSE = 100  # columns of Python and of Markdown outside docs/

# Words that the glossary has replaced. Parts of identifiers count as words.
RETIRED = """shelf strand debt crowd patience heir hungry mourns tenant errand
leftover leftovers""".split()
# Statics that have the name of the system call that the C library lacks.
SYSTEM_CALLS = {"membarrier"}

RULES = """columns|columns of Python and prose|tabs|first comment
lines of a file|lines of a function|arguments|one-word functions
prefix of a static|prefix of a function|retired words
sentences of What and Who|persons|macros that jump|atomics|memory orders|getenv|mutable globals
unfinished""".replace("\n", "|").split("|")

# rule: {beginning of the path: exceptions that are left there}
LIMITS = {
    "columns": {"include/": 5},
    "columns of Python and prose": {"core/": 1},
    "arguments": {"core/": 20, "plugins/": 2, "tools/": 3},
    "prefix of a static": {"core/": 1},
    "macros that jump": {"core/": 1},
    "atomics": {"core/": 9},
    "mutable globals": {"core/": 14, "plugins/": 1},
}

WORD = re.compile(r"[a-z]+")
COMMENT = re.compile(r"/\*.*?\*/", re.S)
SENTENCE = re.compile(r"(?:^|[.:] +)(What|Who|Whoever|Whose|Whom)\b(?![^.?]*\?)")
PERSON = re.compile(r"\b(he|him|his|himself)\b")
NAME = re.compile(r"([A-Za-z_]\w*)\s*\(")
# what stands before the name of a function, or instead of a type
BEFORE = re.compile(r"__attribute__\s*\(\(.*?\)\)\s*(?=\w|\*)|\bElfW\(\w+\)")
MACRO = re.compile(r"^[ \t]*#[ \t]*define\b(?:[^\n]*\\\n)*[^\n]*", re.M)
# rule: what breaks it, the files that it is about, those that may do it
PATTERNS = {
    "tabs": (r"\t", r"", r"$^"),
    "atomics": (r"<stdatomic\.h>|\b__atomic_\w+\(|\batomic_(?:load|store|"
                r"exchange|fetch_|compare_)\w*\(",
                r"core/", r"core/os/atomic\.h"),
    "memory orders": (r"\batomic_(?:load|store|exchange|fetch_(?:add|sub|or|"
                      r"and|xor)|compare_exchange_(?:weak|strong))\(",
                      r"core/|plugins/", r"$^"),
    "getenv": (r"\bgetenv\(\"WEFT_", r"core/|plugins/", r"core/os/trust\.c"),
    # a definition in column 0 that is neither constant nor a function
    "mutable globals": (
        r"(?m)^(?!typedef|__extension__|extern|union|enum|return)"
        r"(?:static |_Thread_local )*(?:(?!const\b)[A-Za-z_]\w*[ *]+)+\**\w+"
        r"(?:\[[^\]]*\])*(?: [A-Z_]+)?(?: = [^;{]*)?(?:;| = \{)$",
        r"(?:core|plugins)/.*\.c$", r"$^"),
    "unfinished": (r"\b(?:TO" r"DO|FIX" r"ME|X" r"XX)\b", r"", r"$^"),
}


class Function:
    """The definition of a function: where, its name, how long, what it takes."""

    def __init__(self, path, head, first, last):
        self.path, self.line, self.length = path, first, last - first + 1
        named = NAME.search(BEFORE.sub("", head))
        head = BEFORE.sub("", head)
        self.name = named.group(1) if named else ""
        self.static = bool(re.search(r"\bstatic\b", head))
        self.arguments = self.count(head[named.end() - 1:]) if named else 0

    @staticmethod
    def count(text):
        """The arguments of a parameter list that begins at text[0]."""
        depth = commas = 0
        for at, c in enumerate(text):
            depth += (c in "([{") - (c in ")]}")
            commas += c == "," and depth == 1
            if depth == 0:
                inside = text[1:at].strip()
                return 0 if inside in ("", "void") else commas + 1
        return 0


def functions(path, lines):
    """Yields the definitions of a file in the house style: braces in column 0."""
    at = 0
    while at < len(lines):
        if lines[at] != "{" or at == 0 or not lines[at - 1].endswith(("D", ")")):
            at += 1
            continue
        end = next((i for i in range(at, len(lines)) if lines[i] == "}"), at)
        first = at - 1
        while first > 0 and not re.match(r"$|[}#]|.*(;|\*/)$", lines[first - 1]):
            first -= 1
        yield Function(path, " ".join(lines[first:at]), first + 1, end + 1)
        at = end + 1


def names_of(*parts):
    """The files below these parts of the tree."""
    names = subprocess.run(["git", "-C", ROOT, "ls-files", *parts],
                           capture_output=True, text=True).stdout.split("\n")
    if names == [""]: # no git: an unpacked archive
        names = [os.path.relpath(os.path.join(folder, f), ROOT)
                 for part in parts
                 for folder, _, files in os.walk(os.path.join(ROOT, part))
                 for f in files]
        names += [p for p in parts if os.path.isfile(os.path.join(ROOT, p))]
    return sorted(n for n in names if os.path.isfile(os.path.join(ROOT, n)))


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as f:
        return f.read()


def sources():
    """The C files of the tree: path and text."""
    for name in names_of(*CODE, "include"):
        if name.endswith((".c", ".h")) and name not in GENERATED:
            yield name, read(name)


def drivers():
    """The C++ files of the tests: path and text."""
    for name in names_of("tests"):
        if name.endswith((".cpp", ".cc")):
            yield name, read(name)


def texts():
    """Python files, and Markdown but for docs/, whose owners are others."""
    for name in names_of(*CODE, "cmake", "CONTRIBUTING.md"):
        if name.endswith((".py", ".md")) and not \
                (name.endswith(".md") and name.startswith(("core", "plugins"))):
            yield name, read(name)


def words(text):
    """The words of comments and identifiers in lower case."""
    return WORD.findall(re.sub(r"([a-z])([A-Z])", r"\1 \2", text).lower())


class Lint:
    """Finds what breaks a rule."""

    def __init__(self):
        self.found = {rule: [] for rule in RULES}
        self.statics = 0

    def note(self, rule, path, line, what):
        self.found[rule].append((path, f"{path}:{line}: {what}"))

    def look_at_comments(self, path, text):
        first = COMMENT.match(text)
        if not first or "SPDX-License-Identifier: BSD-3-Clause" not in \
                first.group():
            self.note("first comment", path, 1, "says what the file is, and "
                      "SPDX-License-Identifier: BSD-3-Clause")
        for m in COMMENT.finditer(text):
            line = text.count("\n", 0, m.start()) + 1
            plain = " ".join(re.sub(r"^\s*/?\*+/?", "", s).strip()
                             for s in m.group()[2:-2].split("\n")).strip()
            for s in SENTENCE.finditer(plain):
                self.note("sentences of What and Who", path, line,
                          plain[s.start():s.start() + 60])
            for s in PERSON.finditer(plain):
                self.note("persons", path, line,
                          plain[max(0, s.start() - 30):s.end() + 20])

    def look_at_names(self, path, f):
        """Statics have a verb and a noun; names between files a prefix."""
        if not f.static:
            # what the standard, the C library or a plugin's contract names
            if path.startswith(("core/", "plugins/", "tools/mpirun/")) and \
                    "bench/" not in path and not \
                    re.match(r"wf_|WF_|weft_|MPIX?_|PMPIX?_|main$|$", f.name):
                self.note("prefix of a function", path, f.line, f.name)
            return
        self.statics += 1
        if not re.search(r"_|\d", f.name.strip("_")) and \
                f.name not in SYSTEM_CALLS:
            self.note("one-word functions", path, f.line, f.name)
        if path.endswith(".c") and f.name.startswith("wf_") and \
                not path.startswith("tests/"):
            self.note("prefix of a static", path, f.line, f.name)

    def look_at_functions(self, path, lines):
        for f in functions(path, lines):
            if f.length > FUNCTION:
                self.note("lines of a function", path, f.line,
                          f"{f.name} has {f.length} lines")
            if f.arguments > ARGUMENTS and not f.name.startswith("wf_mpi_") \
                    and not path.startswith("tests/"):
                self.note("arguments", path, f.line,
                          f"{f.name} takes {f.arguments}")
            self.look_at_names(path, f)

    def look_at_patterns(self, path, text):
        for m in MACRO.finditer(text):
            # a macro that defines a function may return from that one
            if re.search(r"\bgoto\b|\breturn\b", m.group()) and not \
                    re.search(r"\)\s*\\\n\s*\{|\bstatic\b", m.group()):
                self.note("macros that jump", path,
                          text.count("\n", 0, m.start()) + 1,
                          m.group().split("\n")[0])
        for rule, (pattern, where, but) in PATTERNS.items():
            if not re.match(where, path) or re.match(but, path):
                continue
            for m in re.finditer(pattern, text):
                self.note(rule, path, text.count("\n", 0, m.start()) + 1,
                          repr(m.group()))

    def look_at_columns(self, path, lines):
        """A structure that a model takes, and its fields, is one line."""
        for i, line in enumerate(lines, 1):
            if len(line.expandtabs()) > COLUMNS and not \
                    re.match(r"//@.*{", line):
                self.note("columns", path, i, f"{len(line)} columns")

    def look_at_driver(self, path, text):
        """Of C++ only what does not depend on the style of the C files."""
        self.look_at_columns(path, text.split("\n"))
        self.look_at_comments(path, text)
        for word in sorted(set(words(text)) & set(RETIRED)):
            self.note("retired words", path, 1, word)

    def look_at(self, path, text):
        lines = text.split("\n")
        self.look_at_columns(path, lines)
        if len(lines) - 1 > LINES:
            self.note("lines of a file", path, 1, f"{len(lines) - 1} lines")
        for word in sorted(set(words(text)) & set(RETIRED)):
            self.note("retired words", path, 1, word)
        self.look_at_functions(path, lines)
        self.look_at_comments(path, text)
        self.look_at_patterns(path, text)

    def look_at_text(self, path, text):
        """Tables, commands and addresses of Markdown may be longer."""
        for i, line in enumerate(text.split("\n"), 1):
            if len(line) > PROSE and not (path.endswith(".md") and
                                          re.match(r"\||    |.*\]\(", line)):
                self.note("columns of Python and prose", path, i,
                          f"{len(line)} columns")


def over_limits(rule, found):
    """What is found where there is no limit, or more than it allows."""
    over, limits = [], LIMITS.get(rule, {})
    for prefix in limits:
        there = [text for path, text in found if path.startswith(prefix)]
        if len(there) > limits[prefix]:
            over += there
    return over + [text for path, text in found
                   if not path.startswith(tuple(limits))]


def main():
    lint = Lint()
    for path, text in sources():
        lint.look_at(path, text)
    for path, text in drivers():
        lint.look_at_driver(path, text)
    for path, text in texts():
        lint.look_at_text(path, text)
    bad = False
    for rule, found in lint.found.items():
        over = over_limits(rule, found)
        bad = bad or bool(over)
        allowed = sum(LIMITS.get(rule, {}).values())
        print(f"{rule}: {len(found)} (limit {allowed})"
              f"{': broken' if over else ''}")
        if over and "--counts" not in sys.argv:
            print("\n".join("    " + text for text in over))
    print(f"static functions: {lint.statics}")
    return 1 if bad and "--counts" not in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
