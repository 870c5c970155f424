"""Search of hardware models by names that the fabric file or the command line gives, and models as lines of text or YAML."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import yaml

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from railweave.errors import FileLine
    from railweave.model.catalog.hardware import NicModel, Optic, ServerModel, SwitchModel
    from railweave.model.catalog.models import Catalog


SECTIONS = ("switches", "nics", "servers", "optics")
"""Kinds of hardware, in the order in which they are listed."""

ASSUMED = "assumed"
"""The first word of a ``source`` if no document gives the value."""


@dataclass(frozen=True, slots=True)
class Row:
    """A one-line summary of a hardware model.

    ``origin`` is ``package``, or the file and line where a user describes the model.
    """

    section: str
    name: str
    description: str
    origin: str


def rows(catalog: Catalog, places: Mapping[tuple[str, str], FileLine]) -> list[Row]:
    """Return a one-line summary of every model of the catalog. ``places`` has the file and line of users' own models."""
    return [
        Row(section, name, _in_a_line(catalog, section, model), _origin(section, name, places))
        for section in SECTIONS
        for name, model in getattr(catalog, section).items()
    ]


def _origin(section: str, name: str, places: Mapping[tuple[str, str], FileLine]) -> str:
    place = places.get((section, name))
    return "package" if place is None else str(place)


def _in_a_line(catalog: Catalog, section: str, model: object) -> str:
    if section == "switches":
        switch = cast("SwitchModel", model)
        return f"{switch.vendor} {switch.description}, {switch.asic}; runs {', '.join(switch.systems)}"
    if section == "nics":
        nic = cast("NicModel", model)
        return f"{nic.vendor} {nic.description}; {nic.cage}"
    if section == "servers":
        server = cast("ServerModel", model)
        groups = [
            f"{group}: {len(nics.names)} x {nics.nic} ({known.speed_gbps}G)"
            if known
            else f"{group}: {len(nics.names)} x {nics.nic}"
            for group, nics in server.nics.items()
            for known in [catalog.nics.get(nics.nic)]
        ]
        return "; ".join([server.description, *groups])
    return cast("Optic", model).description


@dataclass(frozen=True)
class ShownModel:
    """A model as a hardware file writes it, without fields that have their default value: as data, and as YAML text."""

    section: str
    values: dict[str, Any]
    text: str


def shown(catalog: Catalog, name: str, places: Mapping[tuple[str, str], FileLine]) -> list[ShownModel]:
    """Return the models with a name, from each section that has such a model. ``places`` has the file and line of users' own models."""
    return [
        ShownModel(section, to_json(catalog, section, name), text(catalog, section, name, places))
        for section in SECTIONS
        if name in getattr(catalog, section)
    ]


def to_json(catalog: Catalog, section: str, name: str) -> dict[str, Any]:
    """Return a model as data for a hardware file, without fields that have their default value."""
    model = getattr(catalog, section)[name]
    return cast("dict[str, Any]", model.model_dump(mode="json", exclude_defaults=True))


def text(catalog: Catalog, section: str, name: str, places: Mapping[tuple[str, str], FileLine]) -> str:
    """Return a model as YAML of a hardware file. A header names the model's origin and its assumed values.

    ``places`` has the file and line of users' own models.
    """
    value = to_json(catalog, section, name)
    assumed = list(_assumed(value))
    lines = [f"# {name}: {_origin(section, name, places)}"]
    lines += [f"# assumed: {note}" for note in assumed] or ["# nothing of it is marked as assumed"]
    body = yaml.safe_dump({section: {name: value}}, sort_keys=False, allow_unicode=True, width=120)
    return "\n".join([*lines, body.rstrip()])


def _assumed(value: object, at: str = "") -> Iterator[str]:
    """Yield ``PATH: SOURCE`` for each value whose source is marked as assumed. PATH is the key path of the value in the model.

    ``at`` is the key path of the argument ``value``.
    """
    if isinstance(value, dict):
        for key, inner in cast("dict[str, object]", value).items():
            yield from _assumed(inner, f"{at}.{key}" if at else key)
    elif isinstance(value, list):
        for place, inner in enumerate(cast("list[object]", value)):
            yield from _assumed(inner, f"{at}[{place}]")
    elif isinstance(value, str) and at.rpartition(".")[2].endswith("source") and ASSUMED in value:
        yield f"{at.removesuffix('source').rstrip('._') or 'the model'}: {value}"


