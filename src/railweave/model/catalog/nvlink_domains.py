"""Servers whose GPUs are joined to GPUs of other servers: trays of racks with one NVLink domain.

Sources: NVIDIA's product pages of GB200 NVL72, GB300 NVL72 and Vera Rubin NVL72 (18 trays of 4 GPUs, one domain of 72); NVIDIA
HGX B200 and HGX B300 data sheets (8 GPUs on a board).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.catalog.hardware import ServerModel
    from railweave.model.catalog.models import Catalog

DOMAIN = 72
"""GPUs of a rack of one domain, unless the name says another number (``NVL36``)."""

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
    number = next((int(found[1]) for text in words if (found := _NUMBER.search(text))), None)
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
