"""The Debian packages: without an error of lintian, and what is installed from
them works and goes away again; and that a second build gives the same bytes.

  debian.py Packages | Twice
SPDX-License-Identifier: BSD-3-Clause
"""
import filecmp
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

SKIP = 77
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
PACKAGING = os.path.join(SOURCE, "packaging", "debian")


def skip(why):
    print("skipped:", why)
    sys.exit(SKIP)


def run(*command, **kw):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.STDOUT, timeout=2400, **kw)


def must(*command, **kw):
    done = run(*command, **kw)
    assert done.returncode == 0, f"{command}\n{done.stdout[-6000:]}"
    return done.stdout


def check_machine():
    for program in ("dpkg-buildpackage", "dh", "lintian"):
        if not shutil.which(program):
            skip(f"no {program} (Debian packages dpkg-dev, debhelper, lintian)")
    lacking = run("dpkg-checkbuilddeps", os.path.join(PACKAGING, "control"))
    if lacking.returncode:
        skip(lacking.stdout.strip())


def copy_sources(folder):
    tree = os.path.join(folder, "weft")
    shutil.copytree(SOURCE, tree, symlinks=True, ignore=lambda at, names: [
        name for name in names if name == ".git"
        or at == SOURCE and name.split("-")[0] == "build"])
    os.symlink("packaging/debian", os.path.join(tree, "debian"))


def build(folder, **env):
    """The packages, made from a copy of the sources there."""
    copy_sources(folder)
    tree = os.path.join(folder, "weft")
    must("dpkg-buildpackage", "-us", "-uc", "-b", cwd=tree,
         env=dict(os.environ, DEB_BUILD_OPTIONS=f"parallel={os.cpu_count()}",
                  **env))
    shutil.rmtree(tree)
    return sorted(glob.glob(os.path.join(folder, "*.deb")))


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temp = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temp.cleanup)
        cls.dir = temp.name
        cls.debs = build(os.path.join(cls.dir, "first"), TZ="UTC",
                         LC_ALL="C.UTF-8")

    def deb(self, package):
        found, = [path for path in self.debs
                  if os.path.basename(path).startswith(package + "_")]
        return found

    def test_lintian_finds_no_error(self):
        changes, = glob.glob(os.path.join(self.dir, "first", "*.changes"))
        done = run("lintian", "--allow-root", "--fail-on", "error", changes)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_the_package_names_what_it_contains(self):
        for name in ("libweft1", "libweft-dev", "weft-bin"):
            said = must("dpkg-deb", "-f", self.deb(name), "Static-Built-Using")
            self.assertRegex(said, r"inih \(= .*libsodium \(= ")

    def test_the_list_of_components_is_installed(self):
        root = os.path.join(self.dir, "listed")
        must("dpkg-deb", "-x", self.deb("weft-bin"), root)
        with open(root + "/usr/share/doc/weft-bin/weft.cdx.json") as f:
            components = json.load(f)["components"]
        self.assertEqual([c["name"] for c in components],
                         ["inih", "libsodium", "usrsctp", "pmix"])
        said = must("dpkg-deb", "-f", self.deb("weft-bin"),
                    "Static-Built-Using")
        for c in components[:2]:
            self.assertIn(f"{c['name']} (= {c['version']}", said)

    def test_unpacked_anywhere_it_compiles_and_runs(self):
        root = os.path.join(self.dir, "unpacked")
        for deb in self.debs:
            must("dpkg-deb", "-x", deb, root)
        must(os.path.join(PACKAGING, "tests", "installed"),
             env=dict(os.environ, ROOT=root))

    @unittest.skipIf(os.geteuid(), "only root can install")
    def test_installed_it_has_the_usual_names_until_it_is_removed(self):
        root = os.path.join(self.dir, "root")
        os.makedirs(os.path.join(root, "var/lib/dpkg/info"))
        os.makedirs(os.path.join(root, "var/lib/dpkg/updates"))
        os.makedirs(os.path.join(root, "etc"))
        for name in ("status", "available"):
            open(os.path.join(root, "var/lib/dpkg", name), "w").close()
        dpkg = ("dpkg", "--root=" + root, "--force-depends",
                "--force-script-chrootless")
        names = [os.path.basename(deb).split("_")[0] for deb in self.debs]
        wanted = [deb for deb, name in zip(self.debs, names)
                  if not name.endswith("-dbgsym")]
        must(*dpkg, "-i", *wanted)
        multiarch = must("gcc", "-print-multiarch").strip()
        for link, file in (
                ("/usr/bin/mpirun", "/usr/bin/mpirun.weft"),
                ("/usr/bin/mpiexec", "/usr/bin/mpiexec.weft"),
                ("/usr/bin/mpicc", "/usr/bin/mpicc.weft"),
                ("/usr/bin/mpicxx", "/usr/bin/mpicxx.weft"),
                ("/usr/share/man/man1/mpirun.1.gz",
                 "/usr/share/man/man1/mpirun.weft.1.gz"),
                (f"/usr/lib/{multiarch}/libmpi_abi.so.1",
                 f"/usr/lib/{multiarch}/weft/lib/libmpi_abi.so.1"),
                (f"/usr/lib/{multiarch}/pkgconfig/mpi-c.pc",
                 f"/usr/lib/{multiarch}/pkgconfig/weft-c.pc"),
                (f"/usr/include/{multiarch}/mpi",
                 f"/usr/include/{multiarch}/weft")):
            self.assertEqual(os.readlink(root + os.readlink(root + link)),
                             file)
            self.assertTrue(os.path.exists(root + file), file)
        must(os.path.join(PACKAGING, "tests", "installed"),
             env=dict(os.environ, ROOT=root))
        must(*dpkg, "--purge", *(name for name in names
                                 if not name.endswith("-dbgsym")))
        left = [os.path.join(at, name) for at, _, files in os.walk(root)
                for name in files
                if "/var/" not in at and name != "README"]
        self.assertEqual(left, [])


class Twice(unittest.TestCase):
    def test_a_second_build_elsewhere_gives_the_same_packages(self):
        with tempfile.TemporaryDirectory() as at:
            once = build(at + "/first", TZ="UTC", LC_ALL="C.UTF-8")
            again = build(at + "/the-second-time", TZ="Asia/Tokyo", LC_ALL="C")
            self.assertEqual(len(again), len(once))
            for one, other in zip(once, again):
                self.assertTrue(filecmp.cmp(one, other, shallow=False), one)


check_machine()
unittest.main(defaultTest=sys.argv[1], argv=sys.argv[:1], verbosity=2)
