"""What must hold while one half of a network runs one design and the other half another."""

from __future__ import annotations

from pathlib import Path

import pytest

from railweave import api
from railweave.analysis.drift.running import running_configs
from railweave.analysis.expect import expected
from railweave.analysis.routing.control_plane import ControlPlane
from railweave.analysis.routing.table import UNREACHABLE
from railweave.model.device.build import device_config
from railweave.model.network.model import Network
from railweave.systems import system
from tests.operations.deploy.test_rollout import SMALL


def designed(path: Path, text: str) -> Network:
    path.write_text(text)
    return api.load(path)


def texts(network: Network) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for one in network.switches:
        config = device_config(network, one.name)
        files = system(config.nos).files(config)
        found[one.name] = {file: files[file] for file in system(config.nos).configurations(config)}
        found[one.name] |= system(config.nos).beneath(config)
    return found


@pytest.mark.parametrize("nos", ["junos", "frr"])
@pytest.mark.parametrize("done", [(), ("spine1",), ("spine1", "spine2"), ("stripe1-leaf1",)])
def test_a_path_color_that_is_called_otherwise_on_one_end_carries_the_same_routes(
    tmp_path: Path, nos: str, done: tuple[str, ...]
) -> None:
    """A name is a device's own: by BGP goes the number of the color."""
    old = designed(tmp_path / "old.yaml", SMALL.replace("junos", nos))
    new = designed(tmp_path / "new.yaml", SMALL.replace("junos", nos).replace("name: blue", "name: azure"))
    before, after = texts(old), texts(new)
    running = {name: (after if name in done else before)[name] for name in before}
    configs = running_configs(new, running)
    for name, fib in ControlPlane(configs.values(), new.absent).routes().fibs.items():
        assert (fib.group != UNREACHABLE).all(), name


def test_a_switch_with_another_pool_lets_in_none_of_the_prefixes_that_it_still_receives(tmp_path: Path) -> None:
    """FRR counts those that its policy lets in, and so does what must hold meanwhile."""
    text = SMALL.replace("junos", "frr")
    old, new = designed(tmp_path / "old.yaml", text.replace("fc00", "fd00")), designed(tmp_path / "new.yaml", text)
    running = texts(old) | {"spine1": texts(new)["spine1"]}
    configs = running_configs(new, running)
    routes = ControlPlane(configs.values(), new.absent).routes()
    for name in ("spine1", "spine2"):
        found = expected(new, configs[name], routes).sessions
        assert [one.received for one in found] == [2, 2]
        assert [one.accepted for one in found] == ([0, 0] if name == "spine1" else [2, 2])
