"""A request for a fabric (``init --gpus``), the hardware models that match it, and the topology chosen for it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from railweave.counting import counted
from railweave.design.sizing.address_rules import AddressRules, read_rules
from railweave.design.sizing.fabric_file import fabric_text, inventory_text, system_of
from railweave.design.sizing.report import Sizing
from railweave.design.sizing.shapes import choose, sizes
from railweave.design.sizing.size import SHAPES, Balancing, RefusedShape, Shape, Size, SizeRequest
from railweave.errors import InputError, Option, Problem
from railweave.model.catalog.hardware import Hardware
from railweave.model.catalog.server_shapes import with_shape
from railweave.model.catalog.words import (
    servers_named,
    switches_named,
    switches_running,
    system_named,
    unknown_server,
    unknown_switch,
)
from railweave.model.config.quantities import RATIO_FIX, ratio
from railweave.model.intent.addresses import Pools

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.model.catalog.models import Catalog


@dataclass(frozen=True, slots=True)
class Request:
    """The request of ``init --gpus``. The fields are its options.

    - ``nic`` and ``switch``: model names or parts of model names; ``switch`` may also name an operating system
      (``asked_switches``).
    - ``stripes``, ``qps`` and ``tenants``: 0 if not given.
    - ``gpus_per_server`` and ``nics_per_server``: None for the numbers of the server model.
    - ``name``: the network's name; if empty, the name is rail-GPUS.
    - ``rules``: the address ranges and names of ``--addresses``.
    - ``lb``: rlb, dlb or ecmp. None chooses dlb if the switches support it, otherwise ecmp.
    """

    gpus: int
    nic: str
    switch: str
    oversubscription: float = 1.0
    growth: float = 1.0
    shape: str | None = None
    gpus_per_server: int | None = None
    nics_per_server: int | None = None
    stripes: int = 0
    qps: int = 0
    tenants: int = 0
    lb: str | None = "rlb"
    name: str = ""
    rules: AddressRules | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A sized fabric for a request.

    ``catalog`` contains the server model of the request, and ``server`` describes this model for a fabric file.
    """

    request: Request
    catalog: Catalog
    sized: Sizing
    server: str

    @property
    def name(self) -> str:
        """The name of the network."""
        return self.request.name or f"rail-{self.request.gpus}"

    def fabric(self) -> str:
        """Return the text of the fabric file for the chosen topology."""
        asked = self.request
        return fabric_text(
            self.catalog, self.sized.best, asked.qps, asked.tenants, self.server, asked.name, asked.rules
        )

    def fabrics(self) -> dict[Shape, str]:
        """Return, by topology, the text of the fabric file for each topology that fits. These files have no tenants."""
        shapes = self.sized.shapes.items()
        return {
            shape: fabric_text(self.catalog, candidate, server=self.server)
            for shape, candidate in shapes
            if isinstance(candidate, Size)
        }

    def inventory(self) -> str:
        """Return the inventory template for the chosen topology."""
        return inventory_text(self.catalog, self.sized.best, self.request.rules)


def request_of(given: Mapping[str, Any]) -> Request:
    """Return the request that the command-line options ``given`` (values by option name) describe.

    ``qps`` may be the word ``predict``, which means that no number is given. Raises ``InputError`` for a text that is
    not a valid number.
    """
    few = "write a whole number from 1 to 4096"
    qps = None if given["qps"] == "predict" else given["qps"]
    return Request(
        gpus=_count("--gpus", given["gpus"], "a number of GPUs", "write a whole number of at least 1, for example 512"),
        nic=given["nic"],
        switch=given["switch"],
        oversubscription=_oversubscription(given["oversubscription"]),
        growth=_growth(given["growth"]),
        shape=given["shape"],
        gpus_per_server=given["gpus_per_server"],
        nics_per_server=given["nics_per_server"],
        stripes=_count("--stripes", given["stripes"], "a number of stripes", few),
        qps=_count("--qps", qps, "a number of queue pairs per connection", "write a whole number from 1 to 128", 128),
        tenants=_count("--tenants", given["tenants"], "a number of tenants", few),
        lb=given["lb"],
        name=given["name"] or "",
        rules=None if given["addresses"] is None else read_rules(Path(given["addresses"])),
    )


