"""Plans of upgrades: the release, its image, the batches of switches, the losses, and differences in generated configurations."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.analysis.routing.control_plane import ControlPlane
from railweave.counting import counted
from railweave.errors import InputError, Option, Problem, RenderError, unknown_switches
from railweave.live.check.identity import same_release
from railweave.model.catalog import in_force
from railweave.model.config.compare import compare
from railweave.model.device.build import device_config
from railweave.model.intent.status import with_drained
from railweave.operations.deploy.changes import DeviceChange, Disruptive, statements
from railweave.operations.deploy.plan import Plan, Upgrade
from railweave.operations.deploy.recovery import states
from railweave.operations.deploy.remaining import lost_parts
from railweave.operations.deploy.waves import waves
from railweave.systems import system
from railweave.systems.installation import Image
from railweave.systems.loader import plain_word

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from railweave.model.network.model import Network
    from railweave.operations.deploy.planning import RunningFabric
    from railweave.operations.deploy.waves import Wave

SHOWN = 20
"""The largest number of changed statements that a plan shows; further statements are only counted."""


def image_of(given: str, release: str, nos: str) -> Image:
    """Return the image to install. Raises ``InputError`` if the option ``--image`` or the release is invalid.

    ``given`` is the value of ``--image``: a URL that the switches fetch, or a local file, whose checksums are computed. It may be empty
    if the operating system ``nos`` can install a release by its number.
    """
    installation = system(nos).upgrade
    for option, text in (("--release", release), ("--image", given if "://" in given else Path(given).name)):
        if option == "--image" and not given:
            continue
        try:
            plain_word(text)
        except RenderError as error:
            message = f"{text!r} is not one word: {error.what}"
            raise InputError(
                [Problem(Option(option), message, "give one word: it becomes part of a command on the switch")]
            ) from None
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
    """Return (SHA-256, SHA-512) of a file, in hexadecimal. Raises ``OSError`` if the file cannot be read."""
    sums = hashlib.sha256(), hashlib.sha512()
    with path.open("rb") as stream:
        while part := stream.read(1 << 20):
            for checksum in sums:
                checksum.update(part)
    return sums[0].hexdigest(), sums[1].hexdigest()


def restarts(network: Network, names: Collection[str], release: str) -> dict[str, DeviceChange]:
    """Return a change for each named switch. The change disrupts the whole switch, because an upgrade restarts it.

    The batches (switches that are upgraded together) are planned with these changes.
    """
    out = Disruptive(f"install {release}", "all of it", "it restarts", "")
    return {
        switch.name: DeviceChange(switch.name, switch.nos, disrupts=(out,))
        for switch in network.switches
        if switch.name in names
    }


def rendered_otherwise(network: Network, names: Collection[str], release: str) -> Iterator[str]:
    """Yield lines about the differences between the present configurations and those generated for ``release``, for the named switches.

    Switches with the same differences share their lines.
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
        f"designed for release {release}, these switches would get another configuration; the upgrade does not change configurations: "
        f"afterwards write `release: {release}` into the fabric file and make a plan"
    )
    for lines, devices in sorted(devices_by_lines.items(), key=lambda pair: pair[1]):
        yield f"{_some(devices)}: {counted(len(lines), 'statement')}"
        yield from (f"    {line}" for line in lines[:SHOWN])
        if len(lines) > SHOWN:
            yield f"    and {len(lines) - SHOWN} more"


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def plan_upgrade(
    fabric: RunningFabric,
    release: str,
    given: str,
    *,
    only: Sequence[str],
    at_once: int,
    most: float,
    force: bool,
    root: bool,
) -> Plan:
    """Plan the installation of a release on switches, batch by batch. Raises ``InputError`` for wrong input.

    - ``given``: the image, as a file or a URL. With ``root`` (for a lab), it is a folder in which another FRR release is installed.
    - ``only``: the switches to upgrade; empty means all.
    - ``at_once``: the largest number of switches of a batch, which are upgraded together. ``most``: the largest share of the
      network (0 to 1) that a batch may put at risk.
    - ``force``: True to accept losses for which a drain would otherwise be refused.
    """
    network = fabric.network()
    with in_force(network.catalog):
        site = fabric.site_of(network)
        chosen = _chosen(network, site.asked, only)
        nos = _one_system({site.asked[name].system for name in chosen})
        image = _root(given, release) if root else image_of(given, release, nos)
        fabric.say(f"asking {counted(len(chosen), 'switch', 'switches')} for the release")
        device_states, silent_ones = asyncio.run(states(site, chosen, attempts=site.attempts))
        versions = {
            name: (state.identity.version if state.identity else None) or "" for name, state in device_states.items()
        }
        there = [name for name in chosen if name in versions and same_release(versions[name], release)]
        names = [name for name in chosen if name not in there and name not in silent_ones]
        fabric.say("ordering them by what is left while they are out")
        plane = ControlPlane(site.configs.values(), site.network.absent)
        changes = restarts(site.network, names, release)
        ordered = waves(site.network, plane, changes, most=most, canary=True, at_once=at_once)
        lines = [f"{release} runs already on {', '.join(there)}"] if there else []
        by_version = {versions[name]: [other for other in names if versions[other] == versions[name]] for name in names}
        lines += [f"{version or 'no known release'} runs on {', '.join(some)}" for version, some in by_version.items()]
        drained = [name for name in names if name in network.drained]
        lost, refused = _losses(fabric, network, ordered, drained, force=force)
        refused += [f"{name} did not answer: {why}" for name, why in silent_ones.items()]
        commands, by_hand = _commands(image, nos, given, root=root)
        refused += by_hand
        lines += [f"command for each switch: {line}" for line in commands] if names else []
        if "://" in image.source:
            lines.append(
                "the switches fetch the image themselves: its checksum is not compared; it is compared only for --image FILE"
            )
        fabric.say("comparing the configurations rendered for that release")
        lines += [*lost, *(rendered_otherwise(network, names, release) if names and not root else ())]
    upgrade = Upgrade(
        image,
        nos,
        {name: versions[name] for name in names},
        tuple(drained),
        force,
        tuple(commands),
        tuple(lines),
        tuple(refused),
    )
    design = hashlib.sha256(site.network.to_json()).hexdigest()
    made = datetime.now(UTC).isoformat(timespec="seconds")
    return Plan(str(fabric.path.resolve()), design, made, True, (), ordered, silent_ones, upgrade=upgrade)


