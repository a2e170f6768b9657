"""The list of components (SBOM) is what the build contains, and nothing else.

BUILD_OF_WEFT names the build directory. What it contains is read from its
libraries and programs, not from how it was configured.
SPDX-License-Identifier: BSD-3-Clause
"""
import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
import unittest

from products import BUILD, SOURCE, must, read_cache

LIST = "weft.cdx.json"


def holds(path, text):
    with open(os.path.join(BUILD, path), "rb") as f:
        return text in f.read()


def read(folder=BUILD):
    with open(os.path.join(folder, LIST), encoding="ascii") as f:
        return f.read()


class List(unittest.TestCase):
    def setUp(self):
        self.bom = json.loads(read())
        self.components = {c["name"]: c for c in self.bom["components"]}

    def test_it_has_what_the_build_contains_and_nothing_else(self):
        contained = set()
        for name, symbol in (("inih", b"wf_vendor_ini_parse_stream"),
                             ("libsodium", b"wf_vendor_crypto_auth_hmacsha256")):
            if holds("lib/libmpi.a", symbol):
                contained.add(name)
        plugins = os.path.join(BUILD, "lib", "weft")
        for path in [os.path.join(BUILD, "lib", "libmpi.a"),
                     *(os.path.join(plugins, name)
                       for name in os.listdir(plugins) if name.endswith(".so"))]:
            if holds(path, b"libusrsctp.so."):
                contained.add("usrsctp")
            if holds(path, b"libpmix.so."):
                contained.add("pmix")
        if "INTERP" not in must("readelf", "-lW", BUILD + "/bin/mpirun"):
            contained.add("glibc")
        self.assertEqual(set(self.components), contained)
        self.assertEqual(len(self.bom["components"]), len(contained))

    def test_it_is_a_list_of_cyclonedx(self):
        self.assertEqual([self.bom[key] for key in (
            "bomFormat", "specVersion", "version")], ["CycloneDX", "1.5", 1])
        self.assertNotIn("timestamp", read())
        weft = self.bom["metadata"]["component"]
        self.assertEqual((weft["name"], weft["version"]),
                         ("weft", read_cache("CMAKE_PROJECT_VERSION")))
        names = [weft["bom-ref"], *(c["bom-ref"] for c in
                                    self.bom["components"])]
        self.assertEqual(len(set(names)), len(names))
        self.assertEqual([d["ref"] for d in self.bom["dependencies"]], names)
        self.assertEqual(self.bom["dependencies"][0]["dependsOn"], names[1:])
        for c in self.bom["components"]:
            self.assertEqual(c["type"], "library")
            self.assertTrue(c["licenses"][0]["expression"], c)
            self.assertEqual(c["scope"], "optional" if c["name"] in
                             ("usrsctp", "pmix") else "required")

    def test_versions_and_hashes_are_those_of_the_archives(self):
        for name, variable in (("inih", "INIH_LIBRARY"),
                               ("libsodium", "SODIUM_ARCHIVE")):
            path = re.sub(r"\.so$", ".a", read_cache(variable))
            with open(path, "rb") as f:
                digest = hashlib.sha256(f.read()).hexdigest()
            self.assertEqual(self.components[name]["hashes"],
                             [{"alg": "SHA-256", "content": digest}])
            if shutil.which("pkg-config"):
                self.assertEqual(self.components[name]["version"], must(
                    "pkg-config", "--modversion", name).strip())

    def test_the_licence_file_names_what_is_inside(self):
        with open(os.path.join(SOURCE, "LICENSE")) as f:
            text = f.read()
        for name, c in self.components.items():
            if "hashes" in c:
                self.assertIn(f"\n{name} (", text)

    def test_another_build_lists_what_that_one_contains(self):
        keep = [f"-D{name}={read_cache(name)}" for name in
                ("CMAKE_C_COMPILER", "CMAKE_CXX_COMPILER")]
        texts = []
        for more in ([], [], ["-DWEFT_PLUGINS=shm;tcp", "-DWEFT_ARCHIVES=",
                              "-DWEFT_STATIC_LAUNCHER=OFF",
                              "-DWEFT_BOOTSTRAPS="]):
            with tempfile.TemporaryDirectory() as folder:
                must("cmake", "-S", SOURCE, "-B", folder, "-G",
                     read_cache("CMAKE_GENERATOR"), "-DWEFT_TESTS=OFF", *keep, *more)
                texts.append(read(folder))
                self.assertNotIn(folder, texts[-1])
        self.assertEqual(texts[0], texts[1])
        self.assertNotIn(SOURCE, texts[0])
        self.assertEqual([c["name"] for c in json.loads(texts[2])["components"]],
                         ["inih", "libsodium"])

    def test_what_has_no_version_is_listed_without(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, LIST)
            must(sys.executable, "-B", os.path.join(SOURCE, "cmake", "sbom.py"),
                 path, "1.2.3", "musl", "-", "-")
            only, = json.loads(read(folder))["components"]
        self.assertEqual(only["bom-ref"], "musl")
        self.assertFalse({"version", "hashes"} & set(only))


unittest.main(verbosity=2)
