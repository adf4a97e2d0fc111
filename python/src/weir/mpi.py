# SPDX-License-Identifier: Apache-2.0
"""One program over the ranks of an MPI job, on mpi4py and libweir-mpi.

Every rank runs the same program and makes the same calls of its Job, in one order. Each task runs on one rank, and what
it reads travels there in the background. docs/guide/python.md says where the library is looked for.

    from mpi4py import MPI
    import weir
    import weir.mpi

    with weir.Context("cpu:1") as context, weir.mpi.Job(context, MPI.COMM_WORLD) as job:
        ...
"""

import os
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Dict, Optional, Sequence, Set, Tuple, Type, Union

from weir import _core
from weir._array import Buffer
from weir._context import Context, check_layout
from weir._errors import Error, InvalidArgumentError, OutOfRangeError, ReleasedError, UnavailableError, whole
from weir._event import Event

if TYPE_CHECKING:
    from weir._kernel import Kernel

__all__ = ["Job"]

_ALL, _OWNER = -2, -1
_NAME = "libweir-mpi.so.0"
_READ = 1  # of weir_mode
_FOREVER = (1 << 64) - 1

_open: "Set[Job]" = set()  # they end at the same place on all ranks, and not where an interpreter drops them


def _path() -> str:
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), _NAME)
    return os.environ.get("WEIR_MPI_LIBRARY") or (beside if os.path.exists(beside) else _NAME)


def _load() -> Any:
    """Loads mpi4py and libweir-mpi, which are of the same MPI, and returns mpi4py.MPI."""
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as failure:
        raise UnavailableError(f"weir.mpi needs mpi4py (pip install mpi4py) and its MPI: {failure}") from failure
    path = _path()
    try:
        _core.ranks_load(path)
    except UnavailableError as failure:
        raise UnavailableError(
            f"weir.mpi needs libweir-mpi, which is built with the MPI of mpi4py: {failure}. Debian's package is "
            "libweir-mpi0; WEIR_MPI_LIBRARY names a file"
        ) from None
    own, theirs = (text.strip("\0\n ") for text in (_core.ranks_mpi_version(), MPI.Get_library_version()))
    if own != theirs:
        names = " and ".join(repr(text.partition("\n")[0]) for text in (own, theirs))
        raise UnavailableError(f"libweir-mpi ({path}) and mpi4py have different MPIs: {names}")
    return MPI


def _count(name: str, value: int, most: int) -> int:
    """An option that is a number of bytes or calls; more than `most`, which nobody reaches, is as good as `most`."""
    if value < 0:
        raise InvalidArgumentError(f"{name} is 0 for the default, or more, and not {value}")
    return min(value, most)


