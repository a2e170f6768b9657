"""The documents are in order. What they point at is there: files and headings
that links name, files of the tree that the text names, functions of the core
and of plugins. They are short, and a terminal shows their lines. The one about
mpi.ini says what the tables of options say.

SPDX-License-Identifier: BSD-3-Clause
"""
import fnmatch
import os
import re
import subprocess
import sys
import unittest

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
FILE = re.compile(r"[a-z][\w/.*-]*\.(?:c|h|py|def|md|cmake|pml|txt)")
FUNCTION = re.compile(r"`(wf_[a-z0-9_]+[a-z0-9])(?:\(\))?`")
ELSEWHERE = ("stdatomic.h", "usrsctp.h")
# Written by programs: as long as they have to be.
GENERATED = ("docs/conformance.md", "docs/user/mpi-ini.md")
COLUMNS = 100  # of a line, but for rows of tables
LINES = 250    # of a document


def tree():
    """Every file of the sources, without what was built."""
    for folder, below, names in os.walk(SOURCE):
        below[:] = [d for d in below if not d.startswith(("build", ".git"))]
        for name in names:
            yield os.path.relpath(os.path.join(folder, name), SOURCE)


def text_of(path):
    with open(os.path.join(SOURCE, path)) as f:
        return f.read()


def anchors(text):
    """As GitHub makes them: lower case, no punctuation, spaces to dashes."""
    seen = {}
    for line in FENCE.sub("", text).splitlines():
        m = re.match(r"#+ +(.*?) *#*$", line)
        if not m:
            continue
        title = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", m[1]).lower()
        anchor = re.sub(r"[^\w\- ]", "", title).replace(" ", "-")
        n = seen[anchor] = seen.get(anchor, -1) + 1
        yield f"{anchor}-{n}" if n else anchor


class Documents(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.files = sorted(tree())
        cls.documents = [f for f in cls.files if f.endswith(".md")]

    def check_link(self, name, link):
        path, _, anchor = link.partition("#")
        target = os.path.normpath(
            os.path.join(os.path.dirname(name), path)) if path else name
        self.assertTrue(os.path.exists(os.path.join(SOURCE, target)),
                        f"{name}: no file for the link {link}")
        if anchor:
            self.assertTrue(anchor in anchors(text_of(target)),
                            f"{name}: no heading for the link {link}")

    def test_links_lead_to_files_and_headings(self):
        self.assertGreater(len(self.documents), 10)
        for name in self.documents:
            for link in LINK.findall(FENCE.sub("", text_of(name))):
                if ":" not in link:
                    with self.subTest(document=name, link=link):
                        self.check_link(name, link)

    def exists(self, word):
        """A path from the top or from any folder; what a build makes, the
        system's headers and placeholders are not ours to find."""
        if re.match("build/", word) or re.search("[A-Z]{2}", word) or \
                word in ELSEWHERE:
            return True
        return any(fnmatch.fnmatch(f, pattern) for f in self.files
                   for pattern in (word, "*/" + word))

    def test_files_that_the_text_names_exist(self):
        for name in self.documents:
            for word in CODE.findall(FENCE.sub("", text_of(name))):
                if FILE.fullmatch(word):
                    with self.subTest(document=name, file=word):
                        self.assertTrue(self.exists(word), "no such file")

    def test_functions_that_the_text_names_exist(self):
        words = set()
        for name in self.files:
            if name.endswith((".c", ".h", ".py")):
                words.update(re.findall(r"\w+", text_of(name)))
        for name in self.documents:
            for word in FUNCTION.findall(text_of(name)):
                with self.subTest(document=name, function=word):
                    self.assertTrue(word in words, "no such function")

    def formed(self):
        """Those that are for reading from the beginning to the end."""
        return [name for name in self.documents if name == "README.md" or
                name.startswith(("docs/", "bench/notebook/"))]

    def test_no_line_is_too_long(self):
        self.assertGreater(len(self.formed()), 40)
        for name in set(self.formed()) - {"docs/conformance.md"}:
            for number, line in enumerate(text_of(name).splitlines(), 1):
                if not line.startswith("|"):
                    with self.subTest(document=name, line=number):
                        self.assertLessEqual(len(line), COLUMNS)

    def test_no_document_is_too_long(self):
        for name in set(self.formed()) - set(GENERATED):
            with self.subTest(document=name):
                self.assertLessEqual(len(text_of(name).splitlines()), LINES)
        self.assertLessEqual(len(text_of("README.md").splitlines()), 120)

    def test_the_manual_of_mpi_ini_is_what_the_tables_make(self):
        done = subprocess.run(
            [sys.executable, "-B", os.path.join(SOURCE, "tools", "mpi_ini.py")],
            capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(
            done.stdout == text_of("docs/user/mpi-ini.md"),
            "run tools/mpi_ini.py docs/user/mpi-ini.md")


unittest.main(verbosity=2)
