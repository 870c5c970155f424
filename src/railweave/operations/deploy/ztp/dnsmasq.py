"""The text of dnsmasq as a DHCP server alone (dnsmasq(8)): a tag for each serial number, and a range of one address for each tag.

dnsmasq looks for a text anywhere in an option, not at its end. So where the serial number of one device begins as that of another does, the first
is only taken for who has not the tag of the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from railweave.operations.deploy.ztp.device import Device
    from railweave.systems.first_boot import Says

LEASE = "1h"
_VENDOR, _VENDOR_OPTIONS = 60, 43


def dnsmasq(devices: Sequence[Device], interface: str) -> str:
    """``dnsmasq.conf``. ``interface`` is where the server listens, ``*`` for every one."""
    lines = [
        "# Written by railweave deploy ztp. Test it: dnsmasq --test --conf-file=FILE",
        "# No DNS; who has no tag of a serial number gets no address.",
        "port=0",
        "dhcp-authoritative",
        "log-dhcp",
        *([] if interface == "*" else [f"interface={interface}", "bind-interfaces"]),
    ]
    for one in devices:
        lines += ["", f"# {one.name}: {one.system}, serial number {one.serial}", *_of(one, devices)]
    return "".join(f"{one}\n" for one in lines)


def _of(device: Device, devices: Sequence[Device]) -> Iterator[str]:
    tag = device.tag
    for number, one in enumerate(device.says):
        yield from _match(number, one, device)
    others = [f"tag:!{one.tag}," for one in devices if one is not device and _within(device, one)]
    yield f"dhcp-range=tag:{tag},{''.join(others)}{device.ip},{device.ip},{device.network.netmask},{LEASE}"
    if device.gateway:
        yield f"dhcp-option=tag:{tag},option:router,{device.gateway}"
    options = device.options
    if options.bootfile:
        yield f'dhcp-option-force=tag:{tag},67,"{options.bootfile}"'
    if options.server_name:
        yield f'dhcp-option-force=tag:{tag},66,"{options.server_name}"'
    if options.tftp_server:
        yield f"dhcp-option-force=tag:{tag},150,{options.tftp_server}"
    if options.vendor:
        from railweave.operations.deploy.ztp.kea import encapsulated

        yield f"dhcp-option-force=tag:{tag},{_VENDOR_OPTIONS},{encapsulated(options).hex(':')}"


def _match(number: int, says: Says, device: Device) -> Iterator[str]:
    """The tag of a device, for who says its serial number and, where the vendor is known, begins option 60 as it does."""
    text, tag = says.before + device.serial, device.tag
    own = f"{tag}-says{number}" if says.vendor else tag
    yield (
        f'dhcp-vendorclass=set:{own},"{text}"'
        if says.option == _VENDOR
        else f'dhcp-match=set:{own},{says.option},"{text}"'
    )
    if says.vendor:
        yield f'dhcp-vendorclass=set:{tag}-vendor{number},"{says.vendor}"'
        yield f"tag-if=set:{tag},tag:{own},tag:{tag}-vendor{number}"


def _within(device: Device, other: Device) -> bool:
    """Whether what one device says is also found in what another does."""
    return other.serial != device.serial and other.serial.startswith(device.serial)
