"""The fixtures, read."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from railweave.operations.bench.nccl_log import NcclLog
from railweave.operations.bench.nccl_tests import NcclTests, PlaceTimes
from railweave.operations.bench.perftest import Perftest
from railweave.operations.bench.read import ParsedText, read

FIXTURES = Path(__file__).parent / "fixtures"
NAMES = sorted(path.name for path in FIXTURES.iterdir() if path.name != "README.md")


@cache
def text_of(name: str) -> str:
    """The text of a fixture."""
    return (FIXTURES / name).read_text()


@cache
def said(name: str) -> ParsedText:
    """What is read of a fixture, by its name."""
    return read(text_of(name), name)


def perftest(name: str) -> Perftest:
    """The one test of a fixture, in which nothing is odd."""
    found = said(name)
    assert found.notes == ()
    [test] = found.perftests
    return test


def nccl_tests(name: str) -> NcclTests:
    """The same of nccl-tests and rccl-tests."""
    found = said(name)
    assert found.notes == ()
    [test] = found.nccl_tests
    return test


def log_of(name: str) -> NcclLog:
    """The log of a fixture, in which nothing is odd."""
    found = said(name)
    assert found.notes == ()
    assert found.log is not None
    return found.log


def numbers(measured: PlaceTimes | None) -> tuple[float | None, ...]:
    """Time, algorithm and bus bandwidth, wrong values."""
    assert measured is not None
    return measured.time_us, measured.algbw_gbytes_per_s, measured.busbw_gbytes_per_s, measured.wrong
