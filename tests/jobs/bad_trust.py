"""Nothing untrusted is executed: files of others, setuid programs, plugins.

Plugins here leave a mark when they are executed. As root, "foreign" files
belong to another user; otherwise everybody may write them.
SPDX-License-Identifier: BSD-3-Clause
"""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

BUILD = os.path.abspath(os.environ.get("BUILD_OF_WEFT", "build"))
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
NOBODY = 65534
ROOT = os.geteuid() == 0
ENV = {k: v for k, v in os.environ.items()
       if not k.startswith(("WEFT_", "PMI_"))}
PLUGIN = r"""
#include "weft_transport.h"
#include <fcntl.h>
__attribute__((constructor)) static void run(void)
{
    open("%s", O_CREAT | O_WRONLY, 0666);
}
struct config { uint64_t depth; };
static const weft_option options[] = {{"depth", WEFT_OPT_INT,
    offsetof(struct config, depth), "4", "1..9", "how deep"}, {0}};
static int no(void) { return WEFT_ENOTSUP; }
#define F (void *)no
static const weft_ops ops = {.size = sizeof ops, .open = F, .close = F,
  .attr = F, .address = F, .reach = F, .peer_add = F, .peer_del = F,
  .send = F, .progress = F, .drain = F};
WEFT_PLUGIN(marking, "1", "leaves a mark", options, struct config, &ops);
"""
PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
/* A sanitizer cannot look for leaks in a set-group-ID process. */
const char *__asan_default_options(void) { return "detect_leaks=0"; }
int main(int argc, char **argv)
{
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    printf("ran as %d of %d\n", (int)geteuid(), size);
    return MPI_Finalize();
}
"""
REFUSED = 78  # sysexits.h: the configuration is wrong
needs_root = unittest.skipUnless(ROOT, "needs root: programs that are setuid")


def sh(*command, env=None, cwd=None, **kw):
    return subprocess.run([str(c) for c in command], capture_output=True,
                          text=True, timeout=250, cwd=cwd,
                          env={**ENV, **(env or {})}, **kw)


def must(*command, **kw):
    done = sh(*command, **kw)
    if done.returncode:
        raise AssertionError(f"{command}\n{done.stdout}{done.stderr}")
    return done


class Trust(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temp = tempfile.TemporaryDirectory()
        cls.dir = os.path.realpath(cls.temp.name)
        os.chmod(cls.dir, 0o755)
        cls.prefix = os.path.join(cls.dir, "weft")
        must("cmake", "--install", BUILD, "--prefix", cls.prefix)
        cls.bin = os.path.join(cls.prefix, "bin")
        cls.mark = os.path.join(cls.dir, "mark")
        cls.static = "(static program)" in must(
            os.path.join(cls.bin, "weft-info"),
            env={"WEFT_INI": "-"}).stdout
        cls.program = os.path.join(cls.dir, "program")
        cls.write("program.c", PROGRAM)
        must(os.path.join(cls.bin, "mpicc"), os.path.join(cls.dir, "program.c"),
             "-o", cls.program)
        cls.plugin = cls.write("weft_marking.so", "")
        cls.write("plugin.c", PLUGIN % cls.mark)
        must("cc", "-w", "-shared", "-fPIC", "-fvisibility=hidden",
             "-I", os.path.join(cls.prefix, "include"),
             os.path.join(cls.dir, "plugin.c"), "-o", cls.plugin)

    @classmethod
    def tearDownClass(cls):
        cls.temp.cleanup()

    @classmethod
    def write(cls, name, text, mode=0o644):
        path = os.path.join(cls.dir, name)
        with open(path, "w") as f:
            f.write(text)
        os.chmod(path, mode)
        return path

    def setUp(self):
        if os.path.exists(self.mark):
            os.unlink(self.mark)
        self.cwd = tempfile.mkdtemp(dir=self.dir)
        os.chmod(self.cwd, 0o755)

    # ---- tools --------------------------------------------------------------
    def foreign(self, path):
        if ROOT:
            os.chown(path, NOBODY, NOBODY)
        else:
            os.chmod(path, 0o666)
        return path

    def here(self, text, name="mpi.ini"):
        return self.write(os.path.join(self.cwd, name), text)

    def marking(self, more="", plugin=None):
        return (f"[transport marking]\npath = {plugin or self.plugin}\n{more}\n"
                "[route all]\nuse = marking\n")

    def info(self, *args, **kw):
        return sh(os.path.join(self.bin, "weft-info"), *args, cwd=self.cwd,
                  **kw)

    def mpirun(self, *args, **kw):
        return sh(os.path.join(self.bin, "mpirun"), "--timeout", 120, "-n", 2,
                  *args, cwd=self.cwd, **kw)

    def assert_not_executed(self):
        self.assertFalse(os.path.exists(self.mark), "the plugin was executed")

    def assert_refused(self, done, *texts):
        self.assert_not_executed()
        self.assertEqual(done.returncode, REFUSED, done.stdout + done.stderr)
        for text in texts:
            self.assertIn(text, done.stderr)
        why = (f"belongs to user {NOBODY} (mode 0" if ROOT
               else "others may write file")
        self.assertIn(why, done.stderr)

    def assert_ran(self, done, count=1, user=None):
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        user = os.geteuid() if user is None else user
        self.assertEqual(done.stdout.count(f"ran as {user} of {count}\n"),
                         count, done.stdout + done.stderr)

    def need_plugins(self):
        if self.static:
            self.skipTest("a static build loads no plugins")

    # ---- the configuration --------------------------------------------------
    def test_a_trusted_configuration_runs_its_plugin(self):
        self.need_plugins()
        self.here(self.marking())
        self.info()
        self.assertTrue(os.path.exists(self.mark))

    def test_a_foreign_mpi_ini_in_the_current_directory_stops_weft_info(self):
        path = self.foreign(self.here(self.marking()))
        for args in ([], ["--json"], ["--explain", "0->1"],
                     ["--collective", "bcast", "--ranks", "4"]):
            self.assert_refused(self.info(*args), path,
                                "mpi.ini: found here and not used",
                                "WEFT_INI=- runs without a file")

    def test_a_foreign_mpi_ini_in_the_current_directory_stops_mpirun(self):
        path = self.foreign(self.here(self.marking()))
        done = self.mpirun(self.program)
        self.assert_refused(done, path)
        self.assertEqual(done.stderr.count(path), 1, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assert_ran(self.mpirun(self.program, env={"WEFT_INI": "-"}), 2)

    def test_a_foreign_file_that_is_named_is_refused(self):
        path = self.foreign(self.here(self.marking(), "a.ini"))
        self.assert_refused(self.mpirun("--ini", path, self.program), path,
                            "cannot use this mpi.ini")
        self.assert_refused(self.info("--ini", path), path)
        self.assert_refused(sh(self.program, env={"WEFT_INI": path}), path)

    def test_a_foreign_file_in_home_is_refused(self):
        home = os.path.join(self.cwd, ".config", "weft")
        os.makedirs(home)
        self.foreign(self.here(self.marking(), ".config/weft/mpi.ini"))
        env = {"HOME": self.cwd}
        self.assert_refused(sh(self.program, env=env, cwd=home), home)

    def test_a_foreign_file_that_is_included_is_refused(self):
        part = self.foreign(self.here(self.marking(), "part.ini"))
        self.here("include = part.ini\n")
        self.assert_refused(self.mpirun(self.program), part,
                            "mpi.ini:1:1: cannot read 'part.ini'")

    def test_a_directory_that_others_may_write_is_refused(self):
        self.here("[core]\n")
        for mode in (0o777, 0o775):
            os.chmod(self.cwd, mode)
            done = self.mpirun(self.program)
            self.assertEqual(done.returncode, REFUSED, done.stderr)
            self.assertIn(f"others may write directory {self.cwd}", done.stderr)
            self.assertIn(f"mode 0{mode:o}); correct it with chmod go-w",
                          done.stderr)

    def test_a_directory_that_others_may_write_is_fine_without_a_file(self):
        os.chmod(self.cwd, 0o777)
        self.assert_ran(self.mpirun(self.program), 2)

    def test_too_large_files_and_lines_are_refused(self):
        self.here("# " + "x" * 60 + "\n" * 17000)
        self.assert_ran(self.mpirun(self.program), 2)
        self.here(("# " + "x" * 61 + "\n") * 16384 + "#")
        done = self.mpirun(self.program)
        self.assertEqual(done.returncode, REFUSED, done.stderr)
        self.assertIn("it is larger than 1 MiB, the limit", done.stderr)
        self.here("#" + "x" * 4096 + "\n")
        done = self.mpirun(self.program)
        self.assertEqual(done.returncode, REFUSED, done.stderr)
        self.assertIn("line of 4097 bytes; at most 4096 are allowed",
                      done.stderr)

    def test_the_job_key_file_must_be_trusted(self):
        key = self.write(os.path.join(self.cwd, "key"), "k" * 32, 0o600)
        job = ["--set", f"core.job_key_file={key}", self.program]
        self.assert_ran(self.mpirun(*job), 2)
        os.chmod(self.cwd, 0o777)
        done = self.mpirun(*job)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(f"others may write directory {self.cwd}", done.stderr)
        os.chmod(self.cwd, 0o755)
        os.chmod(key, 0o640)
        self.assertIn("others may read it; chmod 600",
                      self.mpirun(*job).stderr)

    # ---- weft-info --check --------------------------------------------------
    def test_check_of_a_foreign_file_executes_nothing(self):
        self.need_plugins()
        path = self.foreign(self.here(self.marking(), "a.ini"))
        done = self.info("--check", path)
        self.assert_not_executed()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"{path}: good", done.stdout)
        self.assertIn("note: a job would not use this file: ", done.stderr)
        self.assertEqual(done.stderr.count(path), 3, done.stderr)
        self.assertIn(f"the plugin {self.plugin}, which was not loaded; "
                      "--load loads it", done.stderr)

    def test_check_names_plugins_in_directories_and_executes_none(self):
        self.need_plugins()
        text = "[core]\nplugin_path = %s\n[transport marking]\n" % self.dir
        done = self.info("--check", self.here(text, "a.ini"))
        self.assert_not_executed()
        self.assertIn(self.plugin + ", which was not loaded", done.stderr)
        done = self.info("--check", self.here("[transport marking]", "a.ini"),
                         env={"WEFT_PLUGIN_PATH": self.dir})
        self.assert_not_executed()
        self.assertIn(self.plugin + ", which was not loaded", done.stderr)

    def test_check_loads_a_trusted_plugin_on_request(self):
        self.need_plugins()
        path = self.here(self.marking("depht = 3"), "a.ini")
        self.assertEqual(self.info("--check", path).returncode, 0)
        self.assert_not_executed()
        done = self.info("--check", path, "--load")
        self.assertEqual(done.returncode, REFUSED)
        self.assertIn("a.ini:3:1: unknown key 'depht'", done.stderr)
        self.assertTrue(os.path.exists(self.mark))
        self.assertEqual(self.info("--load").returncode, 2)

    def test_check_loads_no_foreign_plugin_on_request(self):
        self.need_plugins()
        other = self.foreign(shutil.copy(
            self.plugin, os.path.join(self.cwd, "weft_marking.so")))
        path = self.here(self.marking(plugin=other), "a.ini")
        for args in ([], ["--load"]):
            self.assert_refused(self.info("--check", path, *args), other)

    def test_check_knows_the_keys_of_installed_plugins(self):
        if not os.path.exists(self.prefix + "/lib/weft/weft_udp_reliable.so"):
            self.skipTest("udp-reliable is no plugin in a file here")
        path = self.here("[transport udp-reliable]\nwindw = 1M\n", "a.ini")
        done = self.info("--check", path)
        self.assertEqual(done.returncode, REFUSED)
        self.assertIn("a.ini:2:1: unknown key 'windw'", done.stderr)

    # ---- plugins ------------------------------------------------------------
    def test_a_foreign_plugin_is_not_executed(self):
        self.need_plugins()
        other = self.foreign(shutil.copy(
            self.plugin, os.path.join(self.cwd, "weft_marking.so")))
        self.here(self.marking(plugin=other))
        self.assert_refused(self.mpirun(self.program), other)
        self.assert_refused(self.info("--ini", "-", "--set",
                                      f"transport.shm.path={other}", "--set",
                                      "transport.shm.plugin=marking",
                                      "--check", self.cwd + "/mpi.ini"), other)

    def test_a_foreign_plugin_in_a_search_path_ends_the_search(self):
        self.need_plugins()
        other = self.foreign(shutil.copy(
            self.plugin, os.path.join(self.cwd, "weft_marking.so")))
        ini = self.here("[transport marking]\n", "a.ini")
        env = {"WEFT_PLUGIN_PATH": f"{self.cwd}:{self.dir}", "WEFT_INI": ini}
        self.assert_refused(self.mpirun(self.program, env=env), other)

    def test_a_relative_plugin_is_not_executed(self):
        self.need_plugins()
        shutil.copy(self.plugin, self.cwd)
        self.here(self.marking(plugin="weft_marking.so"))
        done = self.mpirun(self.program)
        self.assertIn("the path is relative; write an absolute one",
                      done.stderr)
        self.here("[transport marking]\n")
        done = self.mpirun(self.program, env={"WEFT_PLUGIN_PATH": "."})
        self.assertIn("the directory is relative; write an absolute one",
                      done.stderr)
        self.assert_not_executed()

    # ---- where the program lies ---------------------------------------------
    def test_nothing_is_relative_to_the_program(self):
        for folder in ("x", "bin", "lib"):
            os.mkdir(os.path.join(self.cwd, folder))
        os.makedirs(os.path.join(self.cwd, "etc", "weft"))
        self.here(self.marking(), "etc/weft/mpi.ini")
        os.mkdir(os.path.join(self.cwd, "lib", "weft"))
        shutil.copy(self.plugin, os.path.join(self.cwd, "lib", "weft"))
        for folder in ("x", "bin", "lib"):
            program = os.path.join(self.cwd, folder, "program")
            shutil.copy(self.program, program)
            self.assert_ran(sh(program, cwd=self.dir))
            self.assert_ran(self.mpirun(program), 2)
            env = {"WEFT_SET": "transport.marking.enable=yes"}
            sh(program, cwd=self.dir, env=env)
        self.assert_not_executed()

    def test_an_installation_has_a_configuration(self):
        ini = os.path.join(self.prefix, "etc", "weft", "mpi.ini")
        with open(ini) as f:
            before = f.read()
        self.addCleanup(self.write, ini, before)
        self.assertIn(f"configuration: {ini}\n", self.info().stdout)
        self.write(ini, "[core]\njbo = x\n")
        alone = sh(self.program, cwd=self.cwd)
        for done in (self.mpirun(self.program), self.info(), alone):
            self.assertEqual(done.returncode, REFUSED, done.stderr)
            self.assertIn(ini + ":2:1: unknown key 'jbo'", done.stderr)
        self.foreign(ini)
        if ROOT:
            self.addCleanup(os.chown, ini, 0, 0)
        self.assert_refused(self.mpirun(self.program), ini)
        self.assert_refused(self.info(), ini)
        self.assert_refused(sh(self.program, cwd=self.cwd), ini)

    def test_the_shared_library_belongs_to_an_installation(self):
        if not os.path.exists(self.prefix + "/lib/libmpi_abi.so"):
            self.skipTest("a static build has none")
        ini = os.path.join(self.prefix, "etc", "weft", "mpi.ini")
        with open(ini) as f:
            before = f.read()
        self.addCleanup(self.write, ini, before)
        self.write(ini, "[core]\njbo = x\n")
        shared = os.path.join(self.cwd, "shared")
        must(os.path.join(self.bin, "mpicc"), "-shared-mpi",
             os.path.join(self.dir, "program.c"), "-o", shared)
        done = sh(shared, cwd=self.cwd)
        self.assertEqual(done.returncode, REFUSED, done.stderr)
        self.assertIn("etc/weft/mpi.ini:2:1: unknown key 'jbo'", done.stderr)

    # ---- setuid -------------------------------------------------------------
    def hide_installed(self):
        """What is looked for after the installation's mpi.ini counts."""
        ini = os.path.join(self.prefix, "etc", "weft", "mpi.ini")
        os.rename(ini, ini + ".hidden")
        self.addCleanup(os.rename, ini + ".hidden", ini)

    def setuid(self, mode=0o4755, group=0):
        """The program with rights of its own, to be run by nobody."""
        path = os.path.join(self.cwd, "setuid")
        shutil.copy(self.program, path)
        os.chown(path, 0, group)
        os.chmod(path, mode)
        if os.statvfs(path).f_flag & os.ST_NOSUID:
            self.skipTest(f"{self.dir} is mounted nosuid")
        return path

    def as_nobody(self, *command, **kw):
        kw.setdefault("cwd", self.cwd)
        return sh(*command, user=NOBODY, group=NOBODY, extra_groups=[], **kw)

    @needs_root
    def test_a_setuid_program_takes_nothing_of_its_caller(self):
        program = self.setuid()
        self.hide_installed()
        bad = self.here("nonsense\n", "bad.ini")
        home = os.path.join(self.cwd, ".config", "weft")
        os.makedirs(home)
        shutil.copy(bad, home + "/mpi.ini")
        for env in ({"WEFT_INI": bad}, {"WEFT_SET": "core.nonsense=1"},
                    {"WEFT_ROUTE": "nonsense"}, {"WEFT_LOG": "nonsense"},
                    {"WEFT_LAUNCHER_INI": bad}, {"HOME": self.cwd},
                    {"WEFT_RANK": "7", "WEFT_SIZE": "3"}):
            # the same program without rights of its own stops at each
            done = self.as_nobody(self.program, cwd="/", env=env)
            self.assertNotEqual(done.returncode, 0, env)
            self.assert_ran(self.as_nobody(program, cwd="/", env=env), user=0)

    @needs_root
    def test_a_setuid_program_does_not_look_into_the_current_directory(self):
        program = self.setuid()
        self.here("nonsense\n")
        self.assertEqual(self.as_nobody(self.program).returncode, REFUSED)
        self.assert_ran(self.as_nobody(program), user=0)

    @needs_root
    def test_a_setuid_program_shows_no_line_of_a_secret_file(self):
        program = self.setuid()
        secret = self.write(os.path.join(self.cwd, "secret"),
                            "root:hunter2:0\n[core]\npass = word\n", 0o600)
        for env in ({"WEFT_INI": secret}, {"WEFT_LAUNCHER_INI": secret}):
            done = self.as_nobody(program, env=env)
            self.assert_ran(done, user=0)
            self.assertEqual(done.stderr, "")

    @needs_root
    def test_a_setuid_program_executes_no_plugin_of_its_caller(self):
        self.need_plugins()
        program = self.setuid()
        ini = self.here(self.marking(), "a.ini")
        for env in ({"WEFT_INI": ini},
                    {"WEFT_SET": f"transport.marking.path={self.plugin}"},
                    {"WEFT_SET": "transport.udp-reliable.enable=yes;"
                     f"transport.udp-reliable.path={self.plugin}"},
                    {"WEFT_PLUGIN_PATH": self.dir,
                     "WEFT_SET": "transport.udp-reliable.plugin=marking"}):
            self.assert_ran(self.as_nobody(program, env=env), user=0)
            self.assert_not_executed()

    @needs_root
    def test_a_setgid_program_takes_nothing_of_its_caller(self):
        program = self.setuid(0o2755, 4)
        env = {"WEFT_SET": "core.nonsense=1"}
        self.assert_ran(self.as_nobody(program, env=env), user=NOBODY)

    @needs_root
    def test_a_setuid_program_joins_no_job_of_its_caller(self):
        program = self.setuid()
        done = self.as_nobody(os.path.join(self.bin, "mpirun"), "--timeout",
                              120, "-n", 2, program)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("a set-user-ID or set-group-ID program does not join a "
                      "job of its caller", done.stderr)

    def with_etc(self, text, mode, program):
        """The program as nobody, with this /etc/weft/mpi.ini."""
        ini = self.write(os.path.join(self.cwd, "etc.ini"), text, mode)
        script = (f"mount -t tmpfs none /etc && mkdir /etc/weft && "
                  f"cp -p {ini} /etc/weft/mpi.ini && exec setpriv --reuid "
                  f"{NOBODY} --regid {NOBODY} --clear-groups {program}")
        done = sh("unshare", "-m", "sh", "-c", script, cwd="/",
                  env={"HOME": "/nowhere"})
        if "unshare" in done.stderr or "mount" in done.stderr:
            self.skipTest("no mount namespace: " + done.stderr)
        return done

    @needs_root
    def test_a_setuid_program_shows_no_line_of_etc_weft_either(self):
        text = "sesame = open\n[core]\nhunter2 = 1\njob_key_file = /etc/door\n"
        self.hide_installed()
        done = self.with_etc(text, 0o644, self.program)
        self.assertEqual(done.returncode, REFUSED)
        self.assertIn("/etc/weft/mpi.ini:3:1: unknown key 'hunter2'",
                      done.stderr)
        done = self.with_etc(text, 0o600, self.setuid())
        self.assertEqual(done.returncode, REFUSED, done.stderr)
        self.assertIn("/etc/weft/mpi.ini:3:1: this is wrong; a set-user-ID "
                      "program does not show why", done.stderr)
        for word in ("hunter2", "sesame", "open", "door"):
            self.assertNotIn(word, done.stderr)

    @needs_root
    def test_a_setuid_program_does_not_name_what_it_cannot_load(self):
        text = ("[transport marking]\npath = /etc/hunter2.so\n"
                "plugin = sesame\n[route all]\nuse = marking\n")
        done = self.with_etc(text, 0o600, self.setuid())
        self.assertNotIn("hunter2", done.stderr)
        self.assertNotIn("sesame", done.stderr)
        text = "[core]\njob_key_file = /etc/hunter2\n"
        done = self.with_etc(text, 0o600, self.setuid())
        self.assertNotIn("hunter2", done.stderr)

    def test_weft_variables_are_read_by_one_function(self):
        wrong = []
        for folder, _, files in os.walk(os.path.join(SOURCE, "core")):
            for name in files:
                with open(os.path.join(folder, name)) as f:
                    wrong += [f"{name}: {line.strip()}" for line in f
                              if re.search(r'(?<![\w])getenv\("(WEFT_|HOME)',
                                           line)]
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
