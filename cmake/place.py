"""Writes into installed files where their installation is.

    place.py LIBRARY_DIRECTORY MPI_INI FILE...

core/os/place.c has the room. The files of the build tree stay without, so that
its programs read nothing of the prefix.
SPDX-License-Identifier: BSD-3-Clause
"""
import os
import shutil
import sys

BEGINNING = b"\1\2weft-place\3\4"
ROOM = 1024


def write_place(places, path):
    """Puts a changed copy in the place of the file, which may be a link into
    the build tree."""
    with open(path, "rb") as f:
        data = f.read()
    at = data.find(BEGINNING)
    if at < 0 or data.find(BEGINNING, at + 1) >= 0:
        sys.exit(f"place.py: {path} does not have one place for the paths of "
                 "its installation; core/os/place.c must be compiled without "
                 "link-time optimisation")
    text = BEGINNING + b"".join(os.fsencode(place) + b"\0" for place in places)
    if len(text) > ROOM:
        sys.exit(f"place.py: {' and '.join(places)} are longer than the "
                 f"{ROOM - len(BEGINNING) - 2} bytes of a program's room for "
                 "them; use a shorter prefix")
    new = path + ".new"
    with open(new, "wb") as f:
        f.write(data[:at] + text.ljust(ROOM, b"\0") + data[at + ROOM:])
    shutil.copymode(path, new)
    os.replace(new, path)


for name in sys.argv[3:]:
    write_place(sys.argv[1:3], name)
