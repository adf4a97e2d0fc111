# SPDX-License-Identifier: Apache-2.0
"""An image pipeline over two actors of Ray, with a context of Weir in each.

    pip install ray ./python
    python examples/ray/images.py [FRAMES]

The first actor senses a frame, smooths it and meters its light; the second maps it to 8 bits. Ray places the actors,
on one machine or on two, and carries frames between them. Within an actor Weir overlaps tasks: bands of one frame, and
the frames that are in flight, since the methods await events. The result is compared with a plain loop, bit by bit.
"""

import asyncio
import sys
from typing import Any, Dict, Iterator, List, Tuple

import numpy as np
import ray
import weir

HEIGHT, WIDTH, BANDS = 240, 320, 6
IN_FLIGHT = 3  # frames in an actor

Developed = Tuple[Any, Any]  # a frame, and the light of its bands


def bands() -> Iterator[slice]:
    """The rows of each band."""
    for i in range(BANDS):
        yield slice(i * HEIGHT // BANDS, (i + 1) * HEIGHT // BANDS)


def with_neighbours(rows: slice) -> slice:
    """A band with a row more on each side, where the frame has one."""
    return slice(max(rows.start - 1, 0), min(rows.stop + 1, HEIGHT))


# ----------------------------------------------------------------------------------------------------------------
# What is done to a band: functions of NumPy arrays, which are tasks in the actors and calls in the plain loop


def sense(out: Any, frame: int, first_row: int) -> None:
    """Light with noise."""
    noise = np.random.default_rng((frame, first_row)).random(out.shape, np.float32)
    rows = np.arange(first_row, first_row + len(out), dtype=np.float32)[:, None]
    columns = np.arange(WIDTH, dtype=np.float32)
    out[:] = 8 + 8 * np.sin(rows / 30 + frame) * np.cos(columns / 40) + noise


def smooth(out: Any, near: Any, above: int) -> None:
    """Means of 3 x 3 pixels. `near` has the rows of `out` and, `above` of them before, those beside it."""
    padded = np.pad(near, ((1 - above, 1 + above + len(out) - len(near)), (1, 1)), mode="edge")
    total = np.zeros_like(out)
    for row in range(3):
        for column in range(3):
            total += padded[row : row + len(out), column : column + WIDTH]
    out[:] = total / 9


def meter(light: Any, band: Any) -> None:
    """The mean of the logarithm of light."""
    light[0] = np.log(band).mean(dtype=np.float64)


def tone(out: Any, band: Any, light: Any) -> None:
    """Reinhard's operator, around the mean light of the frame."""
    scaled = band * np.float32(0.18 / np.exp(light.mean()))
    out[:] = (255 * scaled / (1 + scaled)).astype(np.uint8)


# ----------------------------------------------------------------------------------------------------------------
# Actors


class Developer:
    """Senses, smooths and meters frames."""

    def __init__(self) -> None:
        self.context = weir.Context("cpu:2")

    async def develop(self, frame: int) -> Developed:
        """A frame, and the light of its bands."""
        raw, clean = (self.context.buffer((HEIGHT, WIDTH)) for _ in range(2))
        light = self.context.buffer(BANDS, np.float64)
        for rows in bands():
            self.context.submit(sense, weir.write(raw[rows]), frame, rows.start)
        for i, rows in enumerate(bands()):
            near = with_neighbours(rows)
            self.context.submit(smooth, weir.write(clean[rows]), weir.read(raw[near]), rows.start - near.start)
            self.context.submit(meter, weir.write(light[i : i + 1]), weir.read(clean[rows]))
        image, lights = np.empty((HEIGHT, WIDTH), np.float32), np.empty(BANDS)
        await asyncio.gather(clean.copy_to(image), light.copy_to(lights))
        return image, lights

    async def statistics(self) -> Dict[str, int]:
        """Counts of the context."""
        return self.context.statistics()


class Printer:
    """Maps frames to 8 bits."""

    def __init__(self) -> None:
        self.context = weir.Context("cpu:2")

    async def print(self, developed: Developed) -> Any:
        """A frame in 8 bits. What Ray carried is memory of its own, which nobody writes: it needs no buffer."""
        image, lights = developed
        printed = self.context.buffer((HEIGHT, WIDTH), np.uint8)
        for rows in bands():
            self.context.submit(tone, weir.write(printed[rows]), image[rows], lights)
        return await printed.copy_to(np.empty((HEIGHT, WIDTH), np.uint8))

    async def statistics(self) -> Dict[str, int]:
        """Counts of the context."""
        return self.context.statistics()


def plain(frame: int) -> Any:
    """The same without Ray and Weir."""
    raw, clean = (np.empty((HEIGHT, WIDTH), np.float32) for _ in range(2))
    lights, printed = np.empty(BANDS), np.empty((HEIGHT, WIDTH), np.uint8)
    for rows in bands():
        sense(raw[rows], frame, rows.start)
    for i, rows in enumerate(bands()):
        near = with_neighbours(rows)
        smooth(clean[rows], raw[near], rows.start - near.start)
        meter(lights[i : i + 1], clean[rows])
    for rows in bands():
        tone(printed[rows], clean[rows], lights)
    return printed


def run(frames: int) -> int:
    """Runs the pipeline, and returns the number of pixels that are wrong."""
    developer, printer = (
        ray.remote(actor).options(num_cpus=1, max_concurrency=IN_FLIGHT).remote() for actor in (Developer, Printer)
    )
    results: List[Any] = [printer.print.remote(developer.develop.remote(frame)) for frame in range(frames)]
    wrong = sum(int((ray.get(result) != plain(frame)).sum()) for frame, result in enumerate(results))
    tasks = [counts["tasks"] for counts in ray.get([developer.statistics.remote(), printer.statistics.remote()])]
    print(f"{frames} frames of {HEIGHT} x {WIDTH}: {wrong} pixels differ from a plain loop")
    print(f"tasks: {tasks[0]} in the first actor, {tasks[1]} in the second")
    return wrong


if __name__ == "__main__":
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    wrong_pixels = run(int(sys.argv[1]) if len(sys.argv) > 1 else 8)
    ray.shutdown()
    sys.exit(1 if wrong_pixels else 0)
