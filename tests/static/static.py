"""Static programs, and the walls around plugins.

A fully static MPI program has no loader, no name service and no linker
warning, runs on every built-in transport, and is small. A plugin object needs
libc and nothing else; a plugin file exports its factory and nothing else.

BUILD_OF_WEFT names the build directory, PLUGIN_OBJECTS and PLUGIN_FILES what to
look at, NM the tool.
SPDX-License-Identifier: BSD-3-Clause
"""
import os
import re
import subprocess
import tempfile
import unittest

BUILD = os.path.abspath(os.environ.get("BUILD_OF_WEFT", "build"))
NM = os.environ.get("NM", "nm")
EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..",
                        "examples")
LIMIT = (1 << 20) + (96 << 10) # unwind tables of the library: about 60 KB
# of libmpi.a with the vendored ciphers, for all of MPI: an appliance's flash
TEXT_LIMIT = 1 << 20
UNWIND_LIMIT = 270 * 1000 # of the same, for all of MPI
HELLO = r"""
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int rank, size, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("hello from %d of %d, sum %d\n", rank, size, sum);
    return MPI_Finalize();
}
"""

PAIR = r"""
#include <mpi.h>
int main(int argc, char **argv)
{
    int rank, x = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        MPI_Send(&x, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    else
        MPI_Recv(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return MPI_Finalize();
}
"""
# Collectives, operations, constructors of datatypes, topologies, partitions.
OTHER_CHAPTERS = ("wf_build_", "wf_coll_run_blocking", "wf_coll_start_nonblocking",
                  "wf_coll_make_persistent", "wf_op_", "wf_mpi_type_", "wf_dims_",
                  "wf_mpi_cart", "wf_mpi_p")

# What transports may take from libc and the thread library. Signals, exit
# handlers, processes, environment and locale are absent on purpose.
ALLOWED = """
__errno_location __stack_chk_fail _GLOBAL_OFFSET_TABLE_
memcmp memcpy memmove memset memchr
strcmp strncmp strlen strnlen strcpy strchr strrchr strstr strerror strdup
strtol strtoul strtoull strspn strcspn strncpy strtok_r
calloc malloc realloc free aligned_alloc posix_memalign qsort bsearch
snprintf vsnprintf sscanf fopen fclose fgets fscanf getline
open openat close read write readv writev pread pwrite fcntl fcntl64 ioctl
fstat stat lstat ftruncate fallocate fallocate64 ftruncate64 unlink
poll ppoll epoll_create1 epoll_ctl epoll_wait eventfd eventfd_read
eventfd_write memfd_create mmap mmap64 munmap mprotect madvise
socket socketpair bind listen accept4 connect shutdown getsockopt setsockopt
getsockname getpeername send sendto sendmsg recv recvfrom recvmsg sendmmsg
recvmmsg getifaddrs freeifaddrs if_nametoindex if_indextoname inet_ntop
inet_pton getpid getppid getuid geteuid gethostname getrandom sysconf
getpagesize clock_gettime sched_getaffinity sched_yield __sched_cpucount
process_vm_readv process_vm_writev syscall prctl getrlimit rand_r
pthread_create pthread_join pthread_mutex_lock pthread_mutex_unlock
pthread_cond_wait pthread_cond_signal
""".split()
ASSERTS = ["abort", "fprintf", "getenv", "stderr"]
# A plugin whose library is not part of libc may look for it when it is opened,
# in one file; a static program has no such plugin.
SEEKS_LIBRARY = "library.c.o"
LOADER = "dlopen dlsym dlerror dlclose dl_iterate_phdr".split()
# Inserted by the compiler: fortified variants, sanitizers, stack protector.
INSERTED = re.compile(r"^(__\w+_chk|__\w+[sdt]i2|__asan\w*|__ubsan\w*|__tsan\w*|"
                      r"__sanitizer\w*|__isoc(99|23)_\w+|__gcov\w*|"
                      r"__stack_chk_\w+)$")
OWN = re.compile(r"^(wf_\w+|weft_plugin_\w+)$")


def sh(*command, **kw):
    return subprocess.run([str(c) for c in command], capture_output=True,
                          text=True, timeout=300, **kw)


