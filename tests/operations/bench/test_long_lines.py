"""Long lines of outputs take no longer than their length."""

from __future__ import annotations

import time

import pytest

from railweave.operations.bench.triage.triage import triage

LONG = {
    "affinity": "h:1:2 [0] NCCL INFO Affinity for GPU 0 is " + " (GPU affinity = ; CPU affinity = " * 200,
    "gid": "h:1:2 [0] NCCL INFO NET/IB: " + "IbDev 1 Port 1 x 1 mtu 5 GID " * 250,
    "ring": "h:1:2 [0] NCCL INFO Channel 00/0 :" + " 1" * 3500 + "x",
    "host": "a" * 7900 + " NCCL INFO x",
    "title": " RDMA_Write " + "a " * 3500 + "BW",
    "pairs": "A" * 280 + " : ",
    "status": "Failed status-" + " (" * 3500,
    "columns": "#bytes " + "9% " * 2600,
    "row": "1 " * 4000,
}
"""Lines on which a pattern that goes back and forth would take seconds."""


@pytest.mark.parametrize("name", LONG)
def test_a_long_line_takes_no_longer_than_its_length(name: str) -> None:
    """Processor time of forty such lines: a tenth of a second, and more than five where one pattern goes back and forth."""
    begun = time.process_time()
    triage(f"{LONG[name]}\n" * 40, "x")
    assert time.process_time() - begun < 5
