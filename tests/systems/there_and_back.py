"""What a device's configuration loses on its way to text and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.catalog import catalog
from railweave.model.config.compare import compare
from railweave.model.device.fields import differences
from railweave.systems import system

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.device.model import DeviceConfig
    from railweave.model.device.reading import Reading
    from railweave.model.network.model import Network
    from railweave.systems.protocol import Reader


def reader(nos: str) -> Reader:
    found = system(nos).reader
    assert found is not None
    return found


def lost(config: DeviceConfig) -> list[str]:
    """Fields that come back otherwise, lines that were not understood, trees that are others."""
    nos = system(config.nos)
    files = nos.files(config)
    found = reader(config.nos).read(files)
    unsaid = catalog().systems[config.nos].reads.unsaid
    fields = [f"{config.name}: {one}" for one in differences(found.config, config, unsaid)]
    unknown = [] if config.extra else [f"{config.name}: {one}" for one in found.not_understood]
    trees: list[str] = []
    for file, tree in nos.trees(config).items():
        if compare(reader(config.nos).parsed(file, files[file]), tree):
            trees.append(f"{config.name}: the tree of {file} is another")
        printed = reader(config.nos).printed(file, tree.nodes)
        if reader(config.nos).read({**files, file: printed}).config != found.config:
            trees.append(f"{config.name}: {file} as it is printed is another")
    return [*fields, *unknown, *trees]


def one_of_each_role(network: Network) -> Iterable[str]:
    """The first switch of each role, and the last: it is in another fabric, or has other tenants."""
    found = {one.role: one.name for one in reversed(network.switches)}
    return dict.fromkeys((*found.values(), network.switches[-1].name))


def unknown(found: Reading) -> list[str]:
    """What was not understood, each with its line."""
    return [f"{one.line}: {one.path}" for one in found.not_understood]
