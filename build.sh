#!/bin/sh
# Builds, tests, runs and installs Weft. CMake and CTest do the work; this
# script finds what is missing and knows the configurations.
# SPDX-License-Identifier: BSD-3-Clause
set -eu
cd "$(dirname "$0")"

usage()
{
    cat <<'END'
./build.sh                 build the library, the programs, the plugins and the
                           examples into build/
./build.sh run             build what the demonstration needs, and run it
./build.sh test            build everything and the tests, then run them
./build.sh test --matrix   the tests in the other configurations: address and
                           undefined sanitizers, thread sanitizer, static, and
                           those with threads in the other granularities under
                           the thread sanitizer; Debian's packages; the
                           demonstration with musl, where musl-gcc is
                           installed, and for AArch64, where a cross compiler
                           and qemu-user are; --within=SECONDS leaves out
                           configurations that would end later
./build.sh test --torture  instead of the tests all cells of the torture floor:
                           deaths, network faults, failing calls; and a second
                           build of the Debian packages; half an hour
./build.sh install --prefix DIR
./build.sh analyse         build, then let clang look at the locks of the core:
                           sections left with their lock held, functions called
                           without theirs
./build.sh bench [--quick] [--only NAME] ...   build, then measure; what follows
                           the word is for bench/run.py (--help lists it)
options
  --granularity=NAME what MPI_THREAD_MULTIPLE holds its lock around: global, each
                     call; brief-global, what calls share; per-object, the same
                     of one engine, and a rank has several, and short messages
                     to different peers share nothing while threads wait;
                     lock-free, nor do they otherwise        (build-NAME/)
  --static           our programs without dynamic linking; others are linked
                     so by mpicc -static in any build           (build-static/)
  --musl             the same with musl-gcc, without the tests  (build-musl/)
  --sanitize=LIST    address,undefined or thread                (build-LIST/)
  --target=TRIPLE    cross compile with TRIPLE-gcc; run uses qemu-user where
                     the processor is another                   (build-TRIPLE/)
  --tiny             small rather than fast, and without unwind tables: no
                     backtrace sees beyond MPI          (build-tiny/)
  --plugins=LIST     transports built as weft_NAME.so
                     (shm,tcp,udp-reliable,sctp)
  --builtin=LIST     transports inside libmpi.a                 (shm,tcp)
END
}

fail()
{
    echo "build.sh: $*" >&2
    exit 2
}

default_granularity=global

# ---- command line -----------------------------------------------------------
command=build
matrix=no
within=
torture=no
prefix=
static=no
musl=no
sanitize=
granularity=
target=
tiny=no
plugins=
builtin=
unity=OFF
commands=0
while [ $# -gt 0 ]; do
    case $1 in
    run | test | install | analyse)
        command=$1
        commands=$((commands + 1))
        ;;
    bench)
        command=bench
        commands=$((commands + 1))
        shift
        break # the rest is for bench/run.py
        ;;
    --matrix) matrix=yes ;;
    --within=?*) within=${1#*=} ;;
    --torture) torture=yes ;;
    --prefix=*) prefix=${1#*=} ;;
    --prefix)
        [ $# -ge 2 ] || fail "--prefix needs a directory"
        prefix=$2
        shift
        ;;
    --static) static=yes ;;
    --musl) musl=yes static=yes ;;
    --sanitize=?*) sanitize=${1#*=} ;;
    --granularity=global | --granularity=brief-global | \
        --granularity=per-object | --granularity=lock-free) granularity=${1#*=} ;;
    --granularity=*)
        fail "'${1#*=}': there are global, brief-global, per-object and lock-free"
        ;;
    --target=?*) target=${1#*=} ;;
    --tiny) tiny=yes ;;
    --plugins=*) plugins=x${1#*=} ;; # x: an empty list is a list
    --builtin=*) builtin=x${1#*=} ;;
    -h | --help)
        usage
        exit 0
        ;;
    *) fail "unknown argument '$1'; ./build.sh --help lists them" ;;
    esac
    shift
