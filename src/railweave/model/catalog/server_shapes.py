"""Variants of server models with the GPU and NIC counts that a fabric file gives, and NVLink domains wider than a server."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from railweave.model.catalog.hardware import Hardware, ServerModel

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.catalog.models import Catalog
    from railweave.model.intent.fabric import FabricFile


DOMAIN = 72
"""The number of GPUs in a rack that is one NVLink domain, if the rack's name has no number such as the 36 of NVL36."""

_RACKS = re.compile(r"(?<![a-z0-9])(gb200|gb300|vr200|rubin)(?![0-9])", re.IGNORECASE)
_NUMBER = re.compile(r"nvl[ -]?(\d+)", re.IGNORECASE)
_DIES = re.compile(r"(?<![a-z0-9])(hgx|dgx)[ -]?b300", re.IGNORECASE)
"""A pattern of HGX and DGX B300 names. An HGX B300 NVL16 is one board with 8 GPUs: the 16 counts dies."""

BOARDS = {"B200": 8, "B300": 8}
"""The number of GPUs per HGX board, by GPU model. The same GPUs are also sold in trays of an NVLink rack, with fewer GPUs per tray."""

NOT_MODELLED = "NVLink between its servers is not counted: predictions send this traffic over NICs"
THE_FIELD = "domain_gpus"
"""The field of a server model with the number of GPUs of its NVLink domain."""


def wider_domain(name: str, model: ServerModel) -> str:
    """Return the reason why a server's NVLink domain is, or may be, wider than its model says; empty if it is not.

    ``name`` is the model's name. A model without the field ``domain_gpus`` is recognized by its name and description.
    """
    if model.gpu_vendor == "AMD" or not model.gpus or model.domain_gpus is not None:
        return ""
    words = (name, model.gpu, model.description)
    number = next((int(match[1]) for text in words if (match := _NUMBER.search(text))), None)
    if any(_DIES.search(text) for text in words):
        number = None
    width = DOMAIN if number is None and any(_RACKS.search(text) for text in words) else number
    if width is not None:
        domain = (
            f"by its name, its GPUs are in an NVLink domain of {width} GPUs, wider than the server ({model.gpus}); "
            f"{THE_FIELD}: {width} in the server model says so"
        )
        return domain if width > model.gpus else ""
    board = BOARDS.get(model.gpu, 0)
    if model.gpus < board:
        return (
            f"it has {model.gpus} {model.gpu}, but a board has {board}; if it is a tray of a G{model.gpu} "
            f"NVL{DOMAIN}, set {THE_FIELD}: {DOMAIN} in the server model, or else {THE_FIELD}: {model.gpus}"
        )
    return ""


def wider_domains(known: Catalog, servers: Iterable[str]) -> dict[str, str]:
    """Return, by server model, the reason why the NVLink domain is or may be wider than the server.

    ``known`` is the catalog. Models whose domain is not wider are left out.
    """
    models = {name: known.servers[name] for name in dict.fromkeys(servers) if name in known.servers}
    return {name: why for name, model in models.items() if (why := wider_domain(name, model))}


def domain_remarks(known: Catalog, servers: Iterable[str]) -> list[str]:
    """Return a remark, shown with predictions, for each server model whose NVLink domain is or may be wider than the server.

    ``known`` is the catalog.
    """
    return [f"{name}: {why}; {NOT_MODELLED}" for name, why in wider_domains(known, servers).items()]


GROUP = "gpu"
"""The name of the NIC set that serves the GPUs. It is the same in all server models."""


def shaped(spec: FabricFile, known: Catalog) -> tuple[FabricFile, Hardware]:
    """Return (changed fabric file, new server models) for server groups that set ``gpus`` or ``gpu_nics``.

    ``known`` is the catalog. Each such group gets a new model with these numbers. A group whose model is unknown or has no GPU NICs stays
    unchanged; the design reports it.
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
    """Return (name, model): the model with the given numbers of GPUs and GPU NICs, and a name such as ``dgx-h200-8x4``.

    None keeps the number of ``model``. Raises ``KeyError`` if the model has no GPU NICs.
    """
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
    """Return the name ``first`` with its last number increased until the name is not in ``taken``."""
    number = re.search(r"\d+(?=\D*$)", first)
    head, tail = (first[: number.start()], first[number.end() :]) if number else (first, "")
    place = int(number[0]) if number else 0
    while f"{head}{place}{tail}" in taken:
        place += 1
    return f"{head}{place}{tail}"
