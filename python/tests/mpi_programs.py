# SPDX-License-Identifier: Apache-2.0
"""Programs of test_mpi.py, each with assertions of its own. They begin with START, and run one after another."""

START = """
import numpy as np, sys, weir, weir.mpi
from mpi4py import MPI
def expect(kind, text, call, *args, **options):
    try:
        call(*args, **options)
    except kind as failure:
        assert text in str(failure), str(failure)
    else:
        raise SystemExit(f"no {kind.__name__}")
def say(text):  # in one piece: the other rank prints, too
    sys.stdout.write(text + chr(10))
"""

HEAT = """
TILES, CELLS, STEPS = 6, 50, 20
def fill(out, tile):
    out[:] = np.arange(CELLS) * (tile + 1)
def diffuse(out, inside, left, right):
    padded = np.concatenate((left, inside, right))
    out[:] = inside + 0.25 * (padded[:-2] - 2 * inside + padded[2:])
def add_up(total, inside):
    total[0] = inside.sum()
def add(a, b):
    a += b
with weir.Context("cpu:1") as context, weir.mpi.Job(context, MPI.COMM_WORLD) as job:
    tiles = [[job.buffer(CELLS, "f8", owner=i * job.size // TILES) for i in range(TILES)] for _ in range(2)]
    sums = [job.buffer(1, "f8", owner=i * job.size // TILES) for i in range(TILES)]
    for i in range(TILES):
        job.submit(fill, weir.write(tiles[0][i]), i)
    for step in range(STEPS):
        old, new = tiles[step % 2], tiles[1 - step % 2]
        for i in range(TILES):
            left = old[i - 1][-1:] if i > 0 else old[i][:1]
            right = old[i + 1][:1] if i + 1 < TILES else old[i][-1:]
            event = job.submit(diffuse, weir.write(new[i]), weir.read(old[i]), weir.read(left), weir.read(right))
            assert (event is None) == (job.owner(new[i]) != job.rank)
    for i in range(TILES):
        job.submit(add_up, weir.write(sums[i]), weir.read(tiles[STEPS % 2][i]))
    job.reduce(add, sums)
    job.broadcast(sums[0])
    job.finish()
    whole = np.concatenate([np.arange(CELLS) * (i + 1.0) for i in range(TILES)])
    for _ in range(STEPS):
        padded = np.concatenate((whole[:1], whole, whole[-1:]))
        whole = whole + 0.25 * (padded[:-2] - 2 * whole + padded[2:])
    for i in range(TILES):
        if job.owner(tiles[0][i]) == job.rank:
            assert (tiles[STEPS % 2][i].numpy() == whole[i * CELLS : (i + 1) * CELLS]).all()
    assert abs(sums[0].numpy()[0] - whole.sum()) < 1e-6
    counts = job.statistics()
    say(f"rank {job.rank}: {counts['tasks']} tasks, {counts['bytes_sent']} bytes")
assert job.closed
"""


BUFFERS = """
with weir.Context("cpu:1") as context:
    job = weir.mpi.Job(context)
    a = job.buffer((4, 8), np.int32, owner=1, label="a")
    assert (a.shape, a.dtype, job.owner(a[1])) == ((4, 8), np.dtype("i4"), 1)
    if job.rank == 1:
        a.copy_from(np.arange(32, dtype=np.int32).reshape(4, 8))
    job.written(a, 1)
    job.fetch(a[2:], 0)
    job.finish()
    assert job.statistics()["bytes_received"] == (64 if job.rank == 0 else 0)
    assert (a[2:].numpy() == np.arange(16, 32).reshape(2, 8)).all()
    if job.rank == 0:
        expect(weir.InvalidArgumentError, "rank 0 lacks bytes 0 to 64 of buffer 1, which rank 1 has", a.numpy)
    say(f"rank {job.rank} counts: {' '.join(job.statistics())}")
    assert (job.statistics()["direct_sent"], job.statistics()["direct_received"]) == (0, 0)
    expect(weir.InvalidArgumentError, "Job.release", a.release)
    expect(weir.InvalidArgumentError, "gaps", job.fetch, a[:, 1:3], 0)
    expect(weir.InvalidArgumentError, "is a box", job.submit, print, weir.read(a[:, 1:3]))
    expect(weir.OutOfRangeError, "no rank 2", job.buffer, 4, owner=2)
    expect(weir.OutOfRangeError, "no rank -1", job.fetch, a, -1)
    expect(weir.OutOfRangeError, "no rank 2", job.move, a, 2)
    local = context.buffer(4)
    expect(weir.InvalidArgumentError, "none of this job", job.fetch, local, 0)
    expect(weir.InvalidArgumentError, "none of weir_mpi_buffer_create", job.submit, print, weir.read(local))
    def add_one(x):
        x += 1
        return int(x[0, 0])
    job.move(a, 0)
    event = job.submit(add_one, weir.update(a))  # which brings the first half to rank 0
    later = job.submit(add_one, weir.update(a), after=[event, None])
    assert job.owner(a) == 0
    if job.rank == 0:
        assert (event.result(), later.result()) == (1, 2)
    else:
        assert event is None and later is None
    job.submit(lambda x: None, weir.read(a), rank=1, device="cpu:1")
    job.release(a)
    expect(weir.ReleasedError, "released", a.numpy)
    expect(weir.InvalidArgumentError, "was released", job.owner, a)
    b = job.buffer(3, "f8", owner=0)
    job.submit(lambda x: x.fill(5), weir.write(b))
    job.broadcast(b)
    job.close()
    job.close()
    assert b.numpy().sum() == 15  # the context's now
    b.release()
    expect(weir.ReleasedError, "has ended", job.finish)
    expect(weir.ReleasedError, "has ended", job.__enter__)
"""

