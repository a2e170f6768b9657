#!/usr/bin/env python3
"""cmake/vendor.sh takes what Weft needs of libsodium by symbol: however the
archive's members are named and cut, and whatever else a member needs, the
objects define the same functions, refer to libc alone, and keep the rest
private.

  vendor.py VENDOR_SH LD NM OBJCOPY AR INIH SODIUM
SPDX-License-Identifier: BSD-3-Clause
"""
import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT, LD, NM, OBJCOPY, AR, INIH, SODIUM = sys.argv[1:8]
OBJECTS = ("vendor.o", "vendor_cipher.o")


def sh(*command, **kw):
    done = subprocess.run(command, capture_output=True, text=True, timeout=200,
                          **kw)
    if done.returncode:
        raise AssertionError(f"{command}: {done.stdout}{done.stderr}")
    return done.stdout


def symbols(path, *flags):
    return {line.split()[-1] for line in sh(NM, "-g", *flags, path).splitlines()
            if line and line[-1] != ":"}


def vendor(sodium, out):
    """(defined, undefined) of each object, which is made in the folder."""
    sh("sh", SCRIPT, out, LD, NM, OBJCOPY, AR, INIH, sodium)
    return [(symbols(os.path.join(out, o), "--defined-only"),
             symbols(os.path.join(out, o), "-u")) for o in OBJECTS]


class Vendor(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as out:
            cls.plain = vendor(SODIUM, out)

    def setUp(self):
        temp = tempfile.TemporaryDirectory()
        self.addCleanup(temp.cleanup)
        self.dir = temp.name

    def vendor(self, rearrange):
        """The same of an archive with other members."""
        return vendor(self.archive(rearrange), os.path.join(self.dir, "out"))

    def archive(self, rearrange):
        """libsodium with other members."""
        folder = os.path.join(self.dir, "members")
        os.mkdir(folder)
        sh(AR, "x", SODIUM, cwd=folder)
        rearrange(folder)
        path = os.path.join(self.dir, "other.a")
        sh(AR, "rcs", path, *[os.path.join(folder, m)
                              for m in sorted(os.listdir(folder))])
        return path

    def test_the_objects_define_what_is_declared(self):
        for defined, undefined in self.plain:
            self.assertTrue(defined)
            for name in defined:
                self.assertTrue(name.startswith("wf_vendor_"), name)
            for name in undefined:
                self.assertFalse(name.startswith(("crypto_", "sodium_",
                                                  "_crypto", "_sodium")), name)

    def test_names_of_members_do_not_matter(self):
        def rename(folder):
            for i, name in enumerate(sorted(os.listdir(folder))):
                os.rename(os.path.join(folder, name),
                          os.path.join(folder, f"part-{i}.o"))
        self.assertEqual(self.vendor(rename), self.plain)

    def test_what_a_member_needs_is_taken_too(self):
        """All of libsodium in one member, which defines what Weft defines."""
        def join(folder):
            members = [os.path.join(folder, m) for m in os.listdir(folder)]
            sh(LD, "-r", "-o", os.path.join(self.dir, "all.o"), *members)
            for member in members:
                os.remove(member)
            os.rename(os.path.join(self.dir, "all.o"),
                      os.path.join(folder, "all.o"))
        plain, cipher = [d for d, _ in self.vendor(join)]
        # and its own look at the processor, which has to be asked for
        cipher.remove("wf_vendor__sodium_runtime_get_cpu_features")
        self.assertEqual([plain, cipher], [d for d, _ in self.plain])

    def test_what_is_missing_is_named(self):
        def drop(folder):
            for line in sh(NM, "-A", "-g", "--defined-only",
                           SODIUM).splitlines():
                if line.endswith(" crypto_verify_32"):
                    os.remove(os.path.join(folder, line.split(":")[-2]))
        with self.assertRaisesRegex(AssertionError, "has crypto_verify_32"):
            self.vendor(drop)


unittest.main(argv=sys.argv[:1], verbosity=2)
