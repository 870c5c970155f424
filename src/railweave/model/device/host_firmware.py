"""Settings in the flash of a server's NICs: those of the catalog, with the designed values in them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from railweave.model.device.host_model import FirmwareOption

if TYPE_CHECKING:
    from railweave.model.catalog.hardware import NicModel
    from railweave.model.device.host_model import HostQos


_OF_PORT = re.compile(r"_P(\d+)$")
"""How a setting of one port of a card ends (NVIDIA's ``CNP_DSCP_P2``)."""


def firmware(model: NicModel, qos: HostQos, ports: range | None = None) -> tuple[FirmwareOption, ...]:
    """The settings of a NIC model on a fabric, in the catalog's order; of a card in two fabrics those of the ``ports`` on this one."""
    return tuple(
        FirmwareOption(
            one.name,
            one.value.format(cnp_dscp=qos.cnp_dscp, cnp_priority=qos.cnp_priority),
            one.per_function,
            one.why,
        )
        for one in model.firmware
        if (qos.adaptive_routing or not one.spraying) and _is_of(one.name, ports)
    )


def _is_of(setting: str, ports: range | None) -> bool:
    port = _OF_PORT.search(setting)
    return ports is None or port is None or int(port[1]) in ports
