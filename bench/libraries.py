"""The MPI libraries: how each compiles a program and starts it.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
OMPI = ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none",
        "--mca", "pml", "ob1", "--mca", "btl"]
# small messages over the first, large ones (there is one) over the second
TWO = """[core]
check = no
[transport shm]
[transport tcp]
[route large]
size = 1M-
use = {1}
[route small]
use = {0}
"""

# rank 1 is far from the others
FAR = """[core]
check = no
[transport shm]
[transport tcp]
[route from]
from = rank:1
use = tcp
[route to]
to = rank:1
use = tcp
[route near]
use = shm
"""

HELPED = "-helped" # a progress thread for messages of every size

# small messages over shm, and from 1 MB on over one of so many others: a pair of
# ranks has four lanes
IDLE = 3


def beside_idle(count):
    return ("[core]\ncheck = no\n[transport shm]\n"
            + "".join(f"[transport idle{i}]\nplugin = tcp\n"
                      for i in range(count))
            + "".join(f"[route large{i}]\nsize = {1 << i}M-\nuse = idle{i}\n"
                      for i in reversed(range(count))) # the first that fits
            + "[route small]\nuse = shm\n")


class Library:
    """How programs of one library are compiled and started."""

    def __init__(self, name, compiler, launcher, fabrics):
        self.name = name
        self.compiler = compiler
        self.launcher = launcher
        self.fabrics = fabrics    # name -> (words after -n N, environment)
        self.hello = HERE / "mpi_hello.c"

    def present(self):
        return bool(shutil.which(self.compiler) and
                    shutil.which(self.launcher))

    def job(self, words, ranks, fabric, out):
        """(command, environment), or None: not with this library"""
        if words[0] == "size":
            return self.size(words[1], out)
        if fabric not in self.fabrics:
            return None
        command, env = self.start(ranks, fabric)
        return ([*command, str(out / f"{self.name}_{words[0]}"), *words[1:]],
                env)

    def start(self, ranks, fabric):
        """(what stands before the program, environment)"""
        options, more = self.fabrics[fabric]
        return ([self.launcher, "-n", str(ranks), *options],
                {**os.environ, **more})

    def size(self, what, out):
        """A command that prints the bytes of a file, or of several."""
        program = out / f"{self.name}_small"
        compile_small(self.compiler, self.hello, program)
        files = {"program": [program],
                 "loaded": [program, *loaded(program)],
                 "static": self.static(out),
                 "archive": self.archive(out)}[what]
        if not files:
            return None
        kb = sum(Path(f).stat().st_size for f in files) / 1024
        return ["echo", "kb", "0", f"{kb:.0f}", f"{kb:.0f}"], dict(os.environ)

    def static(self, out):
        """Debian has no static MPICH, and Open MPI's loads its parts."""
        return []

    def archive(self, out):
        return []


class Raw(Library):
    """Programs without MPI; they make their own processes."""

    def __init__(self):
        super().__init__("raw", "cc", "true", {})
        self.hello = HERE / "raw_hello.c"

    def job(self, words, ranks, fabric, out):
        if words[0] == "size":
            return self.size(words[1], out)
        if words[0] == "wake" and fabric == "tcp":
            words = ["wake", "eventfd", *words[2:]]
        if words[:2] == ["socket", "best"]:
            return self.best_stream(str(out / "raw_socket"), words[2:])
        return ([str(out / f"raw_{words[0]}"), *words[1:]], dict(os.environ))

    def best_stream(self, program, sizes):
        """reno is the fastest over loopback, where the system allows it"""
        script = '"$0" reno "$@" 2>/dev/null || "$0" default "$@"'
        return ["/bin/sh", "-c", script, program, *sizes], dict(os.environ)

    def static(self, out):
        target = out / "raw_static"
        compile_small(self.compiler, self.hello, target, "-static")
        return [target]


