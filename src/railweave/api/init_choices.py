"""The choices that ``init`` offers when it asks questions: hardware models by name, and the cost of each kind of load balancing."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from railweave.errors import InputError
from railweave.model.catalog import packaged
from railweave.model.catalog.hardware_files import own_hardware
from railweave.model.catalog.words import servers_named, sized_servers, unknown_server
from railweave.outputs.folder.sources import path_of

if TYPE_CHECKING:
    from pathlib import Path

    from railweave.model.catalog.models import Catalog


class Choice(NamedTuple):
    """The catalog model ``name`` that matches a user's input, and its description ``shown``. Without a match, ``problem`` explains why."""

    name: str
    shown: str = ""
    problem: str = ""


class Balance(NamedTuple):
    """A kind of load balancing. ``price`` describes its behavior and its cost in one line."""

    word: str
    price: str


def known(hardware: Path | str | None) -> Catalog:
    """Return the packaged hardware models and those of hardware files. Raises ``InputError`` if these files are not valid."""
    return packaged().with_hardware(own_hardware(path_of(hardware)).hardware)


def servers(catalog: Catalog) -> list[str]:
    """Return a line for each model that ``--nic`` accepts: server, GPUs and NICs."""
    rows = sized_servers(catalog)
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    return [f"{server:{widths[0]}}  {gpus:{widths[1]}}  {nics}" for server, gpus, nics in rows]


def server_of(catalog: Catalog, word: str) -> Choice:
    """Return the server model for ``word``: the name, or part of the name, of a server, NIC or GPU."""
    names = servers_named(catalog, word) if word.strip() else []
    if not names:
        return Choice("", problem="; ".join(unknown_server(catalog, word)))
    gpus, nics = next(row[1:] for row in sized_servers(catalog) if row[0] == names[0])
    return Choice(names[0], f"{names[0]}: {gpus}, {nics}")


def gpus_of(catalog: Catalog, word: str) -> int:
    """Return the number of GPUs of the server model that ``word`` names. Raises ``InputError`` for an unknown model."""
    from railweave.design.sizing.request import asked_servers

    return catalog.servers[asked_servers(catalog, word)[0]].gpus


def switch_of(catalog: Catalog, word: str) -> Choice:
    """Return the switch model for ``word``: a model, vendor, system, or part of a name. A system gives MODEL:NOS."""
    from railweave.design.sizing.request import asked_switches

    try:
        names, nos = asked_switches(catalog, word.strip())
    except InputError as error:
        return Choice("", problem="; ".join(filter(None, (error.problems[0].what, error.problems[0].fix))))
    shown = f"{names[0]}: {catalog.switches[names[0]].description}"
    return Choice(f"{names[0]}:{nos}", f"{shown}, with {nos}") if nos else Choice(names[0], shown)


def balances(catalog: Catalog, gpus: int, server: str, switch: str) -> list[Balance]:
    """Return the kinds of load balancing that are possible for a fabric of this size, each with its cost. The default comes first.

    Raises ``InputError`` if no topology fits.
    """
    from railweave.design.sizing.request import MODES, Request, answer

    usual = answer(catalog, Request(gpus, server, switch, lb=None)).sized.best
    if not usual.spines:
        return [Balance("ecmp", "one leaf for each rail or for all: there is nothing to balance")]
    default = next(word for word, mode in MODES.items() if mode == usual.wanted.balancing)
    nics = len(catalog.servers[server].nics["gpu"].names)
    offered: list[Balance] = []
    for word in sorted(MODES, key=lambda word: word != default):
        try:
            size = usual if word == default else answer(catalog, Request(gpus, server, switch, lb=word)).sized.best
        except InputError:
            continue
        paths = size.colors if word == "rlb" else 1
        addresses = f"{paths} address{'es' if paths > 1 else ''} a NIC, {paths * nics} routing tables a server"
        offered.append(
            Balance(word, f"{_WHAT[word]}; {addresses}, {'the NCCL plugin' if word == 'rlb' else 'no plugin'}")
        )
    return offered


_WHAT = {
    "dlb": "switches move flowlets to less loaded links",
    "ecmp": "static hash: two large flows may share a link",
    "rlb": "each queue pair has its own path",
}
