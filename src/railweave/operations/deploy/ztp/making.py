"""The folder that ``deploy ztp`` writes for the first boot of switches.

Each device has a subfolder named by its serial number. The folder also has the configuration of two DHCP servers (dnsmasq and Kea), and
``first-boot.json``, the list of devices.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, replace
from ipaddress import IPv4Network, ip_address, ip_interface
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from railweave.errors import Argument, FileLine, InputError, Option, OutputError, Problem, unknown_switches
from railweave.model.config.secret_words import REFERENCE
from railweave.model.device.balancing import BalancingConfig
from railweave.model.device.build import device_config
from railweave.model.device.management import Management
from railweave.outputs.folder.rendering import with_secrets
from railweave.reading import file_text, parse_json
from railweave.systems import system, systems
from railweave.systems.first_boot import Image, Options, Place, SerialOption
from railweave.writing import write_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.model import Network
    from railweave.systems.protocol import FirstBoot


def minimal(config: DeviceConfig) -> DeviceConfig:
    """Return a configuration for management access only.

    The configuration carries no traffic: it has no ports to servers, no addresses on ports, and no routing, queues or
    tenants. ``deploy apply`` adds these later. LLDP is on at ports to other switches, so that ``deploy acknowledge``
    can compare the cables.
    """
    old = config.management
    management = Management(
        domain=old.domain,
        time_zone=old.time_zone,
        root_password=old.root_password,
        users=old.users,
        services=old.services,
        lldp=old.lldp,
        lldp_interval=old.lldp_interval,
        lldp_hold=old.lldp_hold,
    )
    bare = [replace(port, addresses=(), macsec=None, vrf="", more=()) for port in config.fabric_interfaces()]
    return replace(
        config,
        management=management,
        interfaces=tuple(bare),
        gateways=(),
        bgp=None,
        qos=None,
        balancing=BalancingConfig("ecmp", (), fast_reroute=False),
        extra="",
        overlay=None,
        vrfs=(),
        mac_vrf=None,
        left_out=(),
        isis=None,
        protection=None,
        ospf=None,
    )


@dataclass(frozen=True)
class Device:
    """A device at its first boot.

    - ``address``: the device's management address with prefix length.
    - ``gateway``: the gateway of the management network.
    - ``serial_options``, ``headers``: the DHCP options and the HTTP headers in which the device sends its serial number.
    - ``options``: the DHCP options that the server sends to the device.
    - ``files``: the text of each file that the device fetches, by name.
    """

    name: str
    serial: str
    system: str
    address: str
    gateway: str
    serial_options: tuple[SerialOption, ...]
    headers: tuple[str, ...]
    options: Options
    files: Mapping[str, str]

    @property
    def tag(self) -> str:
        """The device's name for DHCP servers: only letters, digits and dashes."""
        return "".join(character if character.isalnum() else "-" for character in self.name)

    @property
    def ip(self) -> str:
        """The management address without its prefix length."""
        return str(ip_interface(self.address).ip)

    @property
    def network(self) -> IPv4Network:
        """The network of the management address. Always IPv4, because DHCP assigns IPv4 addresses (RFC 2131)."""
        network = ip_interface(self.address).network
        assert isinstance(network, IPv4Network)  # noqa: S101 - `making` takes no other
        return network


LEASE = "1h"
_VENDOR, _VENDOR_OPTIONS = 60, 43


def dnsmasq(devices: Sequence[Device], interface: str) -> str:
    """Return the text of ``dnsmasq.conf``. The server listens on ``interface``; ``*`` means every interface."""
    lines = [
        "# Written by railweave deploy ztp. Test it: dnsmasq --test --conf-file=FILE",
        "# No DNS; who has no tag of a serial number gets no address.",
        "port=0",
        "dhcp-authoritative",
        "log-dhcp",
        *([] if interface == "*" else [f"interface={interface}", "bind-interfaces"]),
    ]
    for device in devices:
        lines += ["", f"# {device.name}: {device.system}, serial number {device.serial}", *_of(device, devices)]
    return "".join(f"{line}\n" for line in lines)


def _of(device: Device, devices: Sequence[Device]) -> Iterator[str]:
    tag = device.tag
    for number, option in enumerate(device.serial_options):
        yield from _match(number, option, device)
    others = [f"tag:!{other.tag}," for other in devices if other is not device and _within(device, other)]
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
        yield f"dhcp-option-force=tag:{tag},{_VENDOR_OPTIONS},{encapsulated(options).hex(':')}"