def _count(option: str, text: int | str | None, expected: str, fix: str, most: int = 999_999_999) -> int:
    """Return the number in an option, from 1 to ``most``. Return 0 if the option is not given.

    Raises ``InputError`` if the text is not valid. The message contains ``expected``, a description of valid values, and ``fix``.
    """
    if text is None:
        return 0
    given = str(text).strip()
    if not (given.isascii() and given.isdecimal() and len(given) < 10 and 1 <= int(given) <= most):
        raise InputError([Problem(Option(option), f"{text!r:.60} is not {expected}", fix)])
    return int(given)


def _oversubscription(text: str) -> float:
    try:
        factor = ratio(text)
    except ValueError as error:
        raise InputError([Problem(Option("--oversubscription"), str(error), RATIO_FIX)]) from None
    if factor < 1:
        fix = f"{RATIO_FIX}; sizing needs at least 1"
        raise InputError([Problem(Option("--oversubscription"), f"{text!r:.60} is not an oversubscription ratio", fix)])
    return factor


def _growth(text: str) -> float:
    try:
        factor = ratio(text.strip().removesuffix("x"))
    except ValueError:
        factor = 0.0
    if factor < 1 or ":" in text:
        raise InputError(
            [
                Problem(
                    Option("--growth"),
                    f"{text!r:.60} is not a growth factor",
                    "write a factor of at least 1, for example 2x",
                )
            ]
        )
    return factor


def asked_servers(known: Catalog, word: str) -> list[str]:
    """Return the server models that match ``word``, the text of ``--nic``, the best match first.

    ``known`` is the catalog. Raises ``InputError`` if no model matches.
    """
    servers = servers_named(known, word)
    if not servers:
        raise InputError([Problem(Option("--nic"), *unknown_server(known, word))])
    return servers


def asked_switches(known: Catalog, word: str) -> tuple[list[str], str]:
    """Return (switch models that match the text of ``--switch``, the best match first; their operating system).

    The text, ``word``, is MODEL, the name of a system, or MODEL:NOS. ``known`` is the catalog. An empty operating system means the
    model's usual one. Raises ``InputError`` if no model matches, or if none runs the system.
    """
    name, _, of_system = word.partition(":")
    system = system_named(known, of_system or name)
    if of_system and not system:
        message, fix = f"there is no operating system {of_system!r:.60}", f"known: {', '.join(known.systems)}"
        raise InputError([Problem(Option("--switch"), message, fix)])
    if system and (not name or not of_system):
        return switches_running(known, system), system
    switches = switches_named(known, name)
    if not switches:
        raise InputError([Problem(Option("--switch"), *unknown_switch(known, name))])
    running = [switch for switch in switches if system in known.switches[switch].systems] if system else switches
    if not running:
        runs = f"{switches[0]} runs {', '.join(known.switches[switches[0]].systems)}"
        fix = f"{runs}; models that run {system}: {', '.join(switches_running(known, system))}"
        raise InputError([Problem(Option("--switch"), f"{switches[0]} does not run {system!r}", fix)])
    return running, system


