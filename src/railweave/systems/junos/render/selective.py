"""Selective DLB: a filter that picks RDMA packets by the opcode of their base transport header.

As Juniper's "Selective Dynamic Load Balancing" (2024) has it on a routed IPv4 port: DLB with ``ether-type none``, a field
profile for filters, and ``dynamic-load-balance enable`` in the term that matches. Bridged ports take the same in a filter
of ``family ethernet-switching``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.systems.junos.names import FAMILIES, SELECTIVE_FILTER
from railweave.systems.junos.render.families import of_link
from railweave.systems.junos.tree import block, choices, entry, leaf

if TYPE_CHECKING:
    from railweave.model.device.model import DeviceConfig, Gateway, Interface
    from railweave.systems.junos.tree import Statement


def input_filter(config: DeviceConfig, port: Interface, gateway: Gateway | None) -> Statement | None:
    """The filter on a port: on leaves those to servers, elsewhere those between switches.

    What a tunnel carries has its opcode too deep for the filter, so spines of an overlay have none.
    """
    if not config.balancing.selective:
        return None
    if config.role == "leaf":
        wanted = port.kind == "server"
    else:
        wanted = config.overlay is None and not _families_of(config, port, gateway).isdisjoint(_families(config))
    return block("filter", leaf("input", SELECTIVE_FILTER)) if wanted else None


def firewall(config: DeviceConfig) -> Statement | None:
    """``firewall``: the filter, in every family that a port binds it in."""
    if not config.balancing.selective:
        return None
    return block("firewall", [_filter(config, family) for family in _bound(config)])


def field_profile(config: DeviceConfig) -> Statement | None:
    """``system packet-forwarding-options``: room for user-defined fields in filters, bridged and routed.

    A change of it restarts the forwarding engine (description in the published 23.4R2 models).
    """
    if not config.balancing.selective:
        return None
    kinds = dict.fromkeys("inet" if family.startswith("inet") else family for family in _bound(config))
    profiles = [block(kind, leaf("udf-profile1")) for kind in kinds]
    return block("packet-forwarding-options", block("firewall", block("profiles", profiles)))


def _bound(config: DeviceConfig) -> list[str]:
    """The families that the filter is bound in."""
    routed = {gateway.port: gateway for gateway in config.gateways if gateway.port}
    ports = [(port, routed.get(port.name)) for port in config.interfaces]
    return list(
        dict.fromkeys(
            one
            for port, own in ports
            if input_filter(config, port, own)
            for one in sorted(_families_of(config, port, own))
        )
    )


def _families_of(config: DeviceConfig, port: Interface, gateway: Gateway | None) -> set[str]:
    """The families of a port: two with dual stack."""
    if port.kind == "server" and gateway is None:
        return {"ethernet-switching"}
    if gateway is not None:
        return {FAMILIES[one.family] for one in gateway.addresses}
    return {FAMILIES[one] for one in of_link(config, port)}


def _families(config: DeviceConfig) -> list[str]:
    return [FAMILIES[family] for family in config.balancing.ether_types]


def _filter(config: DeviceConfig, family: str) -> Statement | None:
    versions = config.balancing.ether_types if family == "ethernet-switching" else ("",)
    return block(
        ("family", family),
        block(
            ("filter", SELECTIVE_FILTER),
            [
                block(
                    ("term", f"rdma-{version}" if version else "rdma"),
                    block(
                        "from",
                        block(("ip-version", version), choices("rdma-opcode", config.balancing.selective))
                        if version
                        else choices("rdma-opcode", config.balancing.selective),
                    ),
                    block("then", entry("count", "rdma"), leaf("dynamic-load-balance", "enable"), leaf("accept")),
                )
                for version in versions
            ],
            block(("term", "rest"), block("then", leaf("accept"))),
        ),
    )