def _match(number: int, option: SerialOption, device: Device) -> Iterator[str]:
    """Yield the dnsmasq lines that recognize a device by its serial number and, if known, by the vendor name in option 60.

    ``number`` is the index of ``option``, the DHCP option that has the serial number.
    """
    text, tag = option.before + device.serial, device.tag
    serial_tag = f"{tag}-says{number}" if option.vendor else tag
    yield (
        f'dhcp-vendorclass=set:{serial_tag},"{text}"'
        if option.number == _VENDOR
        else f'dhcp-match=set:{serial_tag},{option.number},"{text}"'
    )
    if option.vendor:
        yield f'dhcp-vendorclass=set:{tag}-vendor{number},"{option.vendor}"'
        yield f"tag-if=set:{tag},tag:{serial_tag},tag:{tag}-vendor{number}"


def _within(device: Device, other: Device) -> bool:
    """Return True if the serial number of ``other`` begins with that of ``device``, without being equal."""
    return other.serial != device.serial and other.serial.startswith(device.serial)


LEASE_S = 3600
_TFTP = {"name": "tftp-server-addresses", "code": 150, "space": "dhcp4", "type": "ipv4-address", "array": True}


def kea(devices: Sequence[Device], interface: str) -> str:
    """Return the text of ``kea-dhcp4.conf``. The server listens on ``interface``; ``*`` means every interface."""
    networks = list(dict.fromkeys(device.network for device in devices))
    subnets = [
        {
            "id": number,
            "subnet": str(network),
            "option-data": _routers(devices, network),
            "pools": [
                {"pool": f"{device.ip}/32", "client-class": device.tag}
                for device in devices
                if device.network == network
            ],
        }
        for number, network in enumerate(networks, 1)
    ]
    config = {
        "Dhcp4": {
            "interfaces-config": {"interfaces": [interface]},
            "lease-database": {"type": "memfile", "persist": True},
            "valid-lifetime": LEASE_S,
            "option-def": [_TFTP],
            "client-classes": [_class(device) for device in devices],
            "subnet4": subnets,
        }
    }
    return f"// Written by railweave deploy ztp. Test it: kea-dhcp4 -t FILE\n{json.dumps(config, indent=2)}\n"


def _routers(devices: Sequence[Device], network: object) -> list[dict[str, Any]]:
    gateway = next((device.gateway for device in devices if device.network == network and device.gateway), "")
    return [{"name": "routers", "data": gateway}] if gateway else []


def _class(device: Device) -> dict[str, Any]:
    client_class: dict[str, Any] = {
        "name": device.tag,
        "test": " or ".join(f"({_test(option, device.serial)})" for option in device.serial_options),
    }
    if device.options.vendor:
        client_class["option-def"] = [
            {"name": "vendor-encapsulated-options", "code": 43, "space": "dhcp4", "type": "binary"}
        ]
    client_class["option-data"] = [{"name": "host-name", "data": device.name}, *_options(device.options)]
    return client_class


def _test(option: SerialOption, serial: str) -> str:
    """Return a Kea expression that is true if the DHCP option of a client ends with the serial number.

    A negative offset of ``substring`` counts from the end.
    """
    end = option.before + serial
    text = f"option[{option.number}].hex"
    test = f"{text} == '{end}'" if option.whole else f"substring({text}, -{len(end)}, {len(end)}) == '{end}'"
    if not option.vendor:
        return test
    return f"substring(option[60].hex, 0, {len(option.vendor)}) == '{option.vendor}' and {test}"


def _options(options: Options) -> list[dict[str, Any]]:
    """Return the DHCP options for Kea. Each option is sent even if the client does not request it."""
    option_data: list[dict[str, Any]] = []
    if options.bootfile:
        option_data.append({"name": "boot-file-name", "data": options.bootfile, "always-send": True})
    if options.server_name:
        option_data.append({"name": "tftp-server-name", "data": options.server_name, "always-send": True})
    if options.tftp_server:
        option_data.append({"name": "tftp-server-addresses", "data": options.tftp_server, "always-send": True})
    if options.vendor:
        option_data.append(
            {
                "name": "vendor-encapsulated-options",
                "csv-format": False,
                "data": encapsulated(options).hex(),
                "always-send": True,
            }
        )
    return option_data


def encapsulated(options: Options) -> bytes:
    """Return the content of option 43: each sub-option as code, length and text (RFC 2132, 8.4)."""
    return b"".join(bytes((code, len(text.encode()))) + text.encode() for code, text in sorted(options.vendor.items()))


RECORD = "first-boot.json"
_SERIAL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_LONGEST_OPTION = 255
"""The largest number of bytes in a DHCP option (RFC 2132)."""


