"""build.sh asks for, configures and builds what a command is for, and no more.

It runs beside programs that are not there to build: each notes how it was
called.
SPDX-License-Identifier: BSD-3-Clause
"""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
# A compiler that finds the libraries named in $LIBRARIES, and few headers.
COMPILER = """#!/bin/sh
for arg; do
    case $arg in
    -print-file-name=*)
        name=${arg#*=}
        case " $LIBRARIES " in
        *" $name "*) echo "/lib/$name" ;;
        *) echo "$name" ;;
        esac
        exit 0 ;;
    -E) case $(cat)/$LIBRARIES in
        *'include <stdio.h>'* | *cmocka.h*/*cmocka*) exit 0 ;;
        *) exit 1 ;;
        esac ;;
    esac
done
"""
CMAKE = """#!/bin/sh
echo "cmake $*" >> "$CALLS"
case $1 in
-S) mkdir -p "$4" ;;
--build)
    for program in bin/mpirun examples/heat; do
        mkdir -p "$2/${program%/*}"
        cp "$(command -v ninja)" "$2/$program"
    done ;;
esac
"""
CTEST = """#!/bin/sh
echo "ctest $*" >> "$CALLS"
case " $* " in
*" ${FAILS:-none} "*) echo "1 test failed"; exit 8 ;;
esac
"""
GIT = """#!/bin/sh
[ "$1 $2" = "rev-list --count" ] && echo "${COMMITS:?}"
"""
# A hundred seconds pass with each look at it.
CLOCK = """#!/bin/sh
echo tick >> "$CALLS.clock"
echo "$(wc -l < "$CALLS.clock")00"
"""
IDLE = "#!/bin/sh\n"
TARGET = "aarch64-linux-gnu"
STUBS = {
    "gcc": COMPILER, TARGET + "-gcc": COMPILER, "cmake": CMAKE, "ctest": CTEST,
    "git": GIT,
    "id": "#!/bin/sh\necho 1000\n",  # installs nothing
    **dict.fromkeys(("g++", TARGET + "-g++", "ar", "ninja", "python3",
                     "pkg-config", "qemu-aarch64"), IDLE)}


class BuildScript(unittest.TestCase):
    def setUp(self):
        temp = tempfile.TemporaryDirectory()
        self.addCleanup(temp.cleanup)
        self.dir = temp.name
        self.bin = os.path.join(self.dir, "tools")
        os.mkdir(self.bin)
        shutil.copy(os.path.join(SOURCE, "build.sh"), self.dir)
        for name, text in STUBS.items():
            path = os.path.join(self.bin, name)
            with open(path, "w") as f:
                f.write(text)
            os.chmod(path, 0o755)

    def build(self, *args, libraries="libinih.a libsodium.a"):
        calls = os.path.join(self.dir, "calls")
        open(calls, "w").close()
        env = dict(os.environ, CALLS=calls, LIBRARIES=libraries,
                   PATH=self.bin + ":" + os.environ["PATH"])
        done = subprocess.run(["./build.sh", *args], cwd=self.dir, env=env,
                              text=True, capture_output=True, timeout=60)
        with open(calls) as f:
            return done, f.read().splitlines()

    def test_a_build_has_no_tests_and_needs_no_cmocka(self):
        done, (configure, build) = self.build()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("-DWEFT_TESTS=OFF", configure)
        self.assertEqual(build, "cmake --build build --target weft")

    def test_the_demonstration_builds_what_it_runs(self):
        done, (configure, build) = self.build("run")
        self.assertIn("-DWEFT_TESTS=OFF", configure)
        self.assertEqual(build.split(" --target ")[1].split(),
                         ["mpi", "thread_ranks_object", "mpirun", "weft-info",
                          "example_heat"])

    def test_tests_need_cmocka(self):
        done, calls = self.build("test")
        self.assertEqual((done.returncode, calls), (2, []))
        self.assertIn("apt-get install libcmocka-dev", done.stderr)

    def test_tests_that_are_there_stay(self):
        os.mkdir(os.path.join(self.dir, "build"))
        with open(os.path.join(self.dir, "build", "CMakeCache.txt"), "w") as f:
            f.write("WEFT_TESTS:BOOL=ON\n")
        done, (configure, build) = self.build()
        self.assertIn("-DWEFT_TESTS=ON", configure)
        self.assertEqual(build, "cmake --build build --target weft")

    def test_a_cross_build_needs_no_cmocka(self):
        done, (configure, build) = self.build("--target=" + TARGET)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("-DWEFT_TESTS=OFF", configure)
        self.assertIn(f"-DCMAKE_C_COMPILER={TARGET}-gcc", configure)

    def test_a_cross_build_says_which_library_is_missing(self):
        done, calls = self.build("--target=" + TARGET, libraries="libinih.a")
        self.assertEqual((done.returncode, calls), (2, []))
        self.assertIn("apt-get install libsodium-dev", done.stderr)
        self.assertNotIn("libinih-dev", done.stderr)

    def run_matrix(self, *args):
        return self.build("test", "--matrix", *args,
                          libraries="libinih.a libsodium.a cmocka")

    def matrix(self):
        """Returns the folders whose tests run, in order, but for the packages,
        which are tested beside the small ones."""
        done, calls = self.run_matrix()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        tests = [c for c in calls if c.startswith("ctest ") and " -N " not in c]
        packages, = [t for t in tests if " -C packages " in t]
        self.assertEqual(packages.split()[2], "build")
        tests.remove(packages)
        return [t.split()[2] for t in tests]

    def test_the_matrix_fails_with_each_of_its_configurations(self):
        for name in ("build-address-undefined", "build-static", "packages"):
            with self.subTest(name=name):
                os.environ["FAILS"] = name
                self.addCleanup(os.environ.pop, "FAILS", None)
                done, _ = self.run_matrix()
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertIn("1 test failed", done.stdout)
                self.assertIn(name.removeprefix("build-").replace("-", ",")
                              + " failed", done.stderr)

    def test_the_matrix_leaves_out_what_would_end_too_late(self):
        date = os.path.join(self.bin, "date")
        with open(date, "w") as f:
            f.write(CLOCK)
        os.chmod(date, 0o755)
        done, calls = self.run_matrix("--within=400")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        tests = [c for c in calls if c.startswith("ctest ") and " -N " not in c]
        self.assertEqual([t.split()[2] for t in tests],
                         ["build-address-undefined", "build-thread"])
        self.assertEqual(
            sorted(re.findall("==== (.*): left out, ", done.stdout)),
            ["brief-global", "lock-free", "packages", "per-object", "static"])

    def test_the_matrix_runs_the_tests_of_each_configuration(self):
        self.assertEqual(
            self.matrix(),
            ["build-address-undefined", "build-thread",
             "build-thread-per-object", "build-thread-lock-free",
             "build-static", "build-thread-brief-global"])

    def test_the_small_configurations_begin_with_another_one(self):
        os.environ["COMMITS"] = "6"
        self.addCleanup(os.environ.pop, "COMMITS")
        self.assertEqual(
            self.matrix(),
            ["build-address-undefined", "build-thread",
             "build-static", "build-thread-brief-global",
             "build-thread-per-object", "build-thread-lock-free"])

    def test_a_prefix_is_known_when_the_layout_is_made(self):
        done, (configure, *_) = self.build("install", "--prefix", "/usr")
        self.assertIn("-DCMAKE_INSTALL_PREFIX=/usr ", configure)


unittest.main(verbosity=2)
