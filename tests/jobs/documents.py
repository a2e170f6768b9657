"""What the documents point at is there: files and headings that links name,
files of the tree that the text names, functions of the core and of plugins.

SPDX-License-Identifier: BSD-3-Clause
"""
import fnmatch
import os
import re
import unittest

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
FILE = re.compile(r"[a-z][\w/.*-]*\.(?:c|h|py|def|md|cmake|pml|txt)")
FUNCTION = re.compile(r"`(wf_[a-z0-9_]+[a-z0-9])(?:\(\))?`")
ELSEWHERE = ("stdatomic.h", "usrsctp.h")


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


unittest.main(verbosity=2)
