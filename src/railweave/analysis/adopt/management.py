"""The management plane, as most switches have it."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Any, cast

from railweave.analysis.adopt.numbers import management_addresses
from railweave.analysis.adopt.parts import common, given
from railweave.model.intent.management import Management
from railweave.model.intent.secrets import secret_reference

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.analysis.adopt.draft import Draft
    from railweave.model.device.model import DeviceConfig


def management(draft: Draft, configs: Mapping[str, DeviceConfig]) -> dict[str, Any]:
    """``management`` of the file. Secrets that were read as values become references."""
    pool = management_addresses(draft, configs)
    made: dict[str, Any] = {}
    if pool is not None and pool != Management().pool:
        made["pool"] = pool
    net = ipaddress.ip_network(pool or Management().pool)
    gateways = [str(one.management_gateway) for one in configs.values() if str(one.management_gateway)]
    if gateways:
        gateway, _ = common(list(gateways))
        if gateway != str(net.network_address + 1) and ipaddress.ip_address(gateway) in net:
            made["gateway"] = gateway
    most, others = common([given(one.management, Management()) for one in configs.values()])
    if others:
        draft.note(f"{others} switches have other management settings than the rest, whose they get")
    return made | _as_references(draft, most, "imported")


_SECRETS = frozenset({"root_password", "password", "community", "auth", "privacy", "key", "grpc_certificate"})
"""Keys whose value the fabric file only refers to."""


def _as_references(draft: Draft, value: Any, name: str) -> Any:  # noqa: ANN401 - YAML values
    """The same with ``secret:NAME`` in the place of secrets that were read as values, which no fabric file holds."""
    if isinstance(value, list):
        value = cast("list[Any]", value)
        return [_as_references(draft, one, f"{name}-{at}") for at, one in enumerate(value, 1)]
    if not isinstance(value, dict):
        return value
    made: dict[str, Any] = {}
    for key, one in cast("dict[str, Any]", value).items():
        if key in _SECRETS and isinstance(one, str) and not _is_reference(one):
            reference = f"{name}-{key.replace('_', '-')}"
            draft.note(f"the value of {key} is not in the file, which refers to it as secret:{reference}")
            made[key] = f"secret:{reference}"
        else:
            made[key] = _as_references(draft, one, f"{name}-{key.replace('_', '-')}")
    return made


def _is_reference(text: str) -> bool:
    try:
        return secret_reference(text) == text
    except ValueError:
        return False