def answer(known: Catalog, request: Request) -> Answer:
    """Size a fabric for a request. Raises ``InputError`` if the catalog ``known`` lacks a model, or if no topology fits."""
    servers, (switches, nos) = asked_servers(known, request.nic), asked_switches(known, request.switch)
    known, server, words = _server(known, servers[0], request)
    try:
        wanted = SizeRequest(
            request.gpus,
            server,
            switches[0],
            request.oversubscription,
            request.growth,
            request.stripes,
            _balancing(known, switches[0], nos, request.lb),
            nos,
        )
        candidates = sizes(known, wanted)
    except ValueError as error:
        raise InputError([Problem(Option("--switch"), str(error), "choose another switch or NIC")]) from None
    shape = request.shape
    if shape is not None and shape not in candidates:
        message = f"there is no shape {shape!r}" if shape not in SHAPES else f"the NICs of {server} have one port each"
        raise InputError([Problem(Option("--shape"), message, f"shapes are {', '.join(candidates)}")])
    asked = candidates if shape is None else dict(item for item in candidates.items() if item[0] == shape)
    best = choose(asked)
    if not isinstance(best, Size):
        servers = math.ceil(request.gpus / known.servers[server].gpus)
        if request.stripes > servers:
            message = f"{request.stripes} stripes of {counted(servers, 'server')}"
            raise InputError(
                [Problem(Option("--stripes"), message, "a stripe needs at least one server: request fewer stripes")]
            )
        raise InputError([_nothing_fits(known, wanted, candidates, asked)])
    if request.tenants > best.servers:
        message = f"{request.tenants} tenants of {best.servers} servers"
        raise InputError(
            [Problem(Option("--tenants"), message, "a tenant needs at least one server: request fewer tenants")]
        )
    rails, (first, last) = best.ports.rails, Pools().vlan
    if request.tenants * rails > last - first + 1:
        message = (
            f"{request.tenants} tenants with {counted(rails, 'rail')} need {request.tenants * rails:,} VLANs, but "
            f"only {last - first + 1:,} exist"
        )
        fix = f"request at most {(last - first + 1) // rails}"
        raise InputError([Problem(Option("--tenants"), message, fix)])
    return Answer(request, known, Sizing(asked, best, servers[1:], switches[1:], request.nic, request.switch), words)


MODES: dict[str, Balancing] = {"dlb": "dlb-flowlet", "ecmp": "ecmp", "rlb": "rlb"}
"""The load-balancing mode in the fabric file for each value of ``--lb``."""


def _balancing(known: Catalog, switch: str, nos: str, word: str | None) -> Balancing:
    """Return the load-balancing mode for ``word``, the value of ``--lb``.

    If it is None, return flowlet balancing if the switches support it, or else static hashing. Both work without a
    plugin and without further addresses. Raises ``InputError`` for an unknown value, or if the switches do not support
    the mode.
    """
    system = system_of(known, switch, nos)
    has_dlb = known.systems[system].has("dlb-flowlet")
    if word is None:
        return "dlb-flowlet" if has_dlb else "ecmp"
    if word not in MODES:
        raise InputError(
            [Problem(Option("--lb"), f"there is no load balancing {word!r:.60}", f"choose one of {', '.join(MODES)}")]
        )
    if word == "dlb" and not has_dlb:
        fix = "--lb ecmp spreads by static hash, --lb rlb gives each queue pair its own path"
        raise InputError([Problem(Option("--lb"), f"{switch} with {system} has no dynamic load balancing", fix)])
    return MODES[word]


def _server(known: Catalog, model: str, request: Request) -> tuple[Catalog, str, str]:
    """Return (the catalog with the requested server model, the model's name, its description in a fabric file).

    ``known`` is the catalog, and ``model`` the base model, which the request may give other numbers of GPUs or NICs.
    """
    counts = {"gpus": request.gpus_per_server, "gpu_nics": request.nics_per_server}
    given = {key: count for key, count in counts.items() if count is not None}
    words = ", ".join([f"model: {model}", *(f"{key}: {count}" for key, count in given.items())])
    if not given:
        return known, model, words
    name, shaped = with_shape(model, known.servers[model], counts["gpus"], counts["gpu_nics"])
    return known.with_hardware(Hardware(servers={name: shaped})), name, words


def _nothing_fits(
    known: Catalog,
    wanted: SizeRequest,
    candidates: dict[Shape, Size | RefusedShape],
    asked: dict[Shape, Size | RefusedShape],
) -> Problem:
    """Return the problem to report if none of the requested shapes (kinds of topology) fits, with the reasons and a fix.

    ``known`` is the catalog, and ``wanted`` the request. ``candidates`` are the results for all shapes, and ``asked`` the results for the
    requested shapes.
    """
    why = "; ".join(f"{name}: {candidate.why}" for name, candidate in asked.items() if not isinstance(candidate, Size))
    fix = "choose a larger switch, or fewer GPUs"
    if wanted.stripes and choose(sizes(known, replace(wanted, stripes=0))):
        fix = "remove --stripes, or give another number"
    if len(asked) < len(candidates) and (other := choose(candidates)):
        fix = f"shape {other.shape} is possible: remove --shape"
    return Problem(Option("--gpus"), f"{wanted.gpus} GPUs do not fit into any shape ({why})", fix)
