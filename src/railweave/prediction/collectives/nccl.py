"""NCCL's and RCCL's parameters with their defaults. The names of parameters are those of the environment variables.

A source is a file of NCCL 2.23.4, or a file of RCCL if RCCL's value differs. ``parameters`` reads values in the form that
``railweave sim --nccl`` accepts.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from railweave.errors import InputError, Option, Problem
from railweave.model.catalog.rdma import POINT_TO_POINT_BYTES
from railweave.model.config.quantities import BINARY_NUMBER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from railweave.prediction.collectives.job import Library

ALGORITHMS = ("Tree", "Ring", "NVLS", "NVLSTree", "PAT")
"""The algorithms that NCCL chooses from, in its order. CollNet is not modelled."""
PROTOCOLS = ("LL", "LL128", "Simple")

KIB, MIB = 1 << 10, 1 << 20


class NcclError(InputError):
    """The error for an unknown parameter, or for a value that a parameter does not allow."""


@dataclass(frozen=True, slots=True)
class Number:
    """A parameter whose value is a number from ``least`` to ``most``.

    ``unset`` is the special value with which NCCL's sources express that NCCL chooses the number.
    """

    default: int
    least: int
    most: int
    source: str
    unset: int | None = None

    def read(self, text: str) -> int:
        """Return the number in a text such as ``4M``. The suffixes K, M and G are binary multiples.

        Raises ``ValueError``, whose text states the allowed values.
        """
        try:
            value = BINARY_NUMBER.parse(text)
        except ValueError:
            value = None
        if value is None or not (self.least <= value <= self.most or value == self.unset):
            besides = "" if self.unset is None else f", or {self.unset} to let the library decide"
            raise ValueError(f"a whole number from {self.least} to {self.most}{besides}") from None
        return value


@dataclass(frozen=True, slots=True)
class Names:
    """A parameter whose value is a list of names from ``of``. A leading ``^`` selects all names except those listed."""

    of: tuple[str, ...]
    source: str

    def read(self, text: str) -> tuple[str, ...]:
        """Return the names that a text such as ``Ring,Tree`` or ``^PAT`` selects. Raises ``ValueError``, whose text states the allowed names."""
        by_name = {name.lower(): name for name in self.of}
        names = [name.strip().lower() for name in text.strip().removeprefix("^").split(",")]
        asked = {by_name[name] for name in names if name in by_name}
        without = text.strip().startswith("^")
        left = tuple(name for name in self.of if (name in asked) != without)
        if not all(name in by_name for name in names) or not left:
            raise ValueError(
                f"one or more of {', '.join(self.of)}, separated by commas, or ^ and the names to leave out"
            )
        return left


NUMBERS = {
    "NCCL_MIN_NCHANNELS": Number(0, 1, 32, "graph/connect.cc, ncclMinNchannels; at most MAXCHANNELS", 0),
    "NCCL_MAX_NCHANNELS": Number(32, 1, 32, "graph/connect.cc, ncclMaxNchannels; MAXCHANNELS"),
    "NCCL_MIN_CTAS": Number(1, 1, 32, "init.cc, NCCL_CONFIG_INITIALIZER's minCTAs"),
    "NCCL_MAX_CTAS": Number(32, 1, 32, "init.cc, maxCTAs"),
    "NCCL_MIN_P2P_NCHANNELS": Number(1, 1, 32, "graph/paths.cc, MinP2pNChannels"),
    "NCCL_MAX_P2P_NCHANNELS": Number(32, 1, 32, "graph/paths.cc, MaxP2pNChannels"),
    "NCCL_NCHANNELS_PER_NET_PEER": Number(-1, 1, 32, "graph/paths.cc, NChannelsPerNetPeer", -1),
    "NCCL_BUFFSIZE": Number(4 * MIB, 64 * KIB, 1 << 30, "init.cc, DEFAULT_BUFFSIZE; protocol Simple"),
    "NCCL_LL_BUFFSIZE": Number(
        512 * KIB, 16 * KIB, 1 << 30, "init.cc, DEFAULT_LL_BUFFSIZE: 8 lines x 512 threads x 8 steps x 16 B"
    ),
    "NCCL_LL128_BUFFSIZE": Number(
        4_915_200, 15 * KIB, 1 << 30, "init.cc, DEFAULT_LL128_BUFFSIZE: 120 x 640 x 8 steps x 8 B"
    ),
    "NCCL_STEPS": Number(8, 4, 64, "include/device.h; a constant there, a parameter here"),
    "NCCL_CHUNK_STEPS": Number(4, 1, 64, "include/collectives.h, ALLREDUCE_CHUNKSTEPS and its like; a constant there"),
    "NCCL_SLICE_STEPS": Number(2, 1, 64, "include/collectives.h, ALLREDUCE_SLICESTEPS and its like; a constant there"),
    "NCCL_P2P_NET_CHUNKSIZE": Number(POINT_TO_POINT_BYTES, 4 * KIB, 1 << 30, "init.cc, P2pNetChunkSize"),
    "NCCL_CHUNK_SIZE": Number(0, 4 * KIB, 1 << 30, "enqueue.cc, ChunkSize: of point-to-point, whatever the size", 0),
    "NCCL_NTHREADS": Number(512, 64, 512, "graph/tuning.cc, NCCL_SIMPLE_MAX_NTHREADS; for Simple and LL"),
    "NCCL_LL128_NTHREADS": Number(640, 160, 640, "graph/tuning.cc, NCCL_LL128_MAX_NTHREADS"),
    "NCCL_CROSS_NIC": Number(2, 0, 2, "graph/search.cc, CrossNic"),
    "NCCL_PXN_DISABLE": Number(0, 0, 1, "graph/paths.cc, PxnDisable; RCCL has 1"),
    "NCCL_NVLS_ENABLE": Number(2, 0, 2, "transport/nvls.cc, NvlsEnable: 0 never; else where the GPUs can"),
    "NCCL_PAT_ENABLE": Number(
        2, 0, 2, "graph/tuning.cc, PatEnable: 0 never, as before 2.23; else where each server takes part with one GPU"
    ),
    "NCCL_IB_QPS_PER_CONNECTION": Number(1, 1, 128, "transport/net_ib.cc, IbQpsPerConn; NCCL_IB_MAX_QPS"),
    "NCCL_IB_SPLIT_DATA_ON_QPS": Number(0, 0, 1, "transport/net_ib.cc, IbSplitDataOnQps"),
    "NCCL_IB_TIMEOUT": Number(20, 1, 31, "transport/net_ib.cc, IbTimeout; RCCL 2.21 has 18"),
    "NCCL_IB_RETRY_CNT": Number(7, 0, 7, "transport/net_ib.cc, IbRetryCnt"),
}
LISTS = {
    "NCCL_ALGO": Names(ALGORITHMS, "graph/tuning.cc, parseList; of its algorithms those that are modelled"),
    "NCCL_PROTO": Names(PROTOCOLS, "graph/tuning.cc, parseList; LL128 only if named, or where NCCL allows it"),
}
STEPS = ("NCCL_STEPS", "NCCL_CHUNK_STEPS", "NCCL_SLICE_STEPS")
"""Three parameters, in an order in which each must be a multiple of the next."""
RCCL_NUMBERS = {"NCCL_PXN_DISABLE": 1, "NCCL_IB_TIMEOUT": 18, "NCCL_PAT_ENABLE": 0}
"""Defaults of RCCL that differ from those of NCCL (source: RCCL's graph/paths.cc and transport/net_ib.cc)."""


@dataclass(frozen=True)
class Parameters:
    """The values of all parameters. ``parameters[name]`` returns the number of a parameter, and ``names`` the list of a parameter."""

    numbers: dict[str, int]
    lists: dict[str, tuple[str, ...]]

    def __getitem__(self, key: str) -> int:
        return self.numbers[key]

    def names(self, key: str) -> tuple[str, ...]:
        """Return the names that a list parameter selects. Return an empty tuple if the parameter was not given."""
        return self.lists.get(key, ())

    def with_number(self, key: str, value: int) -> Parameters:
        """Return a copy with one number changed. Raises ``NcclError`` if the parameter does not allow the value."""
        try:
            return replace(self, numbers=self.numbers | {key: NUMBERS[key].read(str(value))})
        except ValueError as error:
            raise NcclError([_refused(key, str(value), error)]) from None


def parameters(given: Mapping[str, str] | None = None, library: Library = "NCCL") -> Parameters:
    """Return all parameters of a library. ``given`` has values as text, by parameter name; all other parameters have their defaults.

    Raises ``NcclError`` with all wrong values and their fixes.
    """
    wanted = {name.strip(): text for name, text in (given or {}).items()}
    numbers = {key: number.default for key, number in NUMBERS.items()}
    if library == "RCCL":
        numbers |= RCCL_NUMBERS
    lists: dict[str, tuple[str, ...]] = {}
    problems: list[Problem] = []
    for key, text in wanted.items():
        try:
            if key in NUMBERS:
                numbers[key] = NUMBERS[key].read(text)
            elif key in LISTS:
                lists[key] = LISTS[key].read(text)
            else:
                problems.append(_unknown(key))
        except ValueError as error:
            problems.append(_refused(key, text, error))
    problems += _do_not_fit(numbers, wanted)
    if problems:
        raise NcclError(problems)
    return Parameters(numbers, lists)


def _refused(key: str, text: str, error: ValueError) -> Problem:
    return Problem(_option(key), f"{key} cannot be {text!r}", f"use {error}")


def _unknown(key: str) -> Problem:
    known = sorted(NUMBERS.keys() | LISTS.keys())
    near = difflib.get_close_matches(key.upper(), known, 1)
    fix = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
    return Problem(_option(key), f"{key} is not a parameter that changes the prediction", fix)


def _option(key: str) -> Option:
    """Return the location that error messages show for a parameter: the option ``--nccl`` and the parameter's name."""
    return Option("--nccl", part=(key,))


def _do_not_fit(numbers: dict[str, int], given: Iterable[str]) -> Iterator[Problem]:
    """Yield a problem if one of the three step counts (``STEPS``) is not a multiple of the next.

    The problem names the first of these parameters in ``given``. The defaults always fit.
    """
    steps, chunk, piece = (numbers[key] for key in STEPS)
    if steps % chunk or chunk % piece:
        yield Problem(
            _option(next(key for key in given if key in STEPS)),
            f"NCCL_STEPS {steps}, NCCL_CHUNK_STEPS {chunk} and NCCL_SLICE_STEPS {piece} are not multiples of each other",
            "a chunk is a whole number of slices, and the buffer holds a whole number of chunks",
        )
