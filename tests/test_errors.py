"""Errors keep their structure: where a problem is, and what comes back from another process."""

from __future__ import annotations

import importlib
import pickle
import pkgutil
from collections.abc import Iterator

import pytest

import railweave
from railweave.errors import (
    Argument,
    DesignError,
    FileLine,
    InputError,
    NetworkPart,
    Option,
    Place,
    Problem,
    RailweaveError,
    RenderError,
)
from railweave.model.intent.base import WrongValueError

PLACES: list[tuple[Place, str]] = [
    (FileLine("a.yaml", 3), "a.yaml:3"),
    (FileLine("folder"), "folder"),
    (Option("--nccl", part=("NCCL_BUFFSIZE",)), "--nccl"),
    (Option("--device", "leaf=:eos"), "--device leaf=:eos"),
    (NetworkPart("H100-01:gpu0_eth"), "H100-01:gpu0_eth"),
    (Argument("size"), "size"),
]
PROBLEMS = [Problem(place, "is wrong", "mend it") for place, _ in PLACES]

ARGUMENTS: dict[str, tuple[object, ...]] = {
    "client._RefusedError": ("POST /api: HTTP 400", [{"name": ["taken"]}]),
    "HostUsageError": ("no such option: -x", "usage: railweave host plan", "railweave host plan"),
    "UnreadableError": ("lost", "its answer is not understood"),
    "writes.RefusedError": (403, "the token is wrong"),
    "ReachError": ("host key", "its key is not known", "add it"),
    "StoppedError": ("the check failed", 2, True),
    "RenderError": ("a '[' is not closed", 7),
    "WrongValueError": ("1 is above 2", "swap them", ("low",), ("high", 0)),
    "fault_targets._UnknownError": ("link", "there is no link 'a'", "did you mean b?"),
    "yang_models._UnknownError": (("system", "host-name"), "oen", "no such word here"),
}
"""What a constructor takes, where it is neither problems nor a text alone."""


def exceptions() -> list[type[Exception]]:
    """Every exception class that a module of the package defines."""
    found: list[type[Exception]] = []
    for info in pkgutil.walk_packages(railweave.__path__, "railweave."):
        if info.name.endswith("__main__"):
            continue
        module = importlib.import_module(info.name)
        found += [
            one
            for one in vars(module).values()
            if isinstance(one, type) and issubclass(one, Exception) and one.__module__ == info.name
        ]
    return found


def made(kind: type[Exception]) -> Exception:
    """One of a class of exceptions, with something in every field."""
    if issubclass(kind, InputError):
        return kind(PROBLEMS)
    short = f"{kind.__module__.rpartition('.')[2]}.{kind.__name__}"
    return kind(*ARGUMENTS.get(short, ARGUMENTS.get(kind.__name__, ("the words",))))


def returned(error: Exception) -> Exception:
    """An error as it comes back from a worker."""
    return pickle.loads(pickle.dumps(error))  # noqa: S301 - our own


def test_the_tree_is_that_of_the_docstring() -> None:
    known = {one.__name__ for one in exceptions()}
    assert {"SpecError", "LabError", "ModelsError", "JobError", "HostInputError", "_WrongError"} <= known
    assert set(railweave.__all__) & known <= {one.__name__ for one in exceptions() if issubclass(one, RailweaveError)}


@pytest.mark.parametrize("kind", exceptions(), ids=lambda one: f"{one.__module__}.{one.__name__}")
def test_every_error_comes_back_from_pickle_as_it_was(kind: type[Exception]) -> None:
    error = made(kind)
    again = returned(error)
    assert type(again) is kind
    assert (str(again), again.args, vars(again)) == (str(error), error.args, vars(error))
    assert str(error)


def test_the_place_that_a_mistake_repeats_is_pickled_too() -> None:
    error = WrongValueError("name red is used by two colors", "", ("colors", 1), earlier=("colors", 0))
    again = returned(error)
    assert isinstance(again, WrongValueError)
    assert (again.parts, again.earlier) == ((("colors", 1),), ("colors", 0))


@pytest.mark.parametrize(("place", "text"), PLACES)
def test_a_problem_is_printed_with_its_place(place: Place, text: str) -> None:
    assert str(Problem(place, "is wrong")) == f"{text}: is wrong"
    assert str(Problem(place, "is wrong", "mend it")) == f"{text}: is wrong\n    mend it"


def test_problems_are_in_the_order_of_their_files_and_lines() -> None:
    def shuffled() -> Iterator[Problem]:
        for place in (FileLine("b", 2), FileLine("a", 10), Option("--x"), FileLine("a", 9), FileLine("b")):
            yield Problem(place, "is wrong")

    error = DesignError(list(shuffled()))
    assert [str(one.place) for one in error.problems] == ["--x", "a:9", "a:10", "b", "b:2"]
    assert str(error) == "\n".join(map(str, error.problems))


def test_a_line_is_a_number_beside_the_words() -> None:
    error = RenderError("a '[' is not closed", 2)
    assert (str(error), error.what, error.line) == ("line 2: a '[' is not closed", "a '[' is not closed", 2)
    assert error.below(3).line == 5
    whole = RenderError("the file is no object")
    assert (str(whole), whole.below(3).line) == ("the file is no object", 0)
