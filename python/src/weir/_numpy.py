# SPDX-License-Identifier: Apache-2.0
"""NumPy for the modules that `import weir` loads: imported when its first name is used, as it takes longer than Weir.

They import this module under the name `np`, and type checkers see NumPy itself.
"""

from typing import Any


def __getattr__(name: str) -> Any:
    import numpy

    found = getattr(numpy, name)
    globals()[name] = found  # the next use does not come here
    return found
