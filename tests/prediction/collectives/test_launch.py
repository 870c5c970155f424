"""Launch of RCCL by processes of one and of several GPUs, and that time grows with size inside a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import numpy as np
import pytest

from railweave.prediction.collectives.channels import COLLECTIVES
from railweave.prediction.collectives.collective import program
from railweave.prediction.collectives.job import Job, JobError, Library
from railweave.prediction.collectives.nccl import parameters
from railweave.prediction.collectives.tuning import RCCL_NEXT_GPU_PEER_US

if TYPE_CHECKING:
    from railweave.prediction.collectives.channels import Collective

SIZES = [(1 << power) * part // 4 for power in range(3, 34) for part in (4, 5, 6, 7)]


def mi300x(servers: int, processes: int | None = None) -> Job:
    return Job.of_servers(servers, gpu="MI300X", cpu="AMD", library="RCCL", processes=processes)


@pytest.mark.parametrize("library", get_args(Library))
@pytest.mark.parametrize("collective", COLLECTIVES)
def test_time_never_falls_with_size_inside_a_server(collective: Collective, library: Library) -> None:
    """RCCL corrects its rings by size only between servers; corrected inside one, they alternated between LL and Simple."""
    job = Job.of_servers(1, gpu="MI300X" if library == "RCCL" else "H100", library=library)
    nccl = parameters(library=library)
    found = [program(job, collective, size, nccl) for size in SIZES]
    times = [max(one.tail_ps, one.floor_ps) for one in found]
    assert times == sorted(times)


def test_rccl_takes_one_protocol_after_the_other() -> None:
    nccl = parameters(library="RCCL")
    taken = [program(mi300x(1), "all-reduce", size, nccl).protocol for size in SIZES]
    assert taken == sorted(taken)  # LL, then Simple
    assert program(mi300x(1), "all-reduce", 64 << 10, nccl).protocol == "LL"


@pytest.mark.parametrize("servers", [1, 4])
def test_collectives_start_alike_with_one_process_and_with_eight(servers: int) -> None:
    """Published: 52.7 to 54.6 us for 8 bytes on four servers, with 4 and with 32 processes."""
    nccl = parameters(library="RCCL")
    one, eight = (program(mi300x(servers, count), "all-reduce", 8, nccl) for count in (1, 8))
    assert one.tail_ps == eight.tail_ps
    assert one.delay_ps.tolist() == eight.delay_ps.tolist()


def test_data_of_the_first_gpus_overlaps_the_launch_of_the_last() -> None:
    """Transfers leave when the kernels of both of their GPUs run: those of the first GPUs before those of the last."""
    found = program(mi300x(4, 1), "all-to-all", 4 << 20, parameters(library="RCCL"))
    first = np.r_[True, found.connection[1:] != found.connection[:-1]]  # the later chunks of a transfer follow it
    free = found.delay_ps[first & (found.after_start[1:] == found.after_start[:-1])]
    each = RCCL_NEXT_GPU_PEER_US * 31 * 1e6
    assert free.max() - free.min() == pytest.approx(7 * each, rel=1e-3)
    alike = program(mi300x(4), "all-to-all", 4 << 20, parameters(library="RCCL"))
    first = np.r_[True, alike.connection[1:] != alike.connection[:-1]]
    free = alike.delay_ps[first & (alike.after_start[1:] == alike.after_start[:-1])]
    assert free.max() == free.min()


@pytest.mark.parametrize("processes", [0, 3, 16])
def test_processes_share_gpus_evenly(processes: int) -> None:
    with pytest.raises(JobError, match="cannot share 8 GPUs evenly"):
        mi300x(1, processes)
