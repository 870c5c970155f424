"""Settings in the flash of a server's NICs: those of the catalog, with the designed values in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.device.host_model import FirmwareOption

if TYPE_CHECKING:
    from railweave.catalog.hardware import NicModel
    from railweave.device.host_model import HostQos


def firmware(model: NicModel, qos: HostQos) -> tuple[FirmwareOption, ...]:
    """The settings of a NIC model on a fabric, in the catalog's order."""
    return tuple(
        FirmwareOption(
            one.name,
            one.value.format(cnp_dscp=qos.cnp_dscp, cnp_priority=qos.cnp_priority),
            one.per_function,
            one.why,
        )
        for one in model.firmware
        if qos.adaptive_routing or not one.spraying
    )