done
[ "$commands" -le 1 ] || fail "one command at a time"
[ "$matrix" = no ] || [ "$command" = test ] || fail "--matrix belongs to test"
case $within in
*[!0-9]*) fail "--within needs seconds, not '$within'" ;;
esac
[ -z "$within" ] || [ "$matrix" = yes ] ||
    fail "--within belongs to test --matrix"
[ "$torture" = no ] || { [ "$command" = test ] && [ "$matrix" = no ]; } ||
    fail "--torture belongs to test, without --matrix"
[ "$command" != install ] || [ -n "$prefix" ] ||
    fail "install needs --prefix DIR"
[ "$static" = no ] || [ -z "$sanitize" ] ||
    fail "--static and --sanitize exclude each other"
[ "$musl" = no ] || [ "$command" != test ] ||
    fail "the tests need cmocka, which is not there for musl; there is" \
        "./build.sh run --musl"
[ "$musl" = no ] || command -v musl-gcc >/dev/null ||
    fail "--musl needs musl-gcc (Debian package musl-tools)"

# ---- what the build needs ---------------------------------------------------
# package:how to see that it is there (a command, a C header, a static library,
# or a file)
foreign= # the target's architecture, as Debian's packages are named with it
if [ -z "$target" ]; then
    needs='gcc:gcc g++:g++ binutils:ar libc6-dev:<stdio.h>'
else
    foreign=$(dpkg-architecture -t "$target" -qDEB_TARGET_ARCH 2>/dev/null ||
        true)
    needs=$(echo "$target" | tr _ -)
    needs="gcc-$needs:$target-gcc g++-$needs:$target-g++"
fi
needs="$needs cmake:cmake ninja-build:ninja python3:python3
 libinih-dev${foreign:+:$foreign}:libinih.a
 libsodium-dev${foreign:+:$foreign}:libsodium.a"
[ "$command" != test ] ||
    needs="$needs pkg-config:pkg-config libcmocka-dev:cmocka.h"
# Without the first the sctp transport is built, and says at load what it lacks.
# With the second there is weft_boot_pmix.so, for launchers that are PMIx servers.
extras='libusrsctp-dev:<usrsctp.h> libpmix-dev:libpmix.so'
# Some tests count instructions or system calls, filter packets, go through models
# of protocols and of memory, make packages, or run under another MPI's launcher,
# with these and are skipped without;
# so is the matrix's build with another C library.
wishes='valgrind:valgrind strace:strace spin:spin musl-tools:musl-gcc
 debhelper:dh lintian:lintian meson:meson groff-base:groff
 openmpi-bin:mpirun.openmpi
 nftables:nft relacy-dev:/usr/include/relacy/relacy.hpp'

