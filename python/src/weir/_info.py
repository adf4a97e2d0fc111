# SPDX-License-Identifier: Apache-2.0
"""What this machine has for Weir."""

from typing import NamedTuple, Tuple

from weir import _core


class DeviceKind(NamedTuple):
    """A kind of device that this build knows."""

    kind: str
    """As in the devices of a Context: "cuda"."""
    available: bool
    """Whether a context can use it."""
    text: str
    """What was found, or what is missing."""


class Info(NamedTuple):
    """What weir.info() found; printed, it is a table."""

    version: str
    """Version of the library."""
    kinds: Tuple[DeviceKind, ...]
    """Each kind of device."""

    def __str__(self) -> str:
        lines = [f"weir {self.version}"]
        for one in self.kinds:
            lines.append(f"  {one.kind:8} {'yes' if one.available else 'no ':4} {one.text}")
        return "\n".join(lines)


def info() -> Info:
    """Says which devices this machine has, and why others are missing. The first call loads drivers."""
    return Info(_core.version(), tuple(DeviceKind(*one) for one in _core.probe()))