class Weft(Library):
    """The one under test."""

    def __init__(self, build, out, name="weft"):
        bin_dir = build / "bin"
        self.lib_dir = build / "lib"
        fabrics = {name: (["--route", name], {}) for name in
                   ("shm", "tcp", "udp-reliable", "sctp")}
        fabrics["any"] = ([], {})
        fabrics["jobs"] = fabrics["shm"] # two, whose processes share CPUs
        fabrics["thread"] = ([], {}) # ranks are threads: start, compile_one
        # as "any", for a process that starts a launcher itself
        fabrics["alone"] = ([], {"WEFT_SET":
                                 f"core.launcher={bin_dir / 'mpirun'}"})
        for fabric, (options, more) in list(fabrics.items()):
            fabrics[fabric + HELPED] = ([*options, "--set",
                                         "core.progress=thread"], more)
        for first, second in (("shm", "tcp"), ("tcp", "shm")):
            ini = out / f"{first}+{second}.ini"
            fabrics[ini.stem] = (["--ini", str(ini)], {})
        for file in ("far", *(f"shm+{n}" for n in range(IDLE + 1))):
            fabrics[file] = (["--ini", str(out / f"{file}.ini")], {})
        super().__init__(name, str(bin_dir / "mpicc"),
                         str(bin_dir / "mpirun"), fabrics)

    def start(self, ranks, fabric):
        command, env = super().start(ranks, fabric)
        if fabric.removesuffix(HELPED) == "thread":
            command += ["--ranks-per-process", str(ranks)]
        return command, env

    def write_configurations(self, out):
        for first, second in (("shm", "tcp"), ("tcp", "shm")):
            (out / f"{first}+{second}.ini").write_text(
                TWO.format(first, second), encoding="utf-8")
        (out / "far.ini").write_text(FAR, encoding="utf-8")
        for n in range(IDLE + 1):
            (out / f"shm+{n}.ini").write_text(beside_idle(n),
                                              encoding="utf-8")

    def static(self, out):
        target = out / f"{self.name}_static"
        compile_small(self.compiler, self.hello, target, "-static")
        return [target]

    def archive(self, out):
        target = out / f"{self.name}_stripped.a"
        subprocess.run(["objcopy", "-g", str(self.lib_dir / "libmpi.a"),
                        str(target)], check=True)
        return [target]


def compile_small(compiler, source, target, *options):
    subprocess.run([compiler, *options, "-Os", "-s", str(source), "-o",
                    str(target)], check=True)


def loaded(program):
    """The shared libraries of a program beside those of libc."""
    text = subprocess.run(["ldd", str(program)], capture_output=True,
                          text=True, check=False).stdout
    files = [line.split()[2] for line in text.splitlines() if "=> /" in line]
    return [os.path.realpath(f) for f in files
            if not os.path.basename(f).startswith(("libc.", "libm.",
                                                   "libpthread", "librt"))]


def known(args):
    """Every library's own way to say "this fabric only, any user, any CPU"."""
    out = args.out
    also = [Weft(folder, out, name) for name, folder in
            getattr(args, "also", {}).items()]
    tcp = {"MPIR_CVAR_NOLOCAL": "1", "UCX_TLS": "tcp,self",
           "FI_PROVIDER": "tcp"}
    helped = {"MPIR_CVAR_ASYNC_PROGRESS": "1"} # Open MPI has no such thread
    return [
        Raw(), Weft(args.build, out), *also,
        Library("mpich", "mpicc.mpich", "mpiexec.mpich",
                {"any": ([], {}), "alone": ([], {}), "shm": ([], {}),
                 "tcp": ([], tcp),
                 "shm" + HELPED: ([], helped),
                 "tcp" + HELPED: ([], {**tcp, **helped}), "shm+0": ([], {})}),
        Library("openmpi", "mpicc.openmpi", "mpirun.openmpi",
                {"any": (OMPI + ["vader,self,tcp"], {}),
                 "alone": (OMPI + ["vader,self,tcp"], {}),
                 "shm": (OMPI + ["vader,self"], {}),
                 "shm+tcp": (OMPI + ["vader,self,tcp"], {}),
                 "shm+0": (OMPI + ["vader,self"], {}),
                 "shm+1": (OMPI + ["vader,self,tcp"], {}),
                 "tcp": (OMPI + ["tcp,self"], {})}),
    ]


def present(args):
    """Name -> library, of those asked for."""
    every = {lib.name: lib for lib in known(args)}
    wanted = args.libs.split(",")
    unknown = set(wanted) - set(every)
    if unknown:
        sys.exit(f"bench: unknown library {', '.join(sorted(unknown))}; "
                 f"known: {', '.join(every)}")
    return {name: every[name] for name in wanted if every[name].present()}


def build(libs, out, programs):
    """One executable per program and library: OUT/mpich_pingpong, ..."""
    for lib in libs.values():
        kind = "raw" if lib.name == "raw" else "mpi"
        if isinstance(lib, Weft):
            lib.write_configurations(out)
        for name in sorted(programs):
            source = HERE / f"{kind}_{name}.c"
            if source.exists():
                compile_one(lib, source, out / f"{lib.name}_{name}")


def compile_one(lib, source, target):
    inputs = [source, *HERE.glob("*.h")]
    if isinstance(lib, Weft):
        inputs += [Path(lib.compiler), *lib.lib_dir.glob("libmpi*")]
    if (target.exists() and
            target.stat().st_mtime > max(f.stat().st_mtime for f in inputs)):
        return
    ranks = ["-fthread-ranks"] if isinstance(lib, Weft) else []
    words = [lib.compiler, *ranks, "-O2", str(source), "-o", str(target)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"bench: {' '.join(words)}\n{done.stderr}")
