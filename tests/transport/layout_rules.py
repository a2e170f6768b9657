"""layout.py lets members be appended, and nothing else.
SPDX-License-Identifier: BSD-3-Clause
"""
import unittest

import layout

OLD = ["struct s 16", "s.size 0 4 uint32_t size", "s.f 8 8 int (*f)(void)",
       "C 0x1"]


class Rules(unittest.TestCase):
    def wrong(self, new, minor=0):
        return "\n".join(layout.compare(OLD, new, 0, minor, 2)[0])

    def test_the_same_is_fine(self):
        self.assertEqual(self.wrong(OLD), "")

    def test_a_member_is_appended_with_a_new_minor(self):
        new = ["struct s 24", *OLD[1:], "s.g 16 8 int g"]
        self.assertEqual(self.wrong(new, 1), "")
        self.assertIn("raise it", self.wrong(new))

    def test_nothing_goes_moves_or_changes(self):
        for line in ("s.f 16 8 int (*f)(void)", "s.f 8 8 int (*f)(int)", ""):
            new = [l for l in (OLD[0], OLD[1], line, OLD[3]) if l]
            self.assertIn("is an error within major 2", self.wrong(new, 1))

    def test_a_constant_keeps_its_value(self):
        self.assertIn("is now: C 0x2", self.wrong([*OLD[:3], "C 0x2"], 1))

    def test_nothing_is_put_into_a_hole(self):
        self.assertIn("append it", self.wrong([*OLD, "s.h 4 4 int h"], 1))


if __name__ == "__main__":
    unittest.main()