# Ranks drop objects at different times, so that this must not be a call of the sequence.
DROPPED = """
import gc
with weir.Context("cpu:1") as context, weir.mpi.Job(context) as job:
    for i in range(50):
        a = job.buffer(4, "f8", owner=i % 2)
        job.submit(lambda x: x.fill(1), weir.write(a))
        if job.rank == 1:
            a = None
            gc.collect()
    job.finish()
"""

KERNELS = """
CODE = '''
#include <weir/kernel.h>
WEIR_KERNEL(twice, 64, 1, 1, (WEIR_BUFFER(float, x), WEIR_SCALAR(int32_t, count))) {
  WEIR_FOR_EACH_ITEM { if (weir_global_id(0) < count) x[weir_global_id(0)] *= 2; }
}
'''
rank = MPI.COMM_WORLD.Get_rank()
with weir.Context("cpu:1,cpu:1" if rank == 0 else "cpu:1") as context, weir.mpi.Job(context) as job:
    twice = context.kernel("twice", code=weir.CCode(CODE))
    x = job.buffer(100, owner=0)
    job.submit(lambda view: view.fill(3), weir.write(x), rank=1)
    job.submit(twice, weir.update(x), np.int32(100), groups=2, device=1 if rank == 0 else "cuda")
    job.broadcast(x)
    job.finish()
    assert x.numpy().sum() == 600
"""

MEMORY = """
import gc, weakref
class Thing: pass
with weir.Context("cpu:1") as context, weir.mpi.Job(context) as job:
    a = job.buffer(1, "i8", owner=0)
    things = [Thing() for _ in range(20)]
    left = [weakref.ref(one) for one in things]
    for one in things:
        job.submit(lambda x, thing: None, weir.update(a), one)
    expect(weir.InvalidArgumentError, "no buffer whose owner runs it", job.submit, print, Thing())
    job.finish()
    one = things = None
    gc.collect()
    assert [one for one in left if one() is not None] == []
"""

LEFT_OUT = """
with weir.Context("cpu:1") as context, weir.mpi.Job(context) as job:
    own = [job.buffer(1, "i8", owner=i) for i in range(2)]
    for i in range(2):
        if i == job.rank:
            for _ in range(3):
                job.submit(lambda x: x.fill(7), weir.write(own[i]))
        else:
            job.skip(3)
    job.finish()
    assert job.statistics()["skipped"] == 3 and own[job.rank].numpy()[0] == 7
"""

IN_TASKS = """
with weir.Context("cpu:1") as context:
    with weir.mpi.Job(context) as job:
        a = job.buffer(4, "f8", owner=0)
        for call in (job.finish, job.close, lambda: job.submit(print), lambda: job.buffer(4), lambda: job.fetch(a, 0)):
            event = context.submit(call)
            expect(weir.InvalidArgumentError, "must not make calls of a job", event.result)
        assert context.submit(job.statistics).result()["submitted"] == 1
    expect(ValueError, "more than 0 seconds", weir.mpi.Job, context, timeout=0)
    for name in ("send_limit", "piece_bytes", "check_every"):
        expect(ValueError, f"{name} is 0 for the default, or more, and not -1", weir.mpi.Job, context, **{name: -1})
    weir.mpi.Job(context, send_limit=2**64 + 1, piece_bytes=2**65, check_every=2**32).close()
    left = weir.mpi.Job(context)  # ends with its context
    b = left.buffer(4, owner=1)
    left.submit(lambda x: x.fill(1), weir.write(b))
assert left.closed
"""