present()
{
    case $1 in
    lib*.a | lib*.so) # the compiler knows a whole path for a library that it finds
        case $("${target:+$target-}gcc" -print-file-name="$1" 2>/dev/null) in
        /*) return 0 ;;
        *) return 1 ;;
        esac
        ;;
    '<'*) echo "#include $1" | gcc -E - >/dev/null 2>&1 ;;
    cmocka.h)
        printf '#include <stdarg.h>\n#include <stddef.h>\n#include <stdint.h>
#include <setjmp.h>\n#include <cmocka.h>\n' | gcc -E - >/dev/null 2>&1
        ;;
    /*) [ -e "$1" ] ;;
    *) command -v "$1" >/dev/null 2>&1 ;;
    esac
}

missing()
{
    for need in ${1:-$needs}; do
        present "${need##*:}" || printf '%s ' "${need%:*}"
    done
}

# $1: packages as above; $2: what is said when they cannot be had
install_wishes()
{
    wished=$(missing "$1")
    if [ -n "$wished" ] && [ "$(id -u)" = 0 ] &&
        command -v apt-get >/dev/null; then
        export DEBIAN_FRONTEND=noninteractive
        # shellcheck disable=SC2086
        {
            apt-get install -qy --no-install-recommends $wished ||
                { apt-get update -q && apt-get install -qy \
                    --no-install-recommends $wished; }
        } >/dev/null 2>&1 || echo "not installed, $2: $wished" >&2
    fi
}

install_packages()
{
    [ "$command" != test ] ||
        install_wishes "$wishes" "tests that need it are skipped"
    [ "$command" = run ] || [ -n "$target" ] ||
        install_wishes "$extras" "what it would bring is left out"
    lacking=$(missing)
    [ -n "$lacking" ] || return 0
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "Installing: $lacking"
        export DEBIAN_FRONTEND=noninteractive
        # shellcheck disable=SC2086
        { apt-get update -q && apt-get install -qy --no-install-recommends \
            $lacking; } >&2 || [ -n "$foreign" ] ||
            fail "could not install: $lacking"
        lacking=$(missing)
    fi
    [ -z "$lacking" ] || fail "these packages are missing (Debian names):
    ${foreign:+dpkg --add-architecture $foreign && apt-get update
    }apt-get install $lacking"
}

# ---- one configuration ------------------------------------------------------
list()
{
    echo "${1#x}" | tr ', -' ';;_'
}

directory()
{
    echo "$(variant)${granularity:+-$granularity}"
}

variant()
{
    if [ -n "$sanitize" ]; then
        echo "build-$(echo "$sanitize" | tr ',' '-')"
    elif [ -n "$target" ]; then
        echo "build-$target"
    elif [ "$musl" = yes ]; then
        echo build-musl
    elif [ "$static" = yes ]; then
        echo build-static
    elif [ "$tiny" = yes ]; then
        echo build-tiny
    else
        echo build
    fi
}

# musl-gcc looks into its own folder only, and the kernel's headers are not
# there. They come after those of musl.
kernel_headers()
{
    mkdir -p "$dir/kernel"
    for name in linux asm asm-generic; do
        for at in /usr/include "/usr/include/$(gcc -print-multiarch)"; do
            [ ! -d "$at/$name" ] || ln -sfn "$at/$name" "$dir/kernel/$name"
        done
    done
}

# What is not asked for is as by default, whatever was built there before.
configure()
{
    # Tests that are there stay: ninja would delete programs it no longer knows.
    with_tests=OFF
    if [ "$command" = test ] ||
        grep -qs '^WEFT_TESTS:BOOL=ON' "$dir/CMakeCache.txt"; then
        with_tests=ON
    fi
    [ "$musl" = no ] || with_tests=OFF # cmocka is the other C library's
    set -- -DWEFT_TESTS=$with_tests -DWEFT_SANITIZE="$sanitize" \
        -DCMAKE_INSTALL_PREFIX="${prefix:-/usr/local}" \
        -DWEFT_GRANULARITY="${granularity:-$default_granularity}" \
        -DWEFT_UNITY=$unity
    if [ "$static" = yes ]; then
        set -- "$@" -DWEFT_STATIC=ON -DWEFT_PLUGINS=
    fi
    if [ "$musl" = yes ]; then
        kernel_headers
        set -- "$@" -DCMAKE_C_COMPILER=musl-gcc \
            -DCMAKE_C_FLAGS="-idirafter $PWD/$dir/kernel"
    fi
    [ "$tiny" = no ] || set -- "$@" -DCMAKE_BUILD_TYPE=MinSizeRel \
        -DWEFT_UNWIND_TABLES=OFF
    if [ -n "$plugins" ]; then
        set -- "$@" -DWEFT_PLUGINS="$(list "$plugins")"
    elif [ "$static" = no ]; then
        set -- "$@" -UWEFT_PLUGINS
    fi
    if [ -n "$builtin" ]; then
        set -- "$@" -DWEFT_BUILTIN="$(list "$builtin")"
    else
        set -- "$@" -UWEFT_BUILTIN
    fi
    [ -z "$target" ] || set -- "$@" -DCMAKE_SYSTEM_NAME=Linux \
        -DCMAKE_SYSTEM_PROCESSOR="${target%%-*}" \
        -DCMAKE_C_COMPILER="$target-gcc" -DCMAKE_CXX_COMPILER="$target-g++" \
        -DCMAKE_CROSSCOMPILING_EMULATOR="$(emulator | tr ' ' ';')"
    cmake -S . -B "$dir" -G Ninja "$@" >"$dir.log" 2>&1 || {
        cat "$dir.log" >&2
        fail "CMake could not configure $dir"
    }
    mv "$dir.log" "$dir/configure.log"
}

# Builds what the command is for.
build()
{
    dir=$(directory)
    configure
    case $command in
    test) set -- all ;;
    run) set -- mpi thread_ranks_object mpirun weft-info example_heat ;;
    *) set -- weft ;;
    esac
    cmake --build "$dir" --target "$@"
}

# For run_tests with a granularity: not the programs of the other tests.
build_threaded()
{
    dir=$(directory)
    configure
    # shellcheck disable=SC2046
    cmake --build "$dir" --target $(threaded_programs)
}

# Tests in which a rank has several threads, and some in which it is one. What no
# granularity changes (locks and lock-free structures by themselves, transports,
# collectives of ranks that are threads) the thread sanitizer sees in the usual one.
# Four ranks on two nodes use shm and tcp: they are not run over one of these alone.
# CMake's regular expressions have nine groups at most.
threaded="^(unit_(pool|section|critical|thread|progress|wait|weft_info_granularity)|job_(threads_.*|.*_threads|engines_.*|part_rounds|helper_rounds)_(n1_plain|n2_(tcp|engines)|n3_.*|n4_(plain|mixed))$|job_(coll_values|comm_split|p2p_(misc|order|probe))_n4_threads2x2$)"

# Programs of these, and what they need.
threaded_programs()
{
    echo mpi mpirun weft-info
    ctest --test-dir "$dir" -N -R "$threaded" |
        sed -nE 's/^ *Test +#[0-9]+: ((unit|job)_.*)$/\1/p' |
        sed -E 's/^(job_.*)_n[0-9]+_[a-z0-9]+$/\1/; /^unit_weft_info_g/d' | sort -u
}

run_tests()
{
    # The thread sanitizer needs its shadow memory where the kernel's address
    # randomisation may put something else.
    fixed=
    if [ "$sanitize" = thread ] && setarch "$(uname -m)" -R true 2>/dev/null
    then
        fixed="setarch $(uname -m) -R"
    fi
    some=
    if [ "$sanitize" = thread ]; then
        echo "Left out: tests without threads, which have no races. Jobs of" \
            "ranks with one thread run once, with a thread of the library."
        some="-L ^threads$"
    elif [ -n "$sanitize" ]; then
        echo "Left out: what is about sources, compilers, linkers, packages" \
            "and speed, and part of the jobs and of the long random tests."
    elif [ "$static" = yes ]; then
        echo "Left out: tests of plugin files and of the shared library, which" \
            "a static build does not have, of parts of the library, which are" \
            "linked in any build as here, of how bad input is refused, and" \
            "of mpirun, which is static in any build; most jobs, and those" \
            "that differ in settings only."
        some="-E ^(abi_symbols|jobs_(bad|launch_[^s]|launch_s[^t]).*|conform_(self|shm_small)|job_.*_(sealed.*|threads[a-z0-9]*|engines))$"
    fi
    if [ -n "$granularity" ]; then
        echo "Left out: tests without threads, for which the granularity" \
            "changes nothing."
        some="-R $threaded"
    fi
    # shellcheck disable=SC2086
    # two more than processors: some tests only wait
    $fixed ctest --test-dir "$dir" --output-on-failure -j $(($(nproc) + 2)) $some
}

run_torture()
{
    ctest --test-dir "$dir" --output-on-failure -C torture -L '^torture$'
}

# The packages of Debian, for which everything is compiled once more.
run_package_tests()
{
    ctest --test-dir "$dir" --output-on-failure -C packages -L '^packages$'
}

# A configuration and the time that it takes, in tenths of that of the first. The
# small ones begin with another one after each commit: a slow machine does not
# leave out the same each time.
configurations='address,undefined:10 thread:7'
small='per-object:3 lock-free:3 static:4 brief-global:3'

begin_with_another()
{
    turn=$(git rev-list --count HEAD 2>/dev/null || echo 0)
    turn=$((turn % $#))
    while [ "$turn" -gt 0 ]; do
        set -- "$@" "$1"
        shift
        turn=$((turn - 1))
    done
    echo "$@"
}

# Of the packages, which take one processor half of the time: beside the small
# configurations. The shell has what runs beside it ignore SIGINT.
begin_packages()
{
    packages_log=$(mktemp)
    trap 'kill 0' INT
    (static=no sanitize='' granularity='' && build && run_package_tests) \
        >"$packages_log" 2>&1 &
    packages=$!
}

end_packages()
{
    ended=0
    wait "$packages" || ended=1
    echo "==== packages"
    cat "$packages_log"
    rm "$packages_log"
    [ $ended = 0 ] || echo "==== packages failed" >&2
    return $ended
}

run_matrix()
{
    result=0
    begun=$(date +%s)
    first=0
    packages=
    # shellcheck disable=SC2086
    for name in $configurations packages:3 $(begin_with_another $small); do
        share=${name#*:} name=${name%:*}
        started=$(date +%s)
        if [ -n "$within" ] && [ "$within" -lt \
            $((started - begun + first * share / 10)) ]; then
            echo "==== $name: left out, it would not end within $within seconds"
            continue
        fi
        if [ "$name" = packages ]; then
            begin_packages
            continue
        fi
        static=no sanitize=$name granularity='' programs=build check=run_tests
        # ccache adds a third to what it has not seen. The static configuration is
        # the only one that consists mostly of what was compiled before.
        export CCACHE_DISABLE=1
        case $name in
        static)
            static=yes sanitize=
            unset CCACHE_DISABLE
            ;;
        *-*) sanitize=thread granularity=$name programs=build_threaded ;;
        esac
        echo "==== $name"
        # a function under "||" is not stopped by set -e, so chain it
        { $programs && $check; } || {
            result=1
            echo "==== $name failed" >&2
        }
        [ "$share" != 10 ] || first=$(($(date +%s) - started))
    done
    [ -z "$packages" ] || end_packages || result=1
    export CCACHE_DISABLE=1
    command=run static=yes sanitize='' granularity='' unity=ON
    ! command -v musl-gcc >/dev/null || {
        musl=yes
        demonstrate musl || result=1
    }
    static=no musl=no target=aarch64-linux-gnu
    if present "$target-gcc" && present libsodium.a && present libinih.a &&
        [ -n "$(emulator)" ]; then
        demonstrate "$target" || result=1
    else
        echo "Left out: the demonstration for $target, which needs its" \
            "compiler, its libinih.a and libsodium.a, and qemu-user"
    fi
    return $result
}

# $1: the name of the configuration
demonstrate()
{
    echo "==== $1"
    { build && (demonstration); } || {
        echo "==== $1 failed" >&2
        return 1
    }
}

# Prints what runs a program of the target here, where the processor is another.
emulator()
{
    cpu=${target%%-*}
    case $cpu in
    i?86) cpu=i386 ;;
    powerpc64le) cpu=ppc64le ;;
    esac
    [ -n "$target" ] && [ "$cpu" != "$(uname -m)" ] || return 0
    for name in "qemu-$cpu" "qemu-$cpu-static"; do
        ! command -v "$name" >/dev/null || {
            echo "$name -L /usr/$target"
            return 0
        }
    done
}

demonstration()
{
    [ -x "$dir/examples/heat" ] || fail "examples/heat.c is missing"
    by=$(emulator)
    cd "$dir"
    # shellcheck disable=SC2086
    exec $by bin/mpirun -n 4 --nodes 2 --set core.stats=yes $by examples/heat
}

measure()
{
    export WEFT_BUILD="$PWD/$dir"
    exec python3 bench/run.py "$@"
}

analyse()
{
    command -v clang >/dev/null || fail "analyse needs clang (Debian package)"
    python3 -B tests/analyse.py "$dir" ${granularity:+"$granularity"}
}

install_packages
if [ "$matrix" = yes ]; then
    run_matrix
    exit
fi
build
case $command in
build) echo "Built in $dir: $dir/bin/mpicc, $dir/bin/mpirun" ;;
test)
    if [ "$torture" = yes ]; then run_torture; else run_tests; fi
    ;;
analyse) analyse ;;
install) cmake --install "$dir" --prefix "$prefix" ;;
run) demonstration ;;
bench) measure "$@" ;;
esac
