"""The folder of a first boot: files of each device below its serial number, text of two DHCP servers, and what there is as ``first-boot.json``."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from ipaddress import ip_address, ip_interface
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from railweave.errors import Argument, FileLine, InputError, Option, Problem, unknown_switches
from railweave.model.config.secret import REFERENCE
from railweave.model.device.build import device_config
from railweave.operations.deploy.ztp.device import Device
from railweave.operations.deploy.ztp.dnsmasq import dnsmasq
from railweave.operations.deploy.ztp.kea import kea
from railweave.operations.deploy.ztp.minimal import minimal
from railweave.outputs.folder.rendering import with_secrets
from railweave.systems import system, systems
from railweave.systems.first_boot import Image, Place
from railweave.writing import write_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.model import Network
    from railweave.systems.protocol import FirstBoot

RECORD = "first-boot.json"
_SERIAL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_LONGEST_OPTION = 255
"""Bytes of a DHCP option (RFC 2132)."""


@dataclass(frozen=True)
class Made:
    """``devices`` that boot so; ``images`` by system, with the file of each; ``without`` are those left out, with the reason."""

    url: str
    devices: tuple[Device, ...]
    images: Mapping[str, tuple[Image, Path]]
    without: Mapping[str, str]

    def to_json(self) -> dict[str, Any]:
        """What the server of the folder reads, and ``--json`` shows. There is no content in it."""
        return {
            "url": self.url,
            "devices": {
                one.serial: {
                    "name": one.name,
                    "system": one.system,
                    "address": one.address,
                    "headers": list(one.headers),
                    "files": {name: hashlib.sha256(text.encode()).hexdigest() for name, text in one.files.items()},
                }
                for one in self.devices
            },
            "images": {
                image.name: {"system": nos, "sha256": image.sha256, "file": str(path.resolve())}
                for nos, (image, path) in self.images.items()
            },
            "without": dict(self.without),
        }


def images(given: Sequence[str], url: str) -> dict[str, tuple[Image, Path]]:
    """Images as ``SYSTEM=FILE``, with their checksums. Raises ``InputError``."""
    from pathlib import Path

    found: dict[str, tuple[Image, Path]] = {}
    for one in given:
        nos, equals, name = one.partition("=")
        path = Path(name)
        if nos not in systems() or not equals or not path.is_file():
            what = (
                f"{one!r} is no image of a system" if nos not in systems() or not equals else f"there is no file {name}"
            )
            raise InputError(
                [Problem(Option("--image"), what, f"write SYSTEM=FILE; systems are {', '.join(systems())}")]
            )
        if not _SERIAL.fullmatch(path.name):
            fix = "give the file a name of letters, digits, dots, dashes and underscores"
            raise InputError([Problem(Option("--image"), f"{path.name!r} cannot stand in an address", fix)])
        boot = system(nos).first_boot
        if boot is None or not boot.TAKES_IMAGE:
            fix = "bring the image onto it by the means of its Linux"
            raise InputError([Problem(Option("--image"), f"{nos} installs no image at its first boot", fix)])
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        found[nos] = (Image(path.name, f"{url}/images/{path.name}", digest), path)
    return found


def make(
    network: Network,
    url: str,
    *,
    secrets: Mapping[str, str],
    given: Sequence[str] = (),
    whole: bool = False,
    only: Sequence[str] = (),
) -> Made:
    """What devices get. ``whole``: their full configuration, not only what ``deploy`` needs.

    Raises ``InputError`` for an address that is none, serial numbers that are the same or cannot stand in an address, secrets without a value.
    """
    url, server, port = _address(url)
    if unknown := [one for one in only if one not in {switch.name for switch in network.switches}]:
        raise unknown_switches(unknown)
    switches = [one for one in network.switches if not only or one.name in only]
    chosen = {one.name: one.serial for one in switches if one.serial}
    without = {one.name: "the inventory has no serial number of it" for one in switches if not one.serial}
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
        what = "none of these switches has a serial number in the inventory"
        fix = "fill them in: `railweave inventory fill`, or the column `serial` of NAME.inventory.csv"
        if chosen:
            reasons = "; ".join(dict.fromkeys(without[name] for name in chosen))
            what = f"every switch with a serial number is left out: {reasons}"
            fix = "give the switches management addresses of IPv4"
        raise InputError([Problem(Argument("fabric"), what, fix)])
    return Made(url, tuple(devices), pictures, without)


def _device(boot: FirstBoot, config: DeviceConfig, serial: str, place: Place, secrets: Mapping[str, str]) -> Device:
    texts = boot.files(config, system(config.nos).files(config), place)
    files = {name: with_secrets(f"{serial}/{name}", text, secrets, config.nos) for name, text in texts.items()}
    if left := sorted({name for text in files.values() for name in REFERENCE.findall(text)}):
        what = f"{config.name} needs the values of {', '.join(left)}"
        raise InputError([Problem(Option("--secrets"), what, "give a file of NAME: value for them")])
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
        boot.SAYS,
        boot.HEADERS,
        options,
        files,
    )


def _check(serials: Mapping[str, str]) -> None:
    """Raise ``InputError`` where a serial number cannot be told by, or is that of two."""
    problems: list[Problem] = []
    seen: dict[str, str] = {}
    for name, serial in serials.items():
        if not _SERIAL.fullmatch(serial):
            what = f"the serial number {serial!r} of {name} is none"
            problems.append(Problem(Argument("fabric"), what, "correct NAME.inventory.csv"))
        if serial in seen:
            what = f"{seen[serial]} and {name} have the same serial number {serial}"
            problems.append(Problem(Argument("fabric"), what, "correct NAME.inventory.csv"))
        seen.setdefault(serial, name)
    if problems:
        raise InputError(problems)


def _address(url: str) -> tuple[str, str, int]:
    """The address without a slash at its end, its host, and its port. Raises ``InputError``."""
    fix = "write http://ADDRESS:PORT, where devices reach the server"
    try:
        found = urlsplit(url)
        host, port = found.hostname or "", found.port or 80
        ip_address(host)
    except ValueError:
        raise InputError([Problem(Option("--url"), f"{url!r} is no address of a server", fix)]) from None
    if found.scheme != "http" or found.query or found.fragment or not re.fullmatch(r"[\w./-]*", found.path):
        raise InputError([Problem(Option("--url"), f"{url!r} is no address of a server", fix)])
    return url.rstrip("/"), host, port


def check_folder(folder: Path) -> None:
    """Raise ``InputError`` where something else than an earlier first boot stands."""
    try:
        ours = not folder.exists() or (folder / RECORD).is_file() or not any(folder.iterdir())
    except OSError as error:
        what, fix = f"it cannot be read as a folder: {error.strerror or error}", "choose another folder"
        raise InputError([Problem(FileLine(str(folder)), what, fix)]) from None
    if not ours:
        what, fix = "exists and was not written by railweave deploy ztp", "choose another folder, or empty it"
        raise InputError([Problem(FileLine(str(folder)), what, fix)])


def write(made: Made, folder: Path, interface: str = "*") -> None:
    """Write the folder, for its owner alone: secrets are in its files. What an earlier one had of devices that are gone is removed.

    Raises ``InputError`` as ``check_folder`` does.
    """
    check_folder(folder)
    files = {f"{one.serial}/{name}": text for one in made.devices for name, text in one.files.items()}
    files |= {"kea-dhcp4.conf": kea(made.devices, interface), "dnsmasq.conf": dnsmasq(made.devices, interface)}
    for old in _earlier(folder) - files.keys():
        (folder / old).unlink(missing_ok=True)
    for name, text in files.items():
        write_file(folder / name, text, private=True)
    write_file(folder / RECORD, json.dumps(made.to_json(), indent=1) + "\n", private=True)


def _earlier(folder: Path) -> set[str]:
    """The files of devices that an earlier first boot wrote there."""
    try:
        found = json.loads((folder / RECORD).read_text(encoding="utf-8"))["devices"]
        return {f"{serial}/{name}" for serial, one in found.items() for name in one["files"]}
    except (OSError, ValueError, KeyError, TypeError):
        return set()
