# SPDX-License-Identifier: Apache-2.0
"""What a context says about its devices."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Device:
    """A device of a context."""

    index: int
    """Its place in the context's list."""
    kind: str
    """"cpu", "cuda", "opencl", "vulkan" or "sim"."""
    name: str
    """As in the context's list of devices: "cpu:2"."""
    description: str
    """One line for people."""
    lanes: int
    """Workers or queues that run its tasks."""
    queues: int
    """Queues that Context.graph(queue=...) can name; 0: it has none."""
    enqueue_lanes: int
    """Lanes of enqueue functions and open tasks; 0: it takes none."""
