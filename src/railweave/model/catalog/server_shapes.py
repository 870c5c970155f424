"""Servers with as many GPUs and NICs as a fabric file says, and NVLink domains wider than a server."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from railweave.model.catalog.hardware import Hardware, ServerModel

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.catalog.models import Catalog
    from railweave.model.intent.fabric import FabricFile


DOMAIN = 72
"""GPUs of a rack of one domain, unless the name has another number, for example NVL36."""

_RACKS = re.compile(r"(?<![a-z0-9])(gb200|gb300|vr200|rubin)(?![0-9])", re.IGNORECASE)
_NUMBER = re.compile(r"nvl[ -]?(\d+)", re.IGNORECASE)
_DIES = re.compile(r"(?<![a-z0-9])(hgx|dgx)[ -]?b300", re.IGNORECASE)
"""HGX B300 NVL16 is one board: the number counts dies, two a GPU."""

BOARDS = {"B200": 8, "B300": 8}
"""GPUs that are sold on boards of so many, or as trays of a rack."""

NOT_MODELLED = "NVLink between servers is not modelled, and what goes over it is predicted to go over NICs"


def wider_domain(name: str, model: ServerModel) -> str:
    """Return why the NVLink domain of a server's GPUs is, or may be, wider than the server; empty if it is not.

    ``name`` is the model's. The names and the description say it, for no field of a hardware file does.
    """
    if model.gpu_vendor == "AMD" or not model.gpus:
        return ""
    words = (name, model.gpu, model.description)
    number = next((int(match[1]) for text in words if (match := _NUMBER.search(text))), None)
    if any(_DIES.search(text) for text in words):
        number = None
    width = DOMAIN if number is None and any(_RACKS.search(text) for text in words) else number
    if width is not None:
        domain = f"its GPUs are in an NVLink domain of {width} GPUs, wider than the server ({model.gpus})"
        return domain if width > model.gpus else ""
    board = BOARDS.get(model.gpu, 0)
    if model.gpus < board:
        return (
            f"it has {model.gpus} of the {board} GPUs of a board with {model.gpu}; if it stands for a tray of G{model.gpu} NVL{DOMAIN}, "
            f"its NVLink domain has {DOMAIN} GPUs"
        )
    return ""


def wider_domains(known: Catalog, servers: Iterable[str]) -> dict[str, str]:
    """By server model, of those used, why its NVLink domain is or may be wider than the server."""
    models = {name: known.servers[name] for name in dict.fromkeys(servers) if name in known.servers}
    return {name: why for name, model in models.items() if (why := wider_domain(name, model))}


def domain_remarks(known: Catalog, servers: Iterable[str]) -> list[str]:
    """Remarks for a prediction: one for each such server model."""
    return [f"{name}: {why}; {NOT_MODELLED}" for name, why in wider_domains(known, servers).items()]


GROUP = "gpu"
"""The NICs of a server model that are its GPUs' own."""


def shaped(spec: FabricFile, known: Catalog) -> tuple[FabricFile, Hardware]:
    """The file with each group that gives ``gpus`` or ``gpu_nics`` naming a model of that shape, and these models.

    A group whose model is unknown, or has no NICs for GPUs, is left as it is: design says so.
    """
    made: dict[str, ServerModel] = {}
    groups = list(spec.servers)
    for place, group in enumerate(groups):
        model = known.servers.get(group.model)
        if (group.gpus is None and group.gpu_nics is None) or model is None or GROUP not in model.nics:
            continue
        name, shaped_model = with_shape(group.model, model, group.gpus, group.gpu_nics)
        made[name] = shaped_model
        groups[place] = group.model_copy(update={"model": name})
    return spec.model_copy(update={"servers": tuple(groups)}), Hardware(servers=made)


def with_shape(name: str, model: ServerModel, gpus: int | None, nics: int | None) -> tuple[str, ServerModel]:
    """A model with so many GPUs and NICs of theirs, and its name: ``dgx-h200-8x4``. Raises ``KeyError`` without such NICs."""
    group = model.nics[GROUP]
    count = group.adapters if nics is None else nics
    taken = [device for nic in model.nics.values() for device in nic.rdma]
    names, rdma = list[str](), list[str]()
    for first in range(0, len(group.names), group.adapters):  # the first ports of all NICs, then the second ones
        last = first + min(count, group.adapters)
        names += group.names[first:last]
        rdma += group.rdma[first:last]
        for _ in range(count - group.adapters):
            known = [name for nic in model.nics.values() for name in nic.names]
            names.append(_next(group.names[first], [*names, *known]))
            rdma.append(_next(group.rdma[first], [*rdma, *taken]))
    shaped_group = group.model_copy(update={"names": tuple(names), "rdma": tuple(rdma)})
    more = {"gpus": model.gpus if gpus is None else gpus, "nics": {**model.nics, GROUP: shaped_group}}
    return f"{name}-{more['gpus']}x{count}", model.model_copy(update=more)


def _next(first: str, taken: list[str]) -> str:
    """A name like the first, with a number that no other has."""
    number = re.search(r"\d+(?=\D*$)", first)
    head, tail = (first[: number.start()], first[number.end() :]) if number else (first, "")
    place = int(number[0]) if number else 0
    while f"{head}{place}{tail}" in taken:
        place += 1
    return f"{head}{place}{tail}"