@dataclass(frozen=True)
class FirstBootFiles:
    """The files for a first boot.

    - ``url``: the address of the web server from which devices fetch files.
    - ``images``: by system, the image and its local file.
    - ``without``: the devices that are left out, with the reason.
    """

    url: str
    devices: tuple[Device, ...]
    images: Mapping[str, tuple[Image, Path]]
    without: Mapping[str, str]

    def to_json(self) -> dict[str, Any]:
        """Return the record that the web server reads and ``--json`` shows. It has checksums of the files, not their content."""
        return {
            "url": self.url,
            "devices": {
                device.serial: {
                    "name": device.name,
                    "system": device.system,
                    "address": device.address,
                    "headers": list(device.headers),
                    "files": {name: hashlib.sha256(text.encode()).hexdigest() for name, text in device.files.items()},
                }
                for device in self.devices
            },
            "images": {
                image.name: {"system": nos, "sha256": image.sha256, "file": str(path.resolve())}
                for nos, (image, path) in self.images.items()
            },
            "without": dict(self.without),
        }


def images(given: Sequence[str], url: str) -> dict[str, tuple[Image, Path]]:
    """Return the images given as ``SYSTEM=FILE``, by system, with their checksums and files. ``url`` is the address from which switches fetch the images.

    Raises ``InputError`` if an image has an unknown system or an unsuitable file name, or if its file does not exist.
    """
    from pathlib import Path

    by_system: dict[str, tuple[Image, Path]] = {}
    for argument in given:
        nos, equals, name = argument.partition("=")
        path = Path(name)
        if nos not in systems() or not equals or not path.is_file():
            message = (
                f"{argument!r} is no image of a system"
                if nos not in systems() or not equals
                else f"there is no file {name}"
            )
            raise InputError(
                [Problem(Option("--image"), message, f"write SYSTEM=FILE; systems are {', '.join(systems())}")]
            )
        if not _SERIAL.fullmatch(path.name):
            fix = "give the file a name of letters, digits, dots, dashes and underscores"
            raise InputError([Problem(Option("--image"), f"the file name {path.name!r} cannot be part of a URL", fix)])
        boot = system(nos).first_boot
        if boot is None or not boot.TAKES_IMAGE:
            fix = "install the image with the tools of its Linux system"
            raise InputError([Problem(Option("--image"), f"{nos} installs no image at its first boot", fix)])
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        by_system[nos] = (Image(path.name, f"{url}/images/{path.name}", digest), path)
    return by_system


def make(
    network: Network,
    url: str,
    *,
    secrets: Mapping[str, str],
    given: Sequence[str] = (),
    whole: bool = False,
    only: Sequence[str] = (),
) -> FirstBootFiles:
    """Return the first-boot files of the switches that have a serial number.

    - ``url``: the address of the web server that serves the files. ``given``: the images, as ``SYSTEM=FILE``.
    - ``only``: the switches to include; empty means all.
    - ``whole``: True for complete configurations. Otherwise they have only the part that ``deploy`` needs to reach the device.

    Raises ``InputError`` for an invalid address, for serial numbers that are duplicate or cannot be in a URL, for secrets without a
    value, and if no switch is left.
    """
    url, server, port = _address(url)
    if unknown := [
        switch_name for switch_name in only if switch_name not in {switch.name for switch in network.switches}
    ]:
        raise unknown_switches(unknown)
    switches = [switch for switch in network.switches if not only or switch.name in only]
    chosen = {switch.name: switch.serial for switch in switches if switch.serial}
    without = {switch.name: "the inventory has no serial number of it" for switch in switches if not switch.serial}
    _check(chosen)
    pictures = images(given, url)
    devices: list[Device] = []
    for name, serial in chosen.items():
        config = device_config(network, name)
        if ip_interface(str(config.management_address)).version != 4:
            without[name] = "its management address is of IPv6, and DHCP text is made for IPv4"
            continue
        boot = system(config.nos).first_boot
        if boot is None:
            without[name] = system(config.nos).without["first_boot"]
            continue
        image = pictures[config.nos][0] if config.nos in pictures else None
        place = Place(f"{url}/{serial}", server, port, f"{urlsplit(url).path}/{serial}", image)
        devices.append(_device(boot, config if whole else minimal(config), serial, place, secrets))
    if not devices:
        message = "none of these switches has a serial number in the inventory"
        fix = (
            "fill in the column `serial` of NAME.inventory.csv (`railweave inventory fill FABRIC --write` adds a row for each "
            "switch), or run `railweave inventory fill` with a capture"
        )
        if chosen:
            reasons = "; ".join(dict.fromkeys(without[name] for name in chosen))
            message = f"every switch with a serial number is left out: {reasons}"
            fix = "give the switches management addresses of IPv4"
        raise InputError([Problem(Argument("fabric"), message, fix)])
    return FirstBootFiles(url, tuple(devices), pictures, without)


