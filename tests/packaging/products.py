"""A build whose products are tested, BUILD_OF_WEFT, and installations of them that
are configured otherwise.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import re
import shutil
import subprocess

BUILD = os.path.abspath(os.environ["BUILD_OF_WEFT"])
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
BEGINNING = b"\1\2weft-place\3\4"


def must(*command, **kw):
    done = subprocess.run(command, capture_output=True, text=True,
                          timeout=600, **kw)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def read_cache(name):
    """A variable of the build's CMake; empty: there is none."""
    with open(os.path.join(BUILD, "CMakeCache.txt")) as f:
        found = re.search(rf"^{name}:\w+=(.*)$", f.read(), re.M)
    return found.group(1) if found else ""


def read_places(path):
    """The two paths that a file has of its installation."""
    with open(path, "rb") as f:
        data = f.read()
    assert data.count(BEGINNING) == 1, path
    at = data.index(BEGINNING) + len(BEGINNING)
    return [p.decode() for p in data[at:at + 1000].split(b"\0")[:2]]


def configure_again(build, prefix, **variables):
    """Configures another build as the tested one, but for these variables."""
    keep = [f"-D{name}={read_cache(name)}" for name in (
        "CMAKE_C_COMPILER", "CMAKE_CXX_COMPILER", "WEFT_PLUGINS",
        "WEFT_BUILTIN", "CMAKE_C_COMPILER_LAUNCHER",
        "CMAKE_CXX_COMPILER_LAUNCHER")]
    must("cmake", "-S", SOURCE, "-B", build, "-G",
         read_cache("CMAKE_GENERATOR"), "-DWEFT_TESTS=OFF",
         f"-DCMAKE_INSTALL_PREFIX={prefix}", *keep,
         *(f"-D{name}={value}" for name, value in variables.items()))


def install_products(build, stage):
    """Installs the products as those of such a build, with DESTDIR as packages
    are made: only mpirun, which is small, is compiled."""
    for name in ("lib", "man"):
        shutil.copytree(os.path.join(BUILD, name), os.path.join(build, name),
                        symlinks=True, dirs_exist_ok=True,
                        ignore=shutil.ignore_patterns("*.pc", "*.cmake"))
    shutil.copy(os.path.join(BUILD, "bin", "weft-info"),
                os.path.join(build, "bin"))
    must("cmake", "--build", build, "--target", "mpirun")
    must("cmake", "--install", build, env=dict(os.environ, DESTDIR=stage))