FAILURES = """
with weir.Context("cpu:1") as context, weir.mpi.Job(context) as job:
    a, b = job.buffer(4, "f8", owner=0), job.buffer(4, "f8", owner=1)
    def divide(x):
        1 / 0
    event = job.submit(divide, weir.write(a))
    def reader(out, x):
        pass
    job.submit(reader, weir.write(b), weir.read(a))
    try:
        job.finish()
    except ZeroDivisionError:
        say(f"rank {job.rank}: ZeroDivisionError")
    except weir.Error as failure:
        say(f"rank {job.rank}: {type(failure).__name__}: {failure}")
    job.submit(lambda x: x.fill(1), weir.write(a))
    job.broadcast(a)
    job.finish()  # the job goes on
    assert a.numpy().sum() == 4
"""

DIFFERENT = """
with weir.Context("cpu:1") as context:
    job = weir.mpi.Job(context)
    a = job.buffer(4, "f8", owner=0)
    def one(x): x.fill(1)
    def other(x): x.fill(1)
    job.submit(one if job.rank == 0 else other, weir.write(a))
    try:
        job.finish()
    except weir.InvalidArgumentError as failure:
        say(f"rank {job.rank}: {failure}")
    expect(weir.InvalidArgumentError, "different programs", job.close)
    assert job.closed
"""

# A rank leaves the block; the others are told, and do not wait.
EXCEPTION = """
try:
    with weir.Context("cpu:1") as context, weir.mpi.Job(context) as job:
        a = job.buffer(4, "f8", owner=1)
        if job.rank == 1:
            raise KeyError("of this rank alone")
        job.submit(lambda x: x.fill(1), weir.write(a))
        job.fetch(a, 0)
        job.finish()
except KeyError as failure:
    say(f"rank 1: {failure}")
except weir.InvalidArgumentError as failure:
    say(f"rank 0: {failure}")
"""

LOST = """
import os, signal
with weir.Context("cpu:1") as context:
    job = weir.mpi.Job(context, timeout=2)
    a = job.buffer(4, "f8", owner=1)
    job.submit(lambda x: x.fill(1), weir.write(a), label="fill")
    if job.rank == 1:
        os.kill(os.getpid(), signal.SIGSTOP)
    try:
        job.fetch(a, 0)
        job.finish()
    except weir.DeviceLostError as failure:
        say(f"rank 0: {failure}")
        sys.stdout.flush()
    MPI.COMM_WORLD.Abort(3)
"""

NO_CPU = """
with weir.Context("sim:h200") as context:
    expect(weir.UnavailableError, "no CPU device", weir.mpi.Job, context)
"""

PARTS = """
world = MPI.COMM_WORLD
part = world.Split(world.Get_rank() % 2)
with weir.Context("cpu:1") as context, weir.mpi.Job(context, part) as job:
    assert (job.rank, job.size) == (world.Get_rank() // 2, 2)
    a = job.buffer(1, "i8", owner=1)
    job.submit(lambda x, color: x.fill(color), weir.write(a), world.Get_rank() % 2)
    job.broadcast(a)
    job.finish()
    assert a.numpy()[0] == world.Get_rank() % 2
part.Free()
"""

# Dropped objects, which go on to the interpreter's end. A rank that collects them must not wait for the others there.
LEFT = """
def leave():
    context = weir.Context("cpu:1")
    job = weir.mpi.Job(context)
    a = job.buffer(4, "f8", owner=0)
    job.submit(lambda x: x.fill(1), weir.write(a))
    job.broadcast(a)
    return weakref.ref(context), weakref.ref(job)
left = leave()
if MPI.COMM_WORLD.Get_rank() == 0:
    gc.collect()
MPI.COMM_WORLD.Barrier()
assert left[0]() is not None and not left[1]().closed
"""

OTHER = """
with weir.Context("cpu:1") as context:
    expect(weir.UnavailableError, "different MPIs: 'Open MPI", weir.mpi.Job, context)
    expect(weir.UnavailableError, "and 'MPICH Version:", weir.mpi.Job, context)
    assert context.submit(lambda: 5).result() == 5
"""
