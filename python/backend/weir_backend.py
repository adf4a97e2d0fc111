# SPDX-License-Identifier: Apache-2.0
"""Build backend: scikit-build-core, with the library's sources inside a source distribution.

In a checkout the library's sources are in the folder above python/; a source distribution has a copy in library/.
"""

import contextlib
import os
import shutil

from scikit_build_core.build import *  # noqa: F403
from scikit_build_core.build import build_sdist as _build_sdist

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ABOVE = os.path.dirname(HERE)
PARTS = ("CMakeLists.txt", "LICENSE", "README.md", "CHANGELOG.md", "cmake", "include", "src", "docs/man")


@contextlib.contextmanager
def _library():
    target = os.path.join(HERE, "library")
    if not os.path.exists(os.path.join(ABOVE, "include", "weir", "weir.h")):
        yield  # this is a source distribution itself
        return
    shutil.rmtree(target, ignore_errors=True)
    try:
        for part in PARTS:
            source, copy = os.path.join(ABOVE, part), os.path.join(target, part)
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            (shutil.copytree if os.path.isdir(source) else shutil.copy)(source, copy)
        yield
    finally:
        shutil.rmtree(target, ignore_errors=True)


def build_sdist(sdist_directory, config_settings=None):
    with _library():
        return _build_sdist(sdist_directory, config_settings)
