"""Reads odd inputs with a parser, and counts: how many there were, how many passed the first check, what went wrong."""

from __future__ import annotations

import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from types import FrameType

from railweave.errors import FileLine, InputError, NetworkPart, Place, RenderError
from railweave.host.failure import HostError
from tests.conftest import ROOT
from tests.fuzz.mutators import Mutator

CPU_S = 20.0
"""Seconds of the processor for one input. Most take a few milliseconds; the slowest machine is not twenty times as slow."""
MEMORY = 2 << 30
"""Bytes of memory for one input, beyond what the process has when it begins."""
KEPT = ROOT / "out" / "fuzz"
"""The folder of inputs that failed."""
REPORTED = 8
"""The number of failures of a parser that are kept: one for each line that raised."""


class TooLongError(BaseException):
    """The error for an input that takes more than ``CPU_S``. No parser catches it."""


@dataclass(frozen=True)
class Parser:
    """A parser and its inputs.

    - ``read``: read an input, which is in ``file`` too if the file has a name. Its result is looked at as its users do.
    - ``passes``: True if an input passes the parser's first check. Only inputs that are refused are asked about, or all inputs
      of a parser that refuses none.
    - ``seeds``: the good inputs, and ``mutated`` makes an odd one of them.
    - ``file``: the name of the file to write, which errors must name. ``errors``: the errors that may be raised.
    - ``inputs``: the number of inputs in every run of the tests, together about a second's work.
    """

    name: str
    read: Callable[[bytes, Path], object]
    passes: Callable[[bytes], bool]
    seeds: Callable[[], Sequence[bytes]]
    mutated: Mutator
    inputs: int
    file: str = ""
    errors: tuple[type[Exception], ...] = (InputError,)
    known: str = ""
    """A fault that is known and not yet fixed: the tests expect it, and fail once it is gone, until this is removed."""

    least = 0.5
    """The share of inputs that must pass the first check."""


@dataclass
class Tally:
    """The figures of a run. ``failures`` has a message for each failure, with the file that reproduces it."""

    parser: Parser
    inputs: int = 0
    passed: int = 0
    accepted: int = 0
    slowest_s: float = 0
    failures: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def share(self) -> float:
        """The share of inputs that passed the first check."""
        return self.passed / max(self.inputs, 1)


def _too_long(_signal: int, _frame: FrameType | None) -> None:
    raise TooLongError(f"more than {CPU_S:g} s of the processor")


@contextmanager
def limits() -> Iterator[None]:
    """Limit the memory of this process, and what a signal of its processor time does."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    most = pages * resource.getpagesize() + MEMORY
    handler = signal.signal(signal.SIGVTALRM, _too_long)
    if before[0] == resource.RLIM_INFINITY or most < before[0]:
        resource.setrlimit(resource.RLIMIT_AS, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
        signal.signal(signal.SIGVTALRM, handler)


def refused(parser: Parser, data: bytes, folder: Path) -> Exception | None:
    """Read an input. Return the error with which the parser refuses it, None if it is read; raise any other exception."""
    file = folder / (parser.file or "input")
    if parser.file:
        file.write_bytes(data)
    signal.setitimer(signal.ITIMER_VIRTUAL, CPU_S)
    try:
        parser.read(data, file)
    except parser.errors as error:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        if fault := _unhelpful(parser, error, folder):
            raise AssertionError(f"{fault}: {error}") from error
        return error
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return None


def _unhelpful(parser: Parser, error: Exception, folder: Path) -> str:
    """Return what an error lacks for the author of the file, or an empty text."""
    if not str(error).strip():
        return "an error without a message"
    if isinstance(error, RenderError):
        return "" if error.line else "an error without its line"
    if isinstance(error, InputError) and not all(problem.what.strip() for problem in error.problems):
        return "a problem without a message"
    if isinstance(error, HostError) and parser.file not in str(error):
        return f"an error that does not name {parser.file}"
    if isinstance(error, InputError) and not all(_is_placed(folder, problem.place) for problem in error.problems):
        return f"an error that does not name {parser.file}"
    return ""


def _is_placed(folder: Path, place: Place) -> bool:
    """Return True if a place is in a file of the folder, or is a part of a network that such a file names."""
    return isinstance(place, NetworkPart) or (isinstance(place, FileLine) and place.file.startswith(str(folder)))


def _attempt(parser: Parser, data: bytes, folder: Path, tally: Tally) -> None:
    began = time.process_time()
    try:
        error = refused(parser, data, folder)
    except (Exception, TooLongError) as fault:  # noqa: BLE001 - each is a failure, and the next input is read
        place = next(
            (frame for frame in reversed(traceback.extract_tb(fault.__traceback__)) if "railweave" in frame.filename),
            traceback.extract_tb(fault.__traceback__)[-1],
        )
        text = "" if isinstance(fault, AssertionError) else f"{type(fault).__name__} "
        key = f"{text}{Path(place.filename).name}:{place.lineno}"
        if isinstance(fault, AssertionError):
            key += str(fault)[:30]
        if key not in tally.failures and len(tally.failures) < REPORTED:
            kept = _kept(parser, data)
            tally.failures[key] = (
                f"{parser.name}: {type(fault).__name__} at {place.filename.removeprefix(f'{ROOT}/')}:{place.lineno}: {str(fault)[:300]}\n"
                f"    python -m tests.fuzz {parser.name!r} {kept.relative_to(ROOT)}"
            )
        return
    finally:
        tally.slowest_s = max(tally.slowest_s, time.process_time() - began)
        tally.inputs += 1
    tally.accepted += error is None
    tally.passed += (error is None and bool(parser.errors)) or parser.passes(data)


def _kept(parser: Parser, data: bytes) -> Path:
    KEPT.mkdir(parents=True, exist_ok=True)
    file = KEPT / f"{parser.name.replace(' ', '-')}-{sha256(data).hexdigest()[:12]}"
    file.write_bytes(data)
    return file


def inputs(parser: Parser, seed: int) -> Iterator[bytes]:
    """Yield odd inputs of a parser, the same for the same seed."""
    seeds = parser.seeds()
    for number in range(sys.maxsize):
        dice = Random(f"{parser.name} {seed} {number}")  # noqa: S311 - repeatable
        yield parser.mutated(dice.choice(seeds), dice)


def run(
    parser: Parser, *, count: int = sys.maxsize, seconds: float = float("inf"), seed: int = 1, first: bool = False
) -> Tally:
    """Read so many odd inputs, or inputs for so many seconds; with ``first``, until the first failure.

    The seeds themselves come first, and none of them may be refused.
    """
    tally = Tally(parser)
    with TemporaryDirectory(prefix="railweave-fuzz-") as name, limits():
        for good in parser.seeds():
            _attempt(parser, good, Path(name), tally)
        if tally.accepted < tally.inputs:
            tally.failures.setdefault("seed", f"{parser.name}: a seed is refused")
        begun = time.monotonic()
        for _, data in zip(range(count), inputs(parser, seed), strict=False):
            if first and tally.failures:
                break
            _attempt(parser, data, Path(name), tally)
            if time.monotonic() - begun > seconds:
                break
    return tally
