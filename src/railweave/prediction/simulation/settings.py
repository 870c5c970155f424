"""Parameters of the engines and of NCCL, by name.

This module converts arguments of the form ``KEY=VALUE`` to a mapping. The engines (docs/engine.md) and
``prediction.collectives.nccl`` check names and values later. The module itself reads only the engine parameters that other modules
of the simulation need.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, cast

from railweave.errors import InputError, Option, Problem
from railweave.model.config.quantities import COUNT, ENGINE_BYTES, ENGINE_TIME, Quantity
from railweave.prediction.simulation.engines.run import PARAMETERS

if TYPE_CHECKING:
    from railweave.model.intent.scenario import Setting

EXAMPLES = {"--nccl": "NCCL_BUFFSIZE=8M", "--set": "host.post-cost=750ns"}
"""The options that set parameters, each with an example."""


def by_name(words: Iterable[str] | Mapping[str, str] | None, option: str) -> dict[str, str]:
    """Return the values of ``KEY=VALUE`` arguments by key. A later argument replaces an earlier one. A mapping is copied.

    Raises ``InputError`` for an argument without a value; the error names the command-line option ``option``.
    """
    if isinstance(words, Mapping):
        return dict(cast("Mapping[str, str]", words))
    values: dict[str, str] = {}
    for word in words or ():
        name, equals, value = word.partition("=")
        if not equals:
            fix = f"write KEY=VALUE, for example {option} {EXAMPLES[option]}"
            raise InputError([Problem(Option(option), f"{word!r} does not have the form NAME=VALUE", fix)])
        values[name] = value
    return values


def texts(settings: Mapping[str, Setting]) -> dict[str, str]:
    """Return the settings of a scenario as on the command line: true becomes ``yes``, and a number its digits."""
    return {name: ("no", "yes")[value] if isinstance(value, bool) else str(value) for name, value in settings.items()}


def post_cost_ps(parameters: Mapping[str, str]) -> int:
    """Return the time in ps that a NIC's proxy takes to post a message. Raises ``InputError`` if the value is not a time.

    ``parameters`` has the engine's parameters by name.
    """
    return _read(parameters, "host.post-cost", "0us", ENGINE_TIME)


def timeout_ps(parameters: Mapping[str, str]) -> int:
    """Return the retransmission timeout of NICs in ps. Raises ``InputError`` if the value is not a time.

    ``parameters`` has the engine's parameters by name.
    """
    return _read(parameters, "host.timeout", "4ms", ENGINE_TIME)


def payload_bytes(parameters: Mapping[str, str]) -> int:
    """Return the payload of a full packet in bytes. Raises ``InputError`` if the value is not a size.

    ``parameters`` has the engine's parameters by name.
    """
    return max(_read(parameters, "host.mtu", "4096", ENGINE_BYTES), 1)


def packets_acknowledged(parameters: Mapping[str, str]) -> int:
    """Return the number of packets per acknowledgement. Raises ``InputError`` if the value is not a number.

    ``parameters`` has the engine's parameters by name.
    """
    return max(_read(parameters, "host.ack-every", "1", COUNT), 1)


def _read(parameters: Mapping[str, str], name: str, default: str, quantity: Quantity[int]) -> int:
    try:
        return quantity.parse(parameters.get(name, default))
    except ValueError as error:
        raise InputError([Problem(Option("--set", part=(name,)), f"{name}: {error}", PARAMETERS)]) from None
