#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_install.py CMAKE BUILD SOURCE CC: installs a build to a folder of its own, and builds and runs a program
against what is there: through pkg-config and through CMake, with the shared and with the static library."""
import glob
import os
import re
import subprocess
import sys
import tempfile
import unittest

CMAKE, BUILD, SOURCE, CC = sys.argv[1:5]
del sys.argv[1:5]
QUICKSTART = os.path.join(SOURCE, "examples", "quickstart.c")


def run(*command, **environment):
    """Output of a command that must succeed."""
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            env=dict(os.environ, **environment))
    if result.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: exit code {result.returncode}\n{result.stdout}")
    return result.stdout


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        # Installed, then moved: nothing in the tree may know where it was.
        first = os.path.join(cls.folder.name, "first")
        cls.prefix = os.path.join(cls.folder.name, "prefix")
        run(CMAKE, "--install", BUILD, "--prefix", first)
        os.rename(first, cls.prefix)
        cls.library = os.path.dirname(cls.only("lib*", "**", "libweir.a"))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def only(cls, *parts):
        """The one path in the installed tree that a pattern names."""
        paths = glob.glob(os.path.join(cls.prefix, *parts), recursive=True)
        if len(paths) != 1:
            raise AssertionError(f"{os.path.join(*parts)}: expected one file, found {paths}")
        return paths[0]

    def pkg_config(self, *arguments, package="weir"):
        return run("pkg-config", *arguments, package, PKG_CONFIG_PATH=os.path.join(self.library, "pkgconfig")).split()

    def build_and_run(self, name, flags, **environment):
        program = os.path.join(self.folder.name, name)
        run(CC, "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", QUICKSTART, "-o", program, *flags)
        self.assertIn("WEIR_OK: 999 + 999 = 1998", run(program, **environment))
        return run("ldd", program)

    def test_pkg_config_shared(self):
        libraries = self.build_and_run("shared", self.pkg_config("--cflags", "--libs"), LD_LIBRARY_PATH=self.library)
        self.assertIn("libweir.so.0", libraries)

    def test_pkg_config_static(self):
        flags = self.pkg_config("--cflags", "--libs", "--static")
        self.assertNotIn("-lhwloc", flags)  # it is loaded at run time
        flags = ["-l:libweir.a" if flag == "-lweir" else flag for flag in flags]
        self.assertNotIn("libweir", self.build_and_run("static", flags))

    def test_cmake(self):
        build = os.path.join(self.folder.name, "consumer")
        run(CMAKE, "-S", os.path.join(SOURCE, "tests", "install", "consumer"), "-B", build, "-G", "Ninja",
            f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DCMAKE_C_COMPILER={CC}", f"-DQUICKSTART={QUICKSTART}",
            "-DCMAKE_BUILD_TYPE=Debug")
        run(CMAKE, "--build", build)
        for program, shared in (("with_weir", True), ("with_weir_static", False)):
            path = os.path.join(build, program)
            self.assertIn("WEIR_OK: 999 + 999 = 1998", run(path))
            self.assertEqual("libweir.so.0" in run("ldd", path), shared)
        output = run(os.path.join(build, "with_kernels"))
        self.assertIn("WEIR_OK: 255 * 255 + 1 = 65026", output)
        self.assertIn("source: embedded", output)

    def has_mpi(self):
        return os.path.exists(os.path.join(self.prefix, "include", "weir", "mpi.h"))

    def check_heat(self, program):
        """The example of libweir-mpi, built against it, runs on one rank."""
        output = run(program, LD_LIBRARY_PATH=self.library, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        self.assertIn("rank 0 of 1: 1000.000000 in all", output)
        self.assertIn("libweir-mpi.so.0", run("ldd", program, LD_LIBRARY_PATH=self.library))

    def test_mpi_pkg_config(self):
        if not self.has_mpi():
            self.skipTest("the build has no libweir-mpi")
        program = os.path.join(self.folder.name, "heat")
        run("mpicc", "-std=c11", "-Wall", os.path.join(SOURCE, "examples", "mpi", "heat.c"), "-o", program,
            *self.pkg_config("--cflags", "--libs", package="weir-mpi"), "-lm")
        self.check_heat(program)

    def test_replay_on_ranks(self):
        """The installed command finds the program of a rank; a launcher of one rank stands in for mpirun."""
        launcher = os.path.join(self.folder.name, "launcher")
        with open(launcher, "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\nif [ "$1" = --version ]; then echo one; exit; fi\nshift 2\nexec "$@"\n')
        os.chmod(launcher, 0o700)
        done = subprocess.run([os.path.join(self.prefix, "bin", "weir"), "replay", "--ranks", "1", "--launcher", launcher, "pattern:fft,steps=5"],
                              capture_output=True, text=True, check=False)
        if self.has_mpi():
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("1 rank of device cpu", done.stdout)
        else:
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn("weir-replay-ranks is missing", done.stderr)

    def test_mpi_cmake(self):
        """find_package(weir COMPONENTS mpi) gives weir::mpi, and a tree without it says that the component is missing."""
        source = os.path.join(SOURCE, "tests", "install", "consumer_mpi")
        build = os.path.join(self.folder.name, "consumer_mpi")
        configure = (CMAKE, "-S", source, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={self.prefix}",
                     f"-DCMAKE_C_COMPILER={CC}", f"-DHEAT={os.path.join(SOURCE, 'examples', 'mpi', 'heat.c')}")
        if self.has_mpi():
            run(*configure)
            run(CMAKE, "--build", build)
            self.check_heat(os.path.join(build, "heat"))
        else:
            failed = subprocess.run(configure, capture_output=True, text=True, check=False)
            self.assertNotEqual(failed.returncode, 0)
            self.assertIn("mpi", failed.stderr)

    def test_soname(self):
        dynamic = run("readelf", "-d", self.only("lib*", "**", "libweir.so"))
        self.assertRegex(dynamic, r"SONAME.*\[libweir\.so\.0\]")

    def headers(self):
        headers = sorted(glob.glob(os.path.join(self.prefix, "include", "weir", "*.h")))
        self.assertLessEqual({"weir.h", "graph.h", "sim.h"}, {os.path.basename(path) for path in headers})
        return headers

    def test_exports(self):
        """The shared library exports what the headers declare and debian/libweir0.symbols lists, and nothing else."""
        declared = set()
        for path in self.headers():
            with open(path, encoding="utf-8") as header:
                declared |= set(re.findall(r"^WEIR_API [^;()]*?\b(weir_\w+)\(", header.read(), re.MULTILINE))
        of_mpi = {name for name in declared if name.startswith("weir_mpi_")}
        declared -= of_mpi
        self.assertGreater(len(declared), 50)
        if of_mpi:  # the header is installed with its library alone
            symbols = run("nm", "-D", "--defined-only", self.only("lib*", "**", "libweir-mpi.so")).splitlines()
            self.assertEqual({line.split()[-1] for line in symbols}, of_mpi)
            with open(os.path.join(SOURCE, "debian", "libweir-mpi0.symbols"), encoding="utf-8") as symbols:
                self.assertEqual(set(re.findall(r"^ (\w+)@Base ", symbols.read(), re.MULTILINE)), of_mpi)
        symbols = run("nm", "-D", "--defined-only", self.only("lib*", "**", "libweir.so")).splitlines()
        exported = {line.split()[-1] for line in symbols}
        self.assertEqual(exported - declared, set(), "exported, but not declared in a header")
        self.assertEqual(declared - exported, set(), "declared in a header, but not exported")
        with open(os.path.join(SOURCE, "debian", "libweir0.symbols"), encoding="utf-8") as symbols:
            listed = set(re.findall(r"^ (\w+)@Base ", symbols.read(), re.MULTILINE))
        self.assertEqual(exported - listed, set(), "exported, but not listed in debian/libweir0.symbols")
        self.assertEqual(listed - exported, set(), "listed in debian/libweir0.symbols, but not exported")

    def test_static_names(self):
        """What the static library defines starts with weir_, so that it cannot clash with a program's names."""
        symbols = run("nm", "-g", "--defined-only", os.path.join(self.library, "libweir.a"))
        names = re.findall(r"^[0-9a-f]+ [A-Z] (\S+)$", symbols, re.MULTILINE)
        self.assertEqual([name for name in names if not name.startswith("weir_")], [])

    def test_header_alone(self):
        self.include_each(CC, "c", "c11")

    def test_header_in_cplusplus(self):
        self.include_each("g++", "c++", "c++11")

    def test_cplusplus(self):
        """The C++ quickstart runs against the installed header and library."""
        program = os.path.join(self.folder.name, "quickstart_cpp")
        source = os.path.join(SOURCE, "examples", "quickstart.cpp")
        run("g++", "-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", source, "-o", program,
            *self.pkg_config("--cflags", "--libs"), "-pthread")
        self.assertIn("999 + 999 = 1998", run(program, LD_LIBRARY_PATH=self.library))

    def include_each(self, compiler, language, standard):
        """A source that includes one header and nothing else compiles without warnings."""
        for path in self.headers():
            run(compiler, f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only",
                "-I", self.only("include"), "-include", path, "-x", language, "/dev/null")

    def test_tool_and_manual(self):
        self.assertIn("replay", run(self.only("bin", "weir"), "--help"))
        for program in ("weir", "weir-check"):
            self.only("share", "man", "man1", program + ".1")

    def test_nothing_else(self):
        """Benchmarks and tests stay in the build folder."""
        self.assertEqual(sorted(os.listdir(self.only("bin"))), ["weir", "weir-check"])
        self.assertEqual(sorted(os.listdir(self.only("share"))), ["doc", "man"])

    def test_pages(self):
        """The pages are there, and their links among each other and to the examples lead somewhere."""
        pages = self.only("share", "doc", "weir")
        names = ["README.md", *(os.path.relpath(path, pages)
                                for path in glob.glob(os.path.join(pages, "docs", "**", "*.md"), recursive=True))]
        self.assertIn(os.path.join("docs", "inside", "architecture.md"), names)
        for name in names:
            with open(os.path.join(pages, name), encoding="utf-8") as page:
                text = re.sub(r"```.*?```", "", page.read(), flags=re.DOTALL)
            targets = re.findall(r"\]\(([^)#]+)\)", text)
            for target in targets:
                path = os.path.normpath(os.path.join(os.path.dirname(name), target))
                if "://" not in target and path.startswith(("docs/", "examples/", "README.md")) and not path.startswith("docs/man/"):
                    self.assertTrue(os.path.exists(os.path.join(pages, path)), f"{name}: {target} is not there")

    def test_examples(self):
        """The installed examples are a project that finds the installed library."""
        build = os.path.join(self.folder.name, "examples")
        run(CMAKE, "-S", self.only("share", "doc", "weir", "examples"), "-B", build, "-G", "Ninja",
            f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DCMAKE_C_COMPILER={CC}", "-DCMAKE_BUILD_TYPE=Debug",
            "-DCMAKE_CUDA_COMPILER=NOTFOUND")  # none of those below takes it, and to look for it takes longer than they
        # Plain C, kernels that are embedded, shaders, a part of tools/plot.
        run(CMAKE, "--build", build, "--target", "quickstart", "dynroute", "sequence_readme", "tonemap",
            *(["mpi_heat"] if self.has_mpi() else []))
        self.assertIn("WEIR_OK: 999 + 999 = 1998", run(os.path.join(build, "bin", "quickstart")))


if __name__ == "__main__":
    unittest.main()
