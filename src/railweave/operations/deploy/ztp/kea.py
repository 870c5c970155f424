"""The text of ISC Kea's DHCPv4 server (Kea Administrator Reference Manual): a class for each serial number, and a pool of one address for each class.

Who is in no class gets no address, for there is no other pool.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.operations.deploy.ztp.device import Device
    from railweave.systems.first_boot import Options, Says

LEASE_S = 3600
_TFTP = {"name": "tftp-server-addresses", "code": 150, "space": "dhcp4", "type": "ipv4-address", "array": True}


def kea(devices: Sequence[Device], interface: str) -> str:
    """``kea-dhcp4.conf``. ``interface`` is where the server listens, ``*`` for every one."""
    networks = list(dict.fromkeys(one.network for one in devices))
    subnets = [
        {
            "id": number,
            "subnet": str(network),
            "option-data": _routers(devices, network),
            "pools": [{"pool": f"{one.ip}/32", "client-class": one.tag} for one in devices if one.network == network],
        }
        for number, network in enumerate(networks, 1)
    ]
    found = {
        "Dhcp4": {
            "interfaces-config": {"interfaces": [interface]},
            "lease-database": {"type": "memfile", "persist": True},
            "valid-lifetime": LEASE_S,
            "option-def": [_TFTP],
            "client-classes": [_class(one) for one in devices],
            "subnet4": subnets,
        }
    }
    return f"// Written by railweave deploy ztp. Test it: kea-dhcp4 -t FILE\n{json.dumps(found, indent=2)}\n"


def _routers(devices: Sequence[Device], network: object) -> list[dict[str, Any]]:
    gateway = next((one.gateway for one in devices if one.network == network and one.gateway), "")
    return [{"name": "routers", "data": gateway}] if gateway else []


def _class(device: Device) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": device.tag,
        "test": " or ".join(f"({_test(one, device.serial)})" for one in device.says),
    }
    if device.options.vendor:
        found["option-def"] = [{"name": "vendor-encapsulated-options", "code": 43, "space": "dhcp4", "type": "binary"}]
    found["option-data"] = [{"name": "host-name", "data": device.name}, *_options(device.options)]
    return found


def _test(says: Says, serial: str) -> str:
    """The client's option ends with the serial number; a negative place counts from the end."""
    end = says.before + serial
    text = f"option[{says.option}].hex"
    test = f"{text} == '{end}'" if says.whole else f"substring({text}, -{len(end)}, {len(end)}) == '{end}'"
    if not says.vendor:
        return test
    return f"substring(option[60].hex, 0, {len(says.vendor)}) == '{says.vendor}' and {test}"


def _options(options: Options) -> list[dict[str, Any]]:
    """Each is sent whether the client asks for it or not."""
    found: list[dict[str, Any]] = []
    if options.bootfile:
        found.append({"name": "boot-file-name", "data": options.bootfile, "always-send": True})
    if options.server_name:
        found.append({"name": "tftp-server-name", "data": options.server_name, "always-send": True})
    if options.tftp_server:
        found.append({"name": "tftp-server-addresses", "data": options.tftp_server, "always-send": True})
    if options.vendor:
        found.append(
            {
                "name": "vendor-encapsulated-options",
                "csv-format": False,
                "data": encapsulated(options).hex(),
                "always-send": True,
            }
        )
    return found


def encapsulated(options: Options) -> bytes:
    """Option 43: each sub-option as code, length, text (RFC 2132, 8.4)."""
    return b"".join(bytes((code, len(text.encode()))) + text.encode() for code, text in sorted(options.vendor.items()))