def _device(boot: FirstBoot, config: DeviceConfig, serial: str, place: Place, secrets: Mapping[str, str]) -> Device:
    texts = boot.files(config, system(config.nos).files(config), place)
    files = {name: with_secrets(f"{serial}/{name}", text, secrets, config.nos) for name, text in texts.items()}
    if left := sorted({name for text in files.values() for name in REFERENCE.findall(text)}):
        message = f"{config.name} needs the values of {', '.join(left)}"
        raise InputError([Problem(Option("--secrets"), message, "give a file of NAME: value for them")])
    options = boot.options(place)
    texts_sent = [options.bootfile, options.server_name, *options.vendor.values()]
    if max(map(len, texts_sent)) > _LONGEST_OPTION:
        raise InputError(
            [Problem(Option("--url"), "an address would be longer than a DHCP option", "give a shorter one")]
        )
    gateway = str(config.management_gateway)
    return Device(
        config.name,
        serial,
        config.nos,
        str(config.management_address),
        gateway,
        boot.SERIAL_OPTIONS,
        boot.HEADERS,
        options,
        files,
    )


def _check(serials: Mapping[str, str]) -> None:
    """Raise ``InputError`` if a serial number is invalid, or if two devices have equal serial numbers.

    ``serials`` has the serial numbers by device.
    """
    problems: list[Problem] = []
    seen: dict[str, str] = {}
    for name, serial in serials.items():
        if not _SERIAL.fullmatch(serial):
            message = f"{serial!r} is not a valid serial number for {name}"
            problems.append(Problem(Argument("fabric"), message, "correct NAME.inventory.csv"))
        if serial in seen:
            message = f"{seen[serial]} and {name} have the same serial number {serial}"
            problems.append(Problem(Argument("fabric"), message, "correct NAME.inventory.csv"))
        seen.setdefault(serial, name)
    if problems:
        raise InputError(problems)


def _address(url: str) -> tuple[str, str, int]:
    """Return (URL without a trailing slash, its host, its port). Raises ``InputError`` if the URL is invalid."""
    fix = "write http://ADDRESS:PORT, where devices reach the server"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or 80
        ip_address(host)
    except ValueError:
        raise InputError([Problem(Option("--url"), f"{url!r} is no address of a server", fix)]) from None
    if parts.scheme != "http" or parts.query or parts.fragment or not re.fullmatch(r"[\w./-]*", parts.path):
        raise InputError([Problem(Option("--url"), f"{url!r} is no address of a server", fix)])
    return url.rstrip("/"), host, port


def check_folder(folder: Path) -> None:
    """Raise ``InputError`` if the folder has content that ``deploy ztp`` did not write."""
    try:
        ours = not folder.exists() or (folder / RECORD).is_file() or not any(folder.iterdir())
    except OSError as error:
        message, fix = f"it cannot be read as a folder: {error.strerror or error}", "choose another folder"
        raise InputError([Problem(FileLine(str(folder)), message, fix)]) from None
    if not ours:
        message, fix = "exists and was not written by railweave deploy ztp", "choose another folder, or empty it"
        raise InputError([Problem(FileLine(str(folder)), message, fix)])


def write(made: FirstBootFiles, folder: Path, interface: str = "*") -> None:
    """Write the first-boot files ``made`` into the folder. Files and a new folder are readable by their owner only, because files contain secrets.

    ``interface`` is the interface on which DHCP servers listen; ``*`` means every interface. Also remove the files that an earlier run
    wrote for devices now left out. Raises ``InputError`` if the folder has content that ``deploy ztp`` did not write.
    """
    check_folder(folder)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot write {folder}: {error.strerror or error}") from error
    files = {f"{device.serial}/{name}": text for device in made.devices for name, text in device.files.items()}
    files |= {"kea-dhcp4.conf": kea(made.devices, interface), "dnsmasq.conf": dnsmasq(made.devices, interface)}
    for old in _earlier(folder) - files.keys():
        (folder / old).unlink(missing_ok=True)
    for name, text in files.items():
        write_file(folder / name, text, private=True)
    write_file(folder / RECORD, json.dumps(made.to_json(), indent=1) + "\n", private=True)


def _earlier(folder: Path) -> set[str]:
    """Return the device files that an earlier run wrote to the folder, by relative path."""
    try:
        devices = parse_json(file_text(folder / RECORD))["devices"]
        return {f"{serial}/{name}" for serial, device in devices.items() for name in device["files"]}
    except (OSError, ValueError, KeyError, TypeError):
        return set()