def _commands(image: Image, nos: str, given: str, *, root: bool) -> tuple[Sequence[str], list[str]]:
    """Return (commands for each switch, reasons why railweave cannot install the image on this system; empty if it can).

    ``given`` is the value of the option ``--image``. ``root`` is True if it is a folder in which a lab's FRR release is installed.
    """
    by_system = system(nos).upgrade
    if by_system is None:
        without = f"nothing here installs releases of {nos}: {system(nos).without['upgrade']}"
        return [f"restart the daemons from {given}"], [without]
    if root:
        return [f"restart the daemons from {given}"], []
    return by_system.commands(image), [by_system.BY_HAND] if by_system.BY_HAND else []


def _chosen(network: Network, asked: Mapping[str, object], only: Sequence[str]) -> list[str]:
    if unknown := [name for name in only if name not in {switch.name for switch in network.switches}]:
        raise unknown_switches(unknown)
    away = network.absent - network.drained
    return [name for name in asked if (not only or name in only) and name not in away]


def _one_system(systems: set[str]) -> str:
    if len(systems) != 1:
        message = f"the switches run {', '.join(sorted(systems)) or 'nothing'}"
        raise InputError([Problem(Option("--release"), message, "name switches of one operating system by --only")])
    return systems.pop()


def _root(image: str, release: str) -> Image:
    if not (Path(image) / "usr/lib/frr/zebra").exists():
        fix = "give the folder that holds another FRRouting, as `make validators` makes it"
        raise InputError([Problem(Option("--image", image), "it is no root folder of FRRouting, as a lab needs", fix)])
    return Image(release, str(Path(image).resolve()))


def _losses(
    fabric: RunningFabric, network: Network, ordered: Sequence[Wave], drained: Sequence[str], *, force: bool
) -> tuple[list[str], list[str]]:
    """Return (lines about the losses while batches are out of service, reasons to refuse the plan).

    A batch is the switches that are upgraded together. ``ordered`` has the batches, and ``drained`` the devices that are already drained.
    Batches with an equal ``Wave.why`` have the same losses, so only the first of them is examined. With ``force``, losses are not reasons
    to refuse.
    """
    lines, refused, seen = list[str](), list[str](), set[str]()
    text = fabric.text()
    for number, wave in enumerate(ordered, 1):
        names = [name for name in wave.devices if name not in drained]
        if wave.why in seen or not names:
            continue
        seen.add(wave.why)
        after = fabric.designed_as(with_drained(text, names))
        configs = {switch.name: device_config(after, switch.name) for switch in after.switches}
        for loss in lost_parts(network, after, configs):
            if force:
                lines.append(f"wave {number}: forced: {loss}")
            else:
                refused.append(f"wave {number}: {loss} (--force takes it out all the same)")
    return lines, refused
