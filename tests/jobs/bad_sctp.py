"""A host on which the library for sctp cannot be used: whoever asked for sctp is
told which, why, and what to install; a route that goes on goes on.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import tempfile
import unittest
from unittest import mock

import launch

TALK = os.path.join(os.environ.get("JOBS", "."), "job_bad_job")
BUILT = os.environ.get("FABRICS", "shm tcp udp-reliable sctp").split()


@unittest.skipUnless("sctp" in BUILT, "sctp is not built")
class Library(unittest.TestCase):
    def job(self, route):
        with tempfile.TemporaryDirectory(prefix="sctp") as folder:
            library = os.path.join(folder, "libusrsctp.so.2")
            with open(library, "w", encoding="utf-8") as f:
                f.write("no library\n")
            with mock.patch.dict(os.environ, LD_LIBRARY_PATH=folder):
                return library, launch.run(
                    "-n", 2, "--route", route,
                    "--set", "transport.sctp.stack=usrsctp", TALK)

    def test_alone_it_is_an_error_that_says_what_to_install(self):
        library, r = self.job("sctp")
        self.assertNotEqual(r.returncode, 0)
        self.assertIn("sctp: no SCTP here", r.stderr)
        self.assertIn(library, r.stderr)
        self.assertIn("apt-get install libusrsctp2", r.stderr)
        self.assertIn("no transport reaches rank", r.stderr)

    def test_the_next_of_the_route_is_taken(self):
        _, r = self.job("sctp tcp")
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
        self.assertIn("sctp: no SCTP here", r.stderr)


if __name__ == "__main__":
    unittest.main()