def symbols(file, *options):
    out = sh(NM, *options, file).stdout.splitlines()
    return [line.split()[-1] for line in out if line and line[-1] != ":"]


def configured(line):
    with open(os.path.join(BUILD, "CMakeCache.txt")) as cache:
        return re.search(f"^{line}$", cache.read(), re.M)


def asserts():
    """Whether the build has assertions: weft_assert.h needs these."""
    return sanitized() or configured("CMAKE_BUILD_TYPE:STRING=Debug")


def sanitized():
    return configured("WEFT_SANITIZE:STRING=.+")


@unittest.skipIf(sanitized(), "sanitizers need a dynamic program")
class StaticProgram(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temp = tempfile.TemporaryDirectory()
        cls.program = os.path.join(cls.temp.name, "hello")
        source = cls.program + ".c"
        with open(source, "w") as f:
            f.write(HELLO)
        cls.link = cls.mpicc(source, cls.program)

    @classmethod
    def tearDownClass(cls):
        cls.temp.cleanup()

    @staticmethod
    def mpicc(source, out):
        return sh(os.path.join(BUILD, "bin", "mpicc"), "-O2", "-static",
                  source, "-o", out)

    def test_it_links_without_a_word(self):
        self.assertEqual(self.link.returncode, 0, self.link.stderr)
        self.assertEqual(self.link.stdout + self.link.stderr, "")

    def test_it_is_fully_static(self):
        headers = sh("readelf", "-lW", self.program).stdout
        self.assertIn("LOAD", headers)
        self.assertNotIn("INTERP", headers)

    def test_it_has_no_loader_and_no_name_service(self):
        names = set(symbols(self.program))
        self.assertGreater(len(names), 100)
        for name in ("getaddrinfo", "gethostbyname", "getpwnam",
                     "weft_dl_loader"):
            self.assertFalse(name in names, name)

    # libc.a holds a dlopen for its own use, so ask the archive, not the program
    def test_one_member_of_the_library_refers_to_dlopen(self):
        wants = {}
        archive = os.path.join(BUILD, "lib", "libmpi.a")
        for line in sh(NM, "-A", "-u", archive).stdout.splitlines():
            member, symbol = line.split(":")[1], line.split()[-1]
            wants.setdefault(symbol, set()).add(member)
        for name in ("dlopen", "dlsym", "dladdr"):
            self.assertEqual(wants[name], {"dl.c.o"}, name)
        for name in ("getaddrinfo", "gethostbyname", "getpwnam", "dlclose"):
            self.assertNotIn(name, wants)

    def test_it_runs_over_every_built_in_transport(self):
        env = {k: v for k, v in os.environ.items()
               if not k.startswith("WEFT_")}
        for route in ("shm", "tcp", "auto"):
            with self.subTest(route=route):
                job = sh(os.path.join(BUILD, "bin", "mpirun"), "-n", 3,
                         "--timeout", 120, "--route", route, self.program,
                         env=env)
                self.assertEqual(job.returncode, 0, job.stderr)
                self.assertEqual(sorted(job.stdout.splitlines()),
                                 [f"hello from {i} of 3, sum 3"
                                  for i in range(3)])

    def test_a_table_of_transports_needs_no_configuration(self):
        table, small = self.program + ".table.c", self.program + ".tcp"
        with open(table, "w") as f:
            f.write(sh(os.path.join(BUILD, "bin", "weft-info"), "--table",
                       "tcp").stdout)
        link = sh(os.path.join(BUILD, "bin", "mpicc"), "-static",
                  self.program + ".c", table, "-o", small)
        self.assertEqual(link.returncode, 0, link.stderr)
        env = {k: v for k, v in os.environ.items()
               if not k.startswith("WEFT_")}
        job = sh(os.path.join(BUILD, "bin", "mpirun"), "-n", 2, "--timeout",
                 120, small, env=env)
        self.assertEqual(job.returncode, 0, job.stderr)
        job = sh(os.path.join(BUILD, "bin", "mpirun"), "-n", 2, "--route",
                 "shm", "--timeout", 120, small, env=env)
        self.assertIn("plugin 'shm' of transport 'shm' is not built in",
                      job.stderr)

    def test_progress_threads_are_there_if_they_are_asked_for(self):
        pair = self.program + ".threads"
        with open(pair + ".c", "w") as f:
            f.write(PAIR)
        env = {k: v for k, v in os.environ.items()
               if not k.startswith("WEFT_")}
        for asked in ((), ("-Wl,-u,weft_helpers",)):
            link = sh(os.path.join(BUILD, "bin", "mpicc"), "-static",
                      pair + ".c", *asked, "-o", pair)
            self.assertEqual(link.returncode, 0, link.stderr)
            job = sh(os.path.join(BUILD, "bin", "mpirun"), "-n", 2, "--timeout",
                     120, "--set", "core.progress=thread", pair, env=env)
            self.assertEqual(job.returncode, 0 if asked else 78, job.stderr)
            self.assertEqual("add -Wl,-u,weft_helpers" in job.stderr,
                             not asked)

    def test_send_and_receive_bring_nothing_of_other_chapters(self):
        pair = self.program + ".pair"
        with open(pair + ".c", "w") as f:
            f.write(PAIR)
        link = self.mpicc(pair + ".c", pair)
        self.assertEqual(link.returncode, 0, link.stderr)
        names = symbols(pair)
        self.assertIn("wf_arrive_plain", names)
        others = [n for n in names if n.startswith(OTHER_CHAPTERS)]
        self.assertEqual(others, [])

    def test_a_hello_is_small(self):
        hello = self.program + ".small"
        self.mpicc(os.path.join(EXAMPLES, "hello.c"), hello)
        sh("strip", hello)
        size = os.path.getsize(hello)
        print(f"static hello: {size} bytes, limit {LIMIT}")
        self.assertLessEqual(size, LIMIT)


@unittest.skipIf(sanitized() or configured("CMAKE_BUILD_TYPE:STRING=Debug"),
                 "instrumented or unoptimised")
class Library(unittest.TestCase):
    def test_its_text_is_small(self):
        archive = os.path.join(BUILD, "lib", "libmpi.a")
        unwind = sum(int(size) for size in re.findall(
            r"^\.eh_frame\s+(\d+)", sh("size", "-A", archive).stdout, re.M))
        text = sum(int(line.split()[0])
                   for line in sh("size", archive).stdout.splitlines()[1:])
        text -= unwind
        print(f"text of libmpi.a: {text} bytes, limit {TEXT_LIMIT}; unwind "
              f"tables: {unwind} bytes, limit {UNWIND_LIMIT}")
        self.assertGreater(text, 0)
        self.assertLessEqual(text, TEXT_LIMIT)
        self.assertLessEqual(unwind, UNWIND_LIMIT)


class Walls(unittest.TestCase):
    def test_a_plugin_object_needs_libc_and_nothing_else(self):
        objects = os.environ["PLUGIN_OBJECTS"].split(":")
        self.assertTrue(objects)
        for file in objects:
            base = os.path.basename(file)
            allowed = ALLOWED + (LOADER if base == SEEKS_LIBRARY else [])
            if asserts():
                allowed = allowed + ASSERTS
            for name in symbols(file, "-u"):
                with self.subTest(file=base, symbol=name):
                    self.assertTrue(name in allowed or INSERTED.match(name) or
                                    OWN.match(name),
                                    f"{name} is not on the list")

    def test_names_shared_by_the_files_of_a_plugin_are_its_own(self):
        for file in os.environ["PLUGIN_OBJECTS"].split(":"):
            folder = os.path.basename(os.path.dirname(file))
            plugin, short = folder.replace("-", "_"), folder.split("-")[0]
            own = re.compile(rf"^(wf_{short}_\w+|weft_plugin_2_{plugin}|"
                             rf"__odr_asan\.\S+)$")
            for name in symbols(file, "-g", "--defined-only"):
                with self.subTest(file=file, symbol=name):
                    self.assertRegex(name, own)

    def test_a_plugin_file_exports_one_symbol(self):
        for file in os.environ["PLUGIN_FILES"].split(":"):
            name = re.match(r"weft_(\w+)\.so", os.path.basename(file)).group(1)
            exported = symbols(file, "-D", "-g", "--defined-only")
            exported = [s for s in exported
                        if not re.match(r"__(odr_)?[aut]san", s)]
            self.assertEqual(exported, [f"weft_plugin_2_{name}"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