HOW_TO_ADD = (
    "a hardware file can add a model: `railweave hardware show MODEL` prints a file to start from, and "
    "--hardware DIR reads the files (docs/hardware.md)"
)


def servers_named(catalog: Catalog, word: str) -> list[str]:
    """Return the server models that match a word. The first of these searches that finds a model decides:

    - models with this name, or with a GPU NIC of this name;
    - models with this GPU;
    - models whose names contain the word, or whose GPU NIC's name does.

    Case, spaces, hyphens and underscores do not matter: "ConnectX7" is ``connectx-7``.
    """
    nics = {name: model.nics["gpu"].nic for name, model in catalog.servers.items() if "gpu" in model.nics}
    plain = _plain(word)
    exact = [name for name, nic in nics.items() if plain in {_plain(name), _plain(nic)}]
    of_gpu = [name for name in nics if plain and plain == _plain(catalog.servers[name].gpu)]
    return exact or of_gpu or [name for name, nic in nics.items() if plain in _plain(name) or plain in _plain(nic)]


def switches_named(catalog: Catalog, word: str) -> list[str]:
    """Return the switch models that match a word. The first of these searches that finds a model decides:

    - the model with exactly this name;
    - models whose names begin with the word;
    - models of the vendor with this name;
    - models whose names contain the word: ``7060x6`` matches ``arista-7060x6-64pe``.
    """
    word = word.lower()
    if word in catalog.switches:
        return [word]
    begin = [name for name in catalog.switches if name.startswith(word)] if word else []
    plain = _plain(word)
    return (
        begin
        or [name for name, model in catalog.switches.items() if model.vendor.lower() == word]
        or [name for name in catalog.switches if plain and plain in _plain(name)]
    )


def system_named(catalog: Catalog, word: str) -> str:
    """Return the operating system with the name ``word``, or an empty string. Case and hyphens do not matter: "SONiC" is ``sonic``."""
    return next((name for name in catalog.systems if _plain(name) == _plain(word)), "")


def switches_running(catalog: Catalog, system: str) -> list[str]:
    """Return the switch models that run a system. Models that list this system first come first."""
    names = [name for name, model in catalog.switches.items() if system in model.systems]
    return sorted(names, key=lambda name: catalog.switches[name].systems[0] != system)


def _plain(word: str) -> str:
    """Return a word in lower case, without spaces, hyphens and underscores."""
    return re.sub(r"[\s_-]", "", word.casefold())


def unknown_switch(catalog: Catalog, word: str) -> tuple[str, str]:
    """Return (error, fix) for a word that matches no switch model."""
    if system := system_named(catalog, word):
        running = ", ".join(switches_running(catalog, system))
        return f"{word!r} is an operating system, not a switch model", f"models that run it: {running}"
    return f"switch model {word!r} is not in the catalog", _instead(word, catalog.switches, catalog.switches)


def unknown_server(catalog: Catalog, word: str) -> tuple[str, str]:
    """Return (error, fix) for a word that matches no server model."""
    nics = {model.nics["gpu"].nic for model in catalog.servers.values() if "gpu" in model.nics}
    gpus = {model.gpu for model in catalog.servers.values() if "gpu" in model.nics and model.gpu}
    names = {*catalog.servers, *nics, *gpus}
    return f"server model {word!r} is not in the catalog", _instead(word, names, catalog.servers)


def sized_servers(catalog: Catalog) -> list[tuple[str, str, str]]:
    """Return the models that ``init --nic`` accepts, as (server, ``8 x GPU``, ``8 x NIC``) with numbers and names."""
    return [
        (name, f"{model.gpus} x {model.gpu or 'GPU'}", f"{len(model.nics['gpu'].names)} x {model.nics['gpu'].nic}")
        for name, model in catalog.servers.items()
        if "gpu" in model.nics
    ]


def _instead(word: str, names: Collection[str], known: Collection[str]) -> str:
    """Return the fix for the unknown model ``word``.

    It suggests the most similar of ``names``, if any is close, and lists all known models.
    """
    close = difflib.get_close_matches(word.lower(), sorted(names), 1, cutoff=0.8)
    return f"{f'did you mean {close[0]!r}? ' if close else ''}known models: {', '.join(sorted(known))}; {HOW_TO_ADD}"
