"""Configurations saved from switches: their differences from the design, and a fabric file derived from them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.api.options import verb
from railweave.api.verbs import DriftOptions
from railweave.errors import Argument, InputError, Problem
from railweave.model.catalog import in_force, packaged
from railweave.model.catalog.hardware_files import own_hardware
from railweave.model.device.build import device_config
from railweave.model.network.model import Network
from railweave.outputs.folder.sources import network_of, path_of
from railweave.outputs.rendering.network import emulation
from railweave.progress import silent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from railweave.analysis.adopt.adopt import ImportedNetwork
    from railweave.analysis.drift.drift import Drift
    from railweave.model.device.model import DeviceConfig


@verb(DriftOptions)
def drift(options: DriftOptions) -> Drift:
    """Return the differences between the configurations of switches and the design, and their effects.

    - ``progress``: a function that is called with a short description of the current activity.

    ``equal`` of the result is True if no captured switch differs; ``proven`` is True if, in addition, all switches were
    captured. ``lines()`` returns the differences as text. ``adopted`` lists the changes that ``adopt`` made in the
    fabric file. Secrets that devices show redacted or hashed are not compared. Raises ``InputError`` if the folder is
    not a capture, or if ``adopt`` is given and ``source`` is not a fabric file. Raises the errors of ``load`` too.
    """
    from railweave.analysis.drift.drift import drift as differences  # imports every reader
    from railweave.analysis.drift.running import captured_texts

    if options.adopt and isinstance(options.source, Network):
        fix = "give the path of the fabric file"
        raise InputError([Problem(Argument("adopt"), "a designed network has no file to write differences into", fix)])
    network = options.network()
    with in_force(network.catalog):
        asked, configs = designed_for(network, options.capture)
        result = differences(
            asked,
            captured_texts(asked, options.capture),
            configs=configs,
            only=options.only,
            progress=options.progress,
        )
    if not options.adopt:
        return result
    from railweave.analysis.drift.adopt import adopt_into

    return replace(result, adopted=tuple(adopt_into(Path(str(options.source)), network, result)))


def running(
    source: Network | Path | str,
    capture: Path | str,
    *,
    device: Sequence[str] = (),
    hardware: Path | str | None = None,
) -> dict[str, DeviceConfig]:
    """Return the configuration of every switch, by name. It is the saved configuration or, if none was saved, the designed one.

    - ``capture``: a folder of saved configurations (docs/collect.md).
    - ``device``, ``hardware``: see ``load``.

    Raises ``InputError`` if the folder is not a capture or, with file and line, if a configuration cannot be read.
    Raises the errors of ``load`` too.
    """
    from railweave.analysis.drift.running import captured_texts, running_configs

    network = network_of(source, device, hardware)
    with in_force(network.catalog):
        asked, configs = designed_for(network, capture)
        lab_configs = (
            None
            if configs is None
            else {
                switch.name: configs.get(switch.name) or device_config(network, switch.name, emulation(switch))
                for switch in network.switches
            }
        )
        return running_configs(network, captured_texts(asked, capture), lab_configs)


def configs_of(
    network: Network, capture: Path | str | None, configs: Mapping[str, DeviceConfig] | None
) -> Mapping[str, DeviceConfig] | None:
    """Return switch configurations that replace the designed ones: those saved in the folder ``capture`` or, without it, ``configs``.

    None means the designed configurations.
    """
    return configs if capture is None else running(network, capture)


def adopt(
    folder: Path | str,
    *,
    name: str = "network",
    device: Sequence[str] = (),
    hardware: Path | str | None = None,
    draft: Path | str | None = None,
    force: bool = True,
    progress: Callable[[str], None] = silent,
) -> ImportedNetwork:
    """Return an existing network as a fabric file, derived from configurations saved from its switches.

    - ``folder``: a folder of saved configurations (docs/collect.md), with ``DEVICE/lldp.json`` next to them if
      available.
    - ``name``: the name of the network.
    - ``device``: switch models by role, ``leaf=MODEL``, if names of ports do not show the models.
    - ``hardware``: a folder of hardware files with models of your own (docs/hardware.md).
    - ``draft``: the path of the new fabric file. If no network can be designed from it, the file is written there
      anyway, to be fixed by hand.
    - ``force``: True to overwrite an existing fabric file, lock or inventory at ``draft``; False to raise an error.
    - ``progress``: a function that is called with a short description of the current activity.

    ``write`` of the result writes the fabric file with its lock and inventory. ``scores`` compares the design of the
    file with the saved configurations, statement by statement. ``notes`` list facts that the file cannot express.
    Raises ``InputError`` if the folder is not a capture, if a configuration cannot be read (with file and line), or if
    no network can be designed from the fabric file.
    """
    from railweave.analysis.adopt.adopt import imported_folder, refuse_to_replace  # imports every reader
    from railweave.analysis.adopt.equipment import asked_models

    if draft is not None and not force:
        refuse_to_replace(Path(draft))
    with in_force(packaged().with_hardware(own_hardware(path_of(hardware)).hardware)):
        return imported_folder(name, Path(folder), asked_models(device), path_of(draft), progress)


def designed_for(network: Network, capture: Path | str) -> tuple[Network, dict[str, DeviceConfig] | None]:
    """Return (the network with which to compare a capture, the configurations of its switches).

    The configurations are the lab's if the capture is from a lab. Otherwise they are None, which means the designed
    configurations.
    """
    from railweave.model.state.capture import read_capture

    saved = read_capture(Path(capture))
    if saved.meta.lab is None:
        return network, None
    from railweave.live.lab.check import plan_of  # only a capture of a lab needs the modules of labs

    plan = plan_of(network, saved)
    return plan.network, plan.configs
