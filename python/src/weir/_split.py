# SPDX-License-Identifier: Apache-2.0
"""Splits: one launch of a kernel over several devices."""

from typing import TYPE_CHECKING, Any, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from weir import _core
from weir._errors import InvalidArgumentError, whole
from weir._event import Event
from weir._kernel import Kernel

if TYPE_CHECKING:
    from weir._context import Context
    from weir._device import Device


class Block(NamedTuple):
    """An argument of which each part of a launch gets its rows: made by weir.block."""

    access: _core.Access
    rows: int
    before: int
    after: int


class Part(NamedTuple):
    """An argument that says which part of a launch it is: made by weir.part."""

    halo_of: int


def block(access: _core.Access, rows: int = 1, halo: Union[int, Tuple[int, int]] = 0) -> Block:
    """An argument of a split launch of which each work-group has `rows` rows: lines along the first axis.

    halo: work-groups whose rows a part also reads, on both sides, or (before, after).
    """
    if not isinstance(access, _core.Access):
        raise TypeError(f"a block is of an access of a buffer (weir.read(a), ...), and not of {type(access)}")
    if rows < 1:
        raise InvalidArgumentError(f"a work-group has {rows} rows: it has at least one")
    before, after = (halo, halo) if isinstance(halo, int) else halo
    return Block(access, rows, before, after)


def part(halo_of: int = 0) -> Part:
    """A value of eight 32-bit numbers that says which part of the launch a kernel runs (weir_split_part).

    halo_of: index of the block argument whose halo it has.
    """
    return Part(halo_of)


class DeviceRound(NamedTuple):
    """Work of a device in a launch."""

    device: str
    """Its name."""
    parts: int
    """Number of its parts."""
    groups: int
    """Work-groups along the cut dimension that it finished."""
    share: float
    """Fraction of the launch."""
    busy_ns: int
    """Time that it was busy, transfers included."""
    failed: bool
    """It failed in this launch, or was lost before."""


class Round(NamedTuple):
    """A split launch that is done."""

    launch: int
    """Its number in the split, from 0."""
    ok: bool
    """Whether it succeeded."""
    kernel: str
    """Name of the kernel."""
    policy: str
    """Name of the policy; of "auto" with its choice."""
    why: str
    """Why it was cut as it was."""
    groups: int
    """Work-groups along the cut dimension."""
    redone: int
    """Parts that another device ran because the first failed."""
    wall_ns: int
    """Duration."""
    devices: Tuple[DeviceRound, ...]
    """Work of each device."""


class Split:
    """Launches that are cut into parts for several devices, made by Context.split."""

    __slots__ = ("_handle", "__weakref__")

    def __init__(self, handle: _core.Handle) -> None:
        self._handle = handle

    def submit(
        self,
        kernel: Kernel,
        *args: Any,
        groups: Union[int, Sequence[int]],
        dimension: int = 0,
        granularity: int = 1,
        priority: int = 0,
        label: Optional[str] = None,
        tag: int = 0,
    ) -> Event:
        """Submits a launch, and returns its event. It counts as one task.

        args: weir.block(weir.read(a), rows, halo) for what is cut; weir.read(a) for what each part reads whole;
        weir.part() for a value that says which part it is; other values as of Context.submit. The ranges that parts
        write must cover the argument. dimension: the one that is cut, 0, 1 or 2. granularity: parts are cut at
        multiples of so many work-groups.
        """
        given = tuple(self._argument(one, i) for i, one in enumerate(args))
        cut = (whole("dimension", dimension), whole("granularity", granularity))
        return _core.split_submit(self._handle, kernel, given, groups, *cut, priority, label, whole("tag", tag, 64))

    @staticmethod
    def _argument(one: Any, place: int) -> Any:
        if isinstance(one, Block):
            array = one.access.array
            if array.ndim == 0 or array._boxed:
                raise InvalidArgumentError(f"argument {place}: {array!r} has no rows without gaps to cut at")
            row = array.nbytes // array.shape[0]
            return one.access, whole("rows", one.rows * row, 64), whole("halo", one.before), whole("halo", one.after)
        if isinstance(one, Part):
            return whole("halo_of", one.halo_of)
        if isinstance(one, (_core.Access, bytes)):
            return one
        if isinstance(one, (np.generic, np.ndarray)):
            return one.tobytes()
        raise TypeError(
            f"argument {place} is {type(one)}: a split launch takes weir.block(weir.read(a), rows), weir.read(a), "
            "weir.part(), and values whose type says their bytes: numpy.float32(x)"
        )

    def last_round(self) -> Round:
        """The launch that was completed last."""
        launch, status, kernel, policy, why, groups, redone, wall_ns, devices = _core.split_last_round(self._handle)
        work = tuple(DeviceRound(*one) for one in devices)
        return Round(launch, status == 0, kernel, policy, why, groups, redone, wall_ns, work)

    @property
    def warning(self) -> str:
        """What is wrong with the file of the history, or ""."""
        return _core.split_warning(self._handle)

    def release(self) -> None:
        """Releases the split; launches in flight finish. Writes the file of its history, if it has one."""
        self._handle.release()


def make_split(
    context: "Context",
    devices: Optional[Sequence[Union[str, int, "Device"]]],
    policy: str,
    shares: Optional[Sequence[float]],
    granularities: Optional[Sequence[int]],
    rounds: int,
    floor: float,
    least: int,
    resident: bool,
    history: Optional[str],
) -> Split:
    """See Context.split."""
    numbers = None if devices is None else tuple(context._device_index(one) for one in devices)
    count = len(context.devices) if numbers is None else len(numbers)
    if count > 16 or numbers == ():
        raise InvalidArgumentError(f"a split is over 1 to 16 devices, and not {count if numbers != () else 0}")
    lists: List[Tuple[str, Optional[Sequence[float]]]] = [("shares", shares), ("granularities", granularities)]
    for name, values in lists:
        if values is not None and len(values) != count:
            raise InvalidArgumentError(f"{name} has {len(values)} numbers for {count} devices")
    handle = _core.split_create(
        context,
        numbers,
        policy,
        None if shares is None else tuple(shares),
        None if granularities is None else tuple(whole("a granularity", one) for one in granularities),
        whole("rounds", rounds),
        floor,
        whole("least", least),
        resident,
        history,
    )
    return Split(handle)