class Job:
    """A context that takes part in an MPI job. A context manager: its end waits for all ranks.

    A job that is dropped goes on; it ends with its context, or with the interpreter.

    context: has a CPU device. communicator: an mpi4py.MPI.Comm, whose ranks all make the job; None: COMM_WORLD. The
    job has communicators of its own. timeout: seconds after which a silent rank is lost; None: never. send_limit: most
    bytes that wait to be sent (1 GiB, with a card through the host 512 MiB). piece_bytes: most bytes of a message
    (1 GiB). check_every: calls after which ranks compare what they submitted (64). Options are the same on all ranks.

    All calls but statistics() are made by all ranks in one order, by one thread of each, and not in tasks. They raise
    weir.InvalidArgumentError, with both calls, if ranks make different ones, and weir.DeviceLostError if a rank is
    lost. weir.UnavailableError: mpi4py or libweir-mpi is missing, or they are of different MPIs.
    """

    def __init__(
        self,
        context: Context,
        communicator: Any = None,
        *,
        timeout: Optional[float] = 60.0,
        send_limit: int = 0,
        piece_bytes: int = 0,
        check_every: int = 0,
    ) -> None:
        if timeout is not None and not timeout > 0:
            raise InvalidArgumentError(f"a rank is lost after more than 0 seconds, and not after {timeout}")
        counts = (
            _count("send_limit", send_limit, _FOREVER),
            _count("piece_bytes", piece_bytes, _FOREVER),
            _count("check_every", check_every, 2**32 - 1),
        )
        MPI = _load()
        communicator = MPI.COMM_WORLD if communicator is None else communicator
        nanoseconds = _FOREVER if timeout is None or timeout >= 1e9 else max(1, int(timeout * 1e9))
        self._context = context
        self._storages: Dict[int, Tuple[_core.Storage, int]] = {}  # by id; the owner
        self._handle, self._rank, self._size = _core.ranks_create(
            context, MPI._addressof(communicator), nanoseconds, *counts
        )
        self._closed = False
        context._jobs.append(self)
        _open.add(self)

    @property
    def rank(self) -> int:
        """The number of this rank."""
        return self._rank

    @property
    def size(self) -> int:
        """The number of ranks."""
        return self._size

    @property
    def closed(self) -> bool:
        """Whether the job has ended on this rank."""
        return self._closed

    # ------------------------------------------------------------------------------------------------------------
    # Buffers

    def buffer(
        self,
        shape: Union[int, Sequence[int]],
        dtype: Any = "float32",
        *,
        owner: int = 0,
        label: Optional[str] = None,
    ) -> Buffer:
        """Creates a buffer on every rank, of which `owner` is the rank that computes it.

        It takes memory where it is used. Contents are undefined until a task writes them. The buffer lives until
        release(), or the end of the job, also if it is dropped before: ranks drop objects at different times.
        """
        lengths, kind, nbytes = check_layout(shape, dtype)
        self._check_rank(owner)
        storage = _core.ranks_buffer_create(self._handle, nbytes, owner, label)
        self._storages[id(storage)] = (storage, owner)
        return Buffer(storage, kind, lengths, None, 0, nbytes, None)

    def owner(self, buffer: Buffer) -> int:
        """The rank that owns a buffer, or the buffer that a slice is of."""
        if id(buffer._storage) not in self._storages:
            raise InvalidArgumentError(f"{buffer!r} is none of this job (Job.buffer), or was released")
        return self._storages[id(buffer._storage)][1]

    def move(self, buffer: Buffer, owner: int) -> None:
        """Makes another rank the owner for later tasks. Contents travel when a task reads them."""
        self.owner(buffer)
        self._check_rank(owner)
        _core.ranks_move(self._handle, buffer._storage, owner)
        self._storages[id(buffer._storage)] = (buffer._storage, owner)

    def release(self, buffer: Buffer) -> None:
        """Releases a buffer on all ranks, after its last use."""
        self.owner(buffer)
        _core.ranks_buffer_release(self._handle, buffer._storage)
        del self._storages[id(buffer._storage)]

    def fetch(self, buffer: Buffer, rank: int) -> None:
        """Makes a buffer, or a slice of it, valid on a rank, for buffer.numpy() and the like there. Does not wait.

        Where contents are missing, buffer.numpy() raises weir.InvalidArgumentError, which says who has them.
        """
        self._check_rank(rank)
        _core.ranks_range(self._handle, buffer, rank, False)

    def broadcast(self, buffer: Buffer) -> None:
        """Makes a buffer, or a slice of it, valid on all ranks, by a binomial tree. Does not wait."""
        _core.ranks_range(self._handle, buffer, _ALL, False)

    def written(self, buffer: Buffer, rank: int) -> None:
        """Says that a rank overwrites a buffer, or a slice of it, by a call of the buffer or of its context.

        All ranks make this call beside that one, which `rank` alone makes: buffer.copy_from(x), buffer.fill(x), a
        graph. To update contents, fetch them first.
        """
        self._check_rank(rank)
        _core.ranks_range(self._handle, buffer, rank, True)

    # ------------------------------------------------------------------------------------------------------------
    # Tasks

    def submit(
        self,
        work: "Union[Kernel, Callable[..., Any]]",
        *args: Any,
        rank: Optional[int] = None,
        after: "Union[Event, None, Sequence[Optional[Event]]]" = None,
        **options: Any,
    ) -> Optional[Event]:
        """Submits a task, which runs on `rank`, or on the owner of the first buffer that it writes (or else reads).

        work, args and options are those of Context.submit. Returns the task's event on the rank that runs it, and None
        on others; `after` may have such Nones. On other ranks a device that is not there is ignored.
        """
        if rank is not None:
            self._check_rank(rank)
        if after is not None:
            events = [after] if isinstance(after, Event) else after
            options["after"] = tuple(one for one in events if one is not None)
        if options.get("device") is not None and not self._runs_here(args, rank):
            options["device"] = None
        return _core.ranks_submit(self._handle, (work, *args), options, _OWNER if rank is None else rank)

    def reduce(self, work: "Union[Kernel, Callable[..., Any]]", buffers: Sequence[Buffer], **options: Any) -> None:
        """Combines buffers of equal size into the first one: work(a, b) updates a by b. Other ones hold parts then.

        The tasks form a binomial tree, each at the owner of what it updates, in one order for any number of ranks.
        With broadcast(buffers[0]) behind it, all ranks have the result.
        """
        if len(buffers) == 0:
            raise InvalidArgumentError("there are no buffers to combine")
        if any(one.shape != buffers[0].shape or one.dtype != buffers[0].dtype for one in buffers):
            raise InvalidArgumentError("buffers to combine have one shape and type")
        first: Optional[Error] = None
        distance = 1
        while distance < len(buffers):
            for i in range(0, len(buffers) - distance, 2 * distance):
                try:
                    self.submit(work, _core.update(buffers[i]), _core.read(buffers[i + distance]), **options)
                except Error as failure:
                    first = first or failure  # all are submitted, as on ranks where none is refused
            distance *= 2
        if first is not None:
            raise first

    def skip(self, count: int) -> None:
        """Leaves out calls that do not concern this rank. weir/mpi.h has the conditions; nobody checks them.

        Each call counts 1, reduce() one less than it has buffers, finish() and close() are never left out.
        """
        _core.ranks_skip(self._handle, whole("count", count, 64))

    # ------------------------------------------------------------------------------------------------------------
    # The end

    def finish(self) -> None:
        """Waits for all tasks of this rank, and until the rank before it has come to the same call.

        Raises the job's failure, or as Context.finish(). A signal is handled after the wait alone.
        """
        _core.ranks_finish(self._handle)

    def statistics(self) -> Dict[str, int]:
        """Counts of this rank, as in weir_mpi_statistics: calls, tasks, messages and bytes. Does not wait.

        direct_sent and direct_received count messages whose contents MPI took from the memory of a CUDA device, or
        brought there (WEIR_MPI_DIRECT).
        """
        return _core.ranks_statistics(self._handle)

    def close(self) -> None:
        """Finishes, waits for all ranks to do so, and ends the job. Its buffers stay with the context.

        Raises as finish(). A closed job can be closed again. After a failure of the job it waits for nobody. The
        program then ends by MPI.COMM_WORLD.Abort(), since MPI's own end may wait for a lost rank.
        """
        if self._closed:
            return
        failure = _core.ranks_release(self._handle, tuple(one for one, _ in self._storages.values()))
        self._closed = True
        self._storages.clear()
        self._context._jobs.remove(self)
        _open.remove(self)
        if failure is not None:
            raise failure

    def __enter__(self) -> "Job":
        if self._closed:
            raise ReleasedError("the job has ended")
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], where: Optional[TracebackType]
    ) -> None:
        """Closes. After an exception, of which the other ranks do not know, they find that this rank differs."""
        if error is None:
            self.close()
        else:
            self._end()

    def __repr__(self) -> str:
        return f"<weir.mpi.Job {'closed' if self._closed else f'rank {self._rank} of {self._size}'}>"

    # ------------------------------------------------------------------------------------------------------------

    def _end(self) -> None:
        """Closes, and keeps failures to itself."""
        try:
            self.close()
        except Error:
            pass

    def _check_rank(self, rank: int) -> None:
        if not 0 <= rank < self._size:
            raise OutOfRangeError(f"there is no rank {rank}: the job has {self._size}")

    def _runs_here(self, args: Sequence[Any], rank: Optional[int]) -> bool:
        accesses = [one for one in args if isinstance(one, _core.Access)]
        written = [one for one in accesses if one._mode != _READ]
        if rank is None and accesses:
            rank = self.owner((written or accesses)[0].array)
        return rank == self._rank
