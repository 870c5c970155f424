"""The parts of an upgrade: the release, its image, the switches, and the changes that the release makes to rendered configurations."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from railweave.counting import counted
from railweave.errors import InputError, Option, Problem, RenderError
from railweave.json_values import JsonObject
from railweave.model.config.compare import compare
from railweave.model.device.build import device_config
from railweave.operations.deploy.changes import DeviceChange, Disruptive, statements
from railweave.systems import system
from railweave.systems.installation import Image
from railweave.systems.loader import plain_word

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from railweave.model.network.model import Network

SHOWN = 20
"""The most changed statements that a plan shows; the rest are only counted."""


@dataclass(frozen=True)
class Upgrade(JsonObject):
    """The upgrade part of a plan: it installs ``image`` on the switches of the waves, which run ``system``.

    - ``versions``: the release of each switch when the plan was made.
    - ``drained``: the devices that were already drained; they stay drained.
    - ``force``: drain even if a drain would otherwise be refused.
    - ``commands``: the commands for each switch.
    - ``lines``: the notes for the operator.
    - ``refused``: the reasons why the upgrade cannot be applied.
    """

    image: Image
    system: str
    versions: Mapping[str, str] = field(default_factory=dict[str, str])
    drained: tuple[str, ...] = ()
    force: bool = False
    commands: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()

    @classmethod
    def of_json(cls, fields: Mapping[str, Any]) -> Upgrade:
        """Build the object from its JSON form. Raises ``KeyError`` or ``TypeError`` if the form is invalid."""
        return cls(
            Image(**fields["image"]),
            str(fields["system"]),
            dict(fields["versions"]),
            tuple(fields["drained"]),
            bool(fields["force"]),
            tuple(fields["commands"]),
            tuple(fields["lines"]),
            tuple(fields["refused"]),
        )


def image_of(given: str, release: str, nos: str) -> Image:
    """Return the image that ``--image`` names. Raises ``InputError`` if the option or the release is invalid.

    ``--image`` is a URL that the switches fetch, or a local file, whose checksums are computed.
    """
    installation = system(nos).upgrade
    for option, text in (("--release", release), ("--image", given if "://" in given else Path(given).name)):
        if option == "--image" and not given:
            continue
        try:
            plain_word(text)
        except RenderError as error:
            message = f"{text!r} is not one word: {error.what}"
            raise InputError([Problem(Option(option), message, "a switch is told it in a command line")]) from None
    if not given:
        if installation is not None and not installation.BY_RELEASE:
            message = f"{nos} installs an image, and none is given"
            raise InputError([Problem(Option("--image"), message, "give a file, or a URL that the switches reach")])
        return Image(release)
    if "://" in given:
        return Image(release, given)
    path = Path(given)
    try:
        sums = digests(path)
    except OSError as error:
        raise InputError([Problem(Option("--image", given), f"it cannot be read: {error.strerror}", "")]) from None
    folder = installation.FOLDER if installation else ""
    return Image(release, f"{folder}/{path.name}", str(path.resolve()), *sums)


def digests(path: Path) -> tuple[str, str]:
    """Return the SHA-256 and SHA-512 of a file, in hexadecimal. Raises ``OSError``."""
    sums = hashlib.sha256(), hashlib.sha512()
    with path.open("rb") as stream:
        while part := stream.read(1 << 20):
            for checksum in sums:
                checksum.update(part)
    return sums[0].hexdigest(), sums[1].hexdigest()


def restarts(network: Network, names: Collection[str], release: str) -> dict[str, DeviceChange]:
    """Return the change that an upgrade is to each switch, for planning waves: the whole switch is out while it restarts."""
    out = Disruptive(f"install {release}", "all of it", "it restarts", "")
    return {
        switch.name: DeviceChange(switch.name, switch.nos, disrupts=(out,))
        for switch in network.switches
        if switch.name in names
    }


def rendered_otherwise(network: Network, names: Collection[str], release: str) -> Iterator[str]:
    """Yield how configurations would differ if the named switches were designed for ``release``.

    Switches with the same differences share a line.
    """
    switches = tuple(
        replace(switch, release=release) if switch.name in names else switch for switch in network.switches
    )
    then = replace(network, switches=switches)
    devices_by_lines: dict[tuple[str, ...], list[str]] = {}
    for switch in network.switches:
        old, new = device_config(network, switch.name), device_config(then, switch.name)
        trees = system(switch.nos).trees(new)
        before = system(switch.nos).trees(old)
        lines = tuple(line for file, tree in trees.items() for line in statements(compare(before[file], tree)))
        if lines:
            devices_by_lines.setdefault(lines, []).append(switch.name)
    if not devices_by_lines:
        yield f"release {release} renders every configuration as before"
        return
    yield (
        f"designed for release {release}, these would run another configuration; the upgrade leaves configurations as they are: "
        f"afterwards write `release: {release}` into the fabric file and make a plan"
    )
    for lines, devices in sorted(devices_by_lines.items(), key=lambda pair: pair[1]):
        yield f"{_some(devices)}: {counted(len(lines), 'statement')}"
        yield from (f"    {line}" for line in lines[:SHOWN])
        if len(lines) > SHOWN:
            yield f"    and {len(lines) - SHOWN} more"


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
