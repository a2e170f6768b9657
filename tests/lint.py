"""What CONTRIBUTING.md asks of the text of the sources, checked.

    tests/lint.py            all rules; prints what breaks one, status 1
    tests/lint.py --counts   the numbers alone

Rules that the tree does not keep everywhere yet have a limit in LIMITS: the
number of exceptions, which may only shrink.
SPDX-License-Identifier: BSD-3-Clause
"""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CODE = ("core", "plugins", "tools", "examples", "tests")
# files that a program writes, or that one call of the compiler makes
GENERATED = {"include/mpi.h", "tests/outside/pipes.c"}
COLUMNS, LINES, FUNCTION, ARGUMENTS = 80, 500, 60, 6

# Words that the glossary has replaced. Parts of identifiers count as words.
RETIRED = """shelf strand debt crowd patience heir hungry mourns tenant errand
leftover leftovers""".split()

LIMITS = {
    "columns": 803,
    "lines of a file": 10,
    "lines of a function": 1,
    "arguments": 21,
    "one-word functions": 136,
    "retired words": 12,
    "sentences of What and Who": 107,
    "persons": 12,
}

WORD = re.compile(r"[a-z]+")
COMMENT = re.compile(r"/\*.*?\*/", re.S)
SENTENCE = re.compile(r"(?:^|[.:] +)(What|Who|Whoever|Whose|Whom)\b(?![^.?]*\?)")
PERSON = re.compile(r"\b(he|him|his|himself)\b")
NAME = re.compile(r"([A-Za-z_]\w*)\s*\(")


class Function:
    """The definition of a function: where, its name, how long, what it takes."""

    def __init__(self, path, head, first, last):
        self.path, self.line, self.length = path, first, last - first + 1
        named = NAME.search(head)
        self.name = named.group(1) if named else ""
        self.static = head.startswith("static")
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


def sources():
    """The C files of the tree: path and text."""
    names = subprocess.run(["git", "-C", ROOT, "ls-files", *CODE, "include"],
                           capture_output=True, text=True).stdout.split("\n")
    if names == [""]: # no git: an unpacked archive
        names = [os.path.relpath(os.path.join(folder, f), ROOT)
                 for part in (*CODE, "include")
                 for folder, _, files in os.walk(os.path.join(ROOT, part))
                 for f in files]
    for name in sorted(names):
        if name.endswith((".c", ".h")) and name not in GENERATED:
            with open(os.path.join(ROOT, name), encoding="utf-8") as f:
                yield name, f.read()


def words(text):
    """The words of comments and identifiers in lower case."""
    return WORD.findall(re.sub(r"([a-z])([A-Z])", r"\1 \2", text).lower())


class Lint:
    """Finds what breaks a rule."""

    def __init__(self):
        self.found = {rule: [] for rule in LIMITS}
        self.statics = 0

    def note(self, rule, path, line, what):
        self.found[rule].append(f"{path}:{line}: {what}")

    def look_at_comments(self, path, text):
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

    def look_at_functions(self, path, lines):
        for f in functions(path, lines):
            if f.length > FUNCTION:
                self.note("lines of a function", path, f.line,
                          f"{f.name} has {f.length} lines")
            if f.arguments > ARGUMENTS and not f.name.startswith("wf_mpi_") \
                    and not path.startswith("tests/"):
                self.note("arguments", path, f.line,
                          f"{f.name} takes {f.arguments}")
            if path.startswith("tests/") or not f.static:
                continue
            self.statics += 1
            if "_" not in f.name.strip("_"):
                self.note("one-word functions", path, f.line, f.name)

    def look_at(self, path, text):
        lines = text.split("\n")
        for i, line in enumerate(lines, 1):
            if len(line.expandtabs()) > COLUMNS:
                self.note("columns", path, i, f"{len(line)} columns")
        if len(lines) - 1 > LINES:
            self.note("lines of a file", path, 1, f"{len(lines) - 1} lines")
        for word in sorted(set(words(text)) & set(RETIRED)):
            self.note("retired words", path, 1, word)
        self.look_at_functions(path, lines)
        self.look_at_comments(path, text)


def main():
    lint = Lint()
    for path, text in sources():
        lint.look_at(path, text)
    bad = False
    for rule, found in lint.found.items():
        over = len(found) > LIMITS[rule]
        bad = bad or over
        print(f"{rule}: {len(found)} (limit {LIMITS[rule]})"
              f"{': broken' if over else ''}")
        if over and "--counts" not in sys.argv:
            print("\n".join("    " + f for f in found))
    print(f"static functions: {lint.statics}")
    return 1 if bad and "--counts" not in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
