"""The commands of README.md, docs/user/running.md and docs/user/appliances.md
do what these documents say.

A comment before a block says what it is:

  <!-- test -->         sh commands, run with sh -e in a copy of examples/
  <!-- test: plain -->  the same, not with sanitizers
  <!-- test: static --> the same, and programs are linked statically
  <!-- test: hydra -->  the same, where Hydra's mpiexec is installed
  <!-- file: NAME -->   a file that is there when the commands run
  <!-- output -->       what the commands before it print

The blocks of a document are run in their order, in a copy of examples/ of their
own, against an installation of $BUILD_OF_WEFT.
SPDX-License-Identifier: BSD-3-Clause
"""
import os
import re
import shutil
import socket
import subprocess
import tempfile
import unittest

BUILD = os.path.abspath(os.environ.get("BUILD_OF_WEFT", "build"))
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
BLOCK = re.compile(r"^<!-- (test|file|output)(?:: (\S+))? -->\n```\w*\n"
                   r"(.*?)^```$", re.M | re.S)


def text_of(*path):
    with open(os.path.join(SOURCE, *path)) as f:
        return f.read()


def without_times(text):
    """Costs are the plugins' business, and change with the interfaces."""
    return re.sub(r"t\((\d+)\)=[\d.]+us", r"t(\1)", text)


def free_port(count=2):
    """The first of so many ports in a row that nobody uses now."""
    for port in range(20000 + os.getpid() % 10000, 65000, count):
        try:
            for i in range(count):
                with socket.socket() as s:
                    s.bind(("127.0.0.1", port + i))
            return port
        except OSError:
            pass
    raise RuntimeError("no free port")


class Commands(unittest.TestCase):
    def run_block(self, commands, **env):
        done = subprocess.run(["sh", "-e", "-c", commands], cwd=self.cwd,
                              env=dict(self.env, **env), text=True,
                              stdin=subprocess.DEVNULL, timeout=300,
                              capture_output=True)
        self.assertEqual(done.returncode, 0,
                         commands + done.stdout + done.stderr)
        return done.stdout

    def wanted(self, kind):
        if kind == "hydra":
            return shutil.which("mpiexec.hydra") is not None
        return not (kind and self.sanitized)

    def start(self, temp):
        prefix = os.path.join(temp, "prefix")
        subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix],
                       check=True, stdout=subprocess.DEVNULL)
        self.cwd = os.path.join(temp, "examples")
        shutil.copytree(os.path.join(SOURCE, "examples"), self.cwd)
        self.env = {k: v for k, v in os.environ.items()
                    if not k.startswith(("WEFT_", "MPICH_", "OMPI_"))}
        self.env["PATH"] = prefix + "/bin:" + self.env["PATH"]
        self.env["HOME"] = temp  # whose mpi.ini is none of ours
        self.sanitized = "-fsanitize" in self.run_block("mpicc -show")

    def check_output(self, printed, expected):
        if "tcp            other node" in printed:
            return  # no interface but loopback here, as the document has
        self.assertEqual(without_times(printed), without_times(expected))

    def check_document(self, *path, least):
        blocks = BLOCK.findall(text_of(*path))
        self.assertGreaterEqual(len(blocks), least)
        printed = None
        with tempfile.TemporaryDirectory() as temp:
            self.start(temp)
            for kind, detail, text in blocks:
                if kind == "file":
                    with open(os.path.join(self.cwd, detail), "w") as f:
                        f.write(text.replace("7311", str(free_port())))
                elif kind == "output":
                    self.check_output(printed, text)
                elif self.wanted(detail):
                    printed = self.run_block(text)

    def test_those_of_the_readme_work(self):
        self.check_document("README.md", least=1)

    def test_those_about_running_work_and_print_what_is_shown(self):
        self.check_document("docs", "user", "running.md", least=8)

    def test_those_about_appliances_work(self):
        self.check_document("docs", "user", "appliances.md", least=3)

    def test_the_c_example_compiles(self):
        source = re.search(r"^```c\n(.*?)^```$",
                           text_of("docs", "user", "appliances.md"),
                           re.M | re.S)[1]
        source = re.sub(r"= fab_(\w+)", "= 0 /* \\1 */", source)
        with tempfile.TemporaryDirectory() as temp:
            path = os.path.join(temp, "myfab.c")
            with open(path, "w") as f:
                f.write(source)
            done = subprocess.run(
                ["cc", "-Wall", "-Werror", "-fsyntax-only", "-I",
                 os.path.join(SOURCE, "include"), path],
                capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)


unittest.main(verbosity=2)
