# SPDX-License-Identifier: Apache-2.0
"""Kernels that are written once, in C with weir/kernel.h: compiled for the CPU when they are first used."""

import ctypes
import os
import re
import threading
from typing import TYPE_CHECKING, AbstractSet, Dict, List, Optional, Tuple

from weir import _core
from weir._errors import InvalidArgumentError, UnavailableError

if TYPE_CHECKING:
    from weir._kernel import Cpu, Cuda, OpenCL

HERE = os.path.dirname(os.path.abspath(__file__))
INCLUDE = os.path.join(HERE, "include")

# As weir_add_kernels does: no option changes a result, and none fuses a multiplication with an addition.
_FLAGS = ["-std=gnu11", "-O3", "-fPIC", "-shared", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"]
_KERNEL = re.compile(
    r"WEIR_KERNEL\s*\(\s*([A-Za-z_]\w*)\s*,\s*([^,]+?)\s*,\s*([^,]+?)\s*,\s*([^,]+?)\s*,",
)
_INCLUDE = re.compile(r'#[ \t]*include[ \t]*[<"]weir/kernel\.h[>"]')

_lock = threading.Lock()
_libraries: Dict[Tuple[str, str], ctypes.CDLL] = {}


class CCode:
    """Kernels in C for the CPU, CUDA and OpenCL devices (docs/guide/kernels.md).

    source: the text of a file that includes <weir/kernel.h> and has one WEIR_KERNEL or more. The CPU device needs a C
    compiler: the environment variable CC, or cc. compiler_options: more options for it, such as "-march=native".
    """

    def __init__(self, source: str, *, compiler_options: str = "") -> None:
        self.source = source
        self.compiler_options = compiler_options
        self.names: List[str] = [one.group(1) for one in _KERNEL.finditer(source)]
        """Names of the kernels."""
        if not self.names:
            raise InvalidArgumentError("the source has no WEIR_KERNEL")

    def device_source(self) -> str:
        """The text for CUDA's and OpenCL's compilers: with weir/kernel.h in it, so that no include path is needed."""
        with open(os.path.join(INCLUDE, "weir", "kernel.h"), encoding="utf-8") as header:
            text = header.read() + '\n#line 1 "kernels.c"\n' + self.source
        return _INCLUDE.sub("", text)

    def block(self, name: str) -> Tuple[int, int, int]:
        """Work-items of a work-group, as the source says: three numbers."""
        for one in _KERNEL.finditer(self.source):
            if one.group(1) == name:
                try:
                    x, y, z = (int(one.group(i), 0) for i in (2, 3, 4))
                    return x, y, z
                except ValueError:
                    return _core.kernel_code(self._address(name))[1]
        raise InvalidArgumentError(f"the source has no kernel {name!r}: it has {', '.join(self.names)}")

    def for_kinds(
        self,
        name: str,
        kinds: AbstractSet[str],
        cpu: Optional["Cpu"],
        cuda: Optional["Cuda"],
        opencl: Optional["OpenCL"],
    ) -> Tuple[Optional["Cpu"], Optional["Cuda"], Optional["OpenCL"]]:
        """The code for each kind of device that has none of its own."""
        from weir._kernel import Cpu, Cuda, OpenCL

        block = self.block(name)
        if cpu is None and "cpu" in kinds:
            cpu = Cpu(_core.kernel_code(self._address(name))[0], keep=self._library())
        if cuda is None and "cuda" in kinds:
            cuda = Cuda(source=self.device_source(), block=block, options="-fmad=false", groups=True)
        if opencl is None and "opencl" in kinds:
            opencl = OpenCL(source=self.device_source(), local=block, exact=True)
        return cpu, cuda, opencl

    def _address(self, name: str) -> int:
        return ctypes.addressof(ctypes.c_char.in_dll(self._library(), name))

    def _library(self) -> ctypes.CDLL:
        key = (self.compiler_options, self.source)
        with _lock:
            if key not in _libraries:
                _libraries[key] = self._compile()
            return _libraries[key]

    def _compile(self) -> ctypes.CDLL:
        import shlex  # these three take longer than the rest of the package to import
        import subprocess
        import tempfile

        compiler = shlex.split(os.environ.get("CC", "")) or ["cc"]
        with tempfile.TemporaryDirectory(prefix="weir-") as folder:
            source, library = os.path.join(folder, "kernels.c"), os.path.join(folder, "kernels.so")
            with open(source, "w", encoding="utf-8") as out:
                out.write(self.source)
            command = [*compiler, *_FLAGS, *shlex.split(self.compiler_options), f"-I{INCLUDE}", "-o", library, source]
            command += [os.path.join(HERE, "libweir.so.0"), "-lm"]
            try:
                run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            except OSError as failure:
                raise UnavailableError(
                    f"kernels in C need a C compiler on the CPU device: {failure} (CC names it)"
                ) from None
            if run.returncode != 0:
                raise InvalidArgumentError(f"the kernels do not compile for the CPU device:\n{run.stdout}")
            return ctypes.CDLL(library)
