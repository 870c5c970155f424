"""The command lines of perftest and of nccl-tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.operations.bench.plan import NcclTests, Perftest

PROGRAMS = {
    "all-reduce": "all_reduce_perf",
    "all-gather": "all_gather_perf",
    "reduce-scatter": "reduce_scatter_perf",
    "all-to-all": "alltoall_perf",
    "send-recv": "sendrecv_perf",
    "broadcast": "broadcast_perf",
    "reduce": "reduce_perf",
    "gather": "gather_perf",
    "scatter": "scatter_perf",
}
"""Of nccl-tests and rccl-tests, by the collective."""


def perftest_words(test: Perftest, gpu: int | None, folder: str = "") -> list[str]:
    """One end of a run, without device, GID and port, which are found on the server. ``gpu``: of this end; ``folder``: where the program is.

    CUDA counts GPUs as the slots are only where it is asked to; HIP does so anyway.
    """
    words = ["env", "CUDA_DEVICE_ORDER=PCI_BUS_ID"] if test.memory == "cuda" and gpu is not None else []
    words += [_in(folder, test.program), "-F", "--report_gbits", "-q", str(test.qps)]
    if test.size_bytes is None:
        words.append("-a")
    else:
        words += ["-s", str(test.size_bytes)]
    if test.seconds is not None:
        words += ["-D", str(test.seconds)]
    if test.both_ways:
        words.append("-b")
    if test.memory != "host" and gpu is not None:
        words.append(f"--use_{test.memory}={gpu}")
    return words


def nccl_tests_words(test: NcclTests, folder: str = "") -> list[str]:
    """The program of a collective with its sizes; with the variables that the run sets before it.

    The result is checked (``-c 1``), which is outside of what is timed.
    """
    words = ["env", *(f"{name}={text}" for name, text in test.variables)] if test.variables else []
    words.append(_in(folder, PROGRAMS.get(test.collective, f"{test.collective.replace('-', '_')}_perf")))
    words += ["-b", str(test.first_bytes), "-e", str(test.last_bytes)]
    if test.last_bytes > test.first_bytes:
        words += ["-f", str(test.factor)]
    return [*words, "-g", str(test.gpus), "-c", "1"]


def _in(folder: str, program: str) -> str:
    return f"{folder.rstrip('/')}/{program}" if folder else program
