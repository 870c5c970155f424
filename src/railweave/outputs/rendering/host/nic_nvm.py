"""``nic-nvm.sh``: settings in the NICs' flash. Which and why is in ``nics.yaml`` of their vendor, with sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.nics import vendors_of
from railweave.outputs.rendering.host.shell import BY_NAME, array, body, head

if TYPE_CHECKING:
    from railweave.model.device.host_model import FirmwareOption, HostConfig


def nic_nvm(config: HostConfig) -> str:
    """The script that shows the settings and sets those that differ."""
    lists: dict[tuple[FirmwareOption, ...], str] = {}
    nics: list[str] = []
    vendors: set[str] = set()
    for nic in config.nics:
        if nic.firmware:
            vendors.add(nic.vendor)
            name = lists.setdefault(nic.firmware, f"OPTIONS_{len(lists) + 1}")
            nics.append(f"{nic.netdev} {nic.vendor} {name}")
    lines = head("Settings in the NICs' flash.", network=config.network, server=config.name, lint=BY_NAME)
    lines += ["# interface, vendor, its list of settings", *array("NICS", nics), ""]
    lines += ["# setting, wanted value (- is only shown), whether each PCI function has its own, why"]
    for options, name in lists.items():
        lines += array(name, [_option(one) for one in options])
    own = (vendor.nvm_script() for vendor in vendors_of(vendors))
    return "".join(
        ["\n".join([*lines, "", ""]), body("nic_common.sh"), body("nic_nvm.sh"), *own, body("nic_nvm_main.sh")]
    )


def _option(one: FirmwareOption) -> str:
    return f"{one.name} {one.value or '-'} {'function' if one.per_function else 'device'} {one.why}"
