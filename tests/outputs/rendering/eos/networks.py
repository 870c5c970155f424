"""Examples for EOS switches."""

from __future__ import annotations

from functools import cache

from railweave.model.device.build import device_config
from railweave.model.device.model import DeviceConfig
from railweave.model.network.model import Network
from railweave.outputs.folder.designing import design_file
from tests.conftest import EXAMPLES


@cache
def network(name: str) -> Network:
    """An example with every switch an Arista that runs EOS."""
    return design_file(EXAMPLES / f"{name}.yaml", device=[":eos"])[0]


@cache
def config(name: str, device: str) -> DeviceConfig:
    """The configuration of one of its switches."""
    return device_config(network(name), device)


def one_of_each_role(name: str) -> list[str]:
    """The first switch of every role."""
    return list({one.role: one.name for one in reversed(network(name).switches)}.values())
