"""The settings that a comparison varies, read from a text such as ``NAME=a,b,c``, and the prediction request for each value."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from railweave.errors import InputError, Option, Problem
from railweave.model.network.status import present
from railweave.prediction.collectives.program import sizes
from railweave.prediction.simulation.job import job_of, lists
from railweave.prediction.simulation.model.wiring import wire
from railweave.prediction.simulation.question import Question, questions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.model.network.model import Network

OPTIONS = (
    "lb",
    "qps",
    "size",
    "collective",
    "hosts",
    "per-host",
    "background",
    "engine",
    "fib",
    "scenario",
    "tenant",
)
"""The names of the options that can be varied. Parameters of NCCL (``NCCL_…``) and of the engine (``host.mtu``) can be varied too."""

WHOLE = {"qps": "1,2,4", "per-host": "1,2,8"}
"""The options whose values are whole numbers, each with an example."""

FILES = ("fib", "scenario")

RANKS = {"--hosts": "hosts", "--per-host": "per-host"}
"""The command-line options that select servers and processes, with their names in ``NAME=a,b,c``."""


@dataclass(frozen=True)
class Variant:
    """One value of the varied setting, and the request with this value."""

    value: str
    question: Question


def values_of(name: str, text: str) -> list[str]:
    """Return the values of setting ``name`` in a text such as ``a,b,c``.

    - A comma that belongs to a value does not separate values: the second comma in ``ecmp,dlb:knob=1,knob=2``, commas in the
      brackets of a host list, and commas between the fields of background traffic.
    - If the text contains ``;``, only ``;`` separates values.
    - `first..last` is a range for sizes and whole numbers, in which each value is twice the previous one.
    """
    if name == "size" and ".." in text:
        return [str(size) for size in sizes(text)]
    if ";" in text:
        return [item.strip() for item in text.split(";") if item.strip()]
    values: list[str] = []
    for item in lists(text) if name == "hosts" else text.split(","):
        knob = name == "lb" and "=" in item and ":" not in item
        if values and ((knob and ":" in values[-1]) or (name == "background" and not item.startswith("share="))):
            values[-1] += f",{item}"
        elif ".." in item and all(end.strip().isdecimal() for end in item.split("..", 1)):
            values += doubled(item)
        else:
            values.append(item)
    return [item.strip() for item in values if item.strip()]


def doubled(text: str) -> list[str]:
    """Return the numbers of a range such as ``1..32``. Each is twice the previous number: 1, 2, 4, … 32."""
    first, last = (int(end) for end in text.split("..", 1))
    numbers = [first]
    while 0 < numbers[-1] * 2 <= last:
        numbers.append(numbers[-1] * 2)
    return [str(number) for number in numbers]


def variants(network: Network, text: str, given: Mapping[str, Any]) -> list[Variant]:
    """Return the request for each value of a text such as ``NAME=a,b,c``. ``given`` has all other options.

    Raises ``InputError`` if a request is invalid.
    """
    name, equals, rest = text.partition("=")
    wanted = values_of(name, rest) if equals else []
    if len(wanted) < 2 or len(set(wanted)) < len(wanted):
        fix = "write --compare lb=ecmp,dlb,rlb"
        if name == "hosts":
            fix = "write --compare hosts=2,4 or, if lists contain commas, --compare 'hosts=A,B;A,C'"
        raise InputError([Problem(Option("--compare"), f"{text!r} does not give several different values", fix)])
    value_variants = [Variant(value, one_question(network, asked_with(name, value, given))) for value in wanted]
    check_ranks(network, [name], value_variants)
    return value_variants


def asked_with(name: str, value: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options ``given`` with ``value`` for the setting ``name``. Raises ``InputError`` for a name that cannot be varied."""
    varied = dict(given)
    if name.startswith(("NCCL_", "nccl.")):
        parameter = name if name.startswith("NCCL_") else f"NCCL_{name[len('nccl.') :].upper()}"
        varied["nccl"] = {**(given.get("nccl") or {}), parameter: value}
    elif "." in name or name in {"seed", "buffer", "alpha", "ecn", "lossless"}:
        varied["settings"] = {**(given.get("settings") or {}), name: value}
    elif name in OPTIONS:
        if name in WHOLE and not value.isdecimal():
            description = f"{name}={value} is not a whole number"
            raise InputError([Problem(Option("--compare"), description, f"write --compare {name}={WHOLE[name]}")])
        varied[name.replace("-", "_")] = int(value) if name in WHOLE else Path(value) if name in FILES else value
    else:
        fix = f"vary {', '.join(OPTIONS)}, NCCL_… or a parameter of the engine such as host.mtu"
        raise InputError([Problem(Option("--compare"), f"{name!r} cannot be varied", fix)])
    return varied


def one_question(network: Network, given: Mapping[str, Any]) -> Question:
    """Return the request that follows from the options. Raises ``InputError`` if the options give several requests, such as several sizes.

    ``given`` has the options by name.
    """
    asked = questions(network, given)
    if len(asked) != 1:
        raise InputError(
            [Problem(Option("--size"), "several sizes are given with --compare", "give one size, or --compare size=…")]
        )
    return asked[0]


def check_ranks(network: Network, names: Sequence[str], wanted: Sequence[Variant]) -> None:
    """Raise ``InputError`` if a varied setting selects servers or processes that the network does not have.

    ``names`` are the varied settings, and ``wanted`` the variants. This check runs before the first variant. Other errors appear only
    when their variant runs.
    """
    if not set(names) & set(RANKS.values()):
        return
    there = present(network)
    wiring = wire(there)
    asked = {
        (variant.question.scenario.hosts, variant.question.scenario.per_host, variant.question.tenant)
        for variant in wanted
    }
    for hosts, per_host, tenant in sorted(asked, key=str):
        values = {"hosts": hosts, "per-host": per_host}
        try:
            job_of(there, wiring, tenant, hosts, per_host, whole=network)
        except InputError as error:
            raise InputError([_as_compare_problem(problem, names, values) for problem in error.problems]) from None


def _as_compare_problem(problem: Problem, names: Sequence[str], values: Mapping[str, object]) -> Problem:
    """Return the error of a variant as an error of option ``--compare`` that states the varied value.

    ``values`` are the variant's values by setting. An error about an option that is not varied is returned unchanged.
    """
    name = RANKS.get(problem.place.name, "") if isinstance(problem.place, Option) else ""
    if name not in names:
        return problem
    return replace(problem, place=Option("--compare"), what=f"{name}={values[name]}: {problem.what}")
