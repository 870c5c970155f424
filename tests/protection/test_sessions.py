"""What a design needs of a switch gets through its rules and its files on every system; what servers have no business with does not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from railweave.model.device.build import device_config
from railweave.model.device.model import DeviceConfig
from railweave.model.intent.management import ControlPlane, Security
from railweave.model.network.model import Network
from railweave.systems import systems
from tests.analysis.routing.fabrics import fabrics
from tests.conftest import designed
from tests.model.intent.asked import FABRICS
from tests.protection import packets, readers
from tests.protection.packets import Packet

MANAGERS = ("192.0.2.0/24", "2001:db8:99::/64")


def guarded(network: Network) -> Network:
    """The same network with its switches' control planes protected."""
    security = Security(control_plane=ControlPlane(management_prefixes=MANAGERS))
    wanted = network.management
    snmp = wanted.snmp and wanted.snmp.model_copy(update={"clients": MANAGERS})
    return replace(network, management=wanted.model_copy(update={"security": security, "snmp": snmp}))


def of(form: str) -> Network:
    """One of the fabrics that every field is tried in, with IS-IS where that has sites."""
    raw = yaml.safe_load(yaml.safe_dump(FABRICS[form]).replace("<switch>", "qfx5240-64od").replace("<30>", "et-0/0/30"))
    if form == "sites":
        raw["fabrics"]["f"]["underlay"] = {"protocol": "isis", "peering": "numbered", "bfd": {"enabled": True}}
    with TemporaryDirectory() as folder:
        return guarded(designed(Path(folder), yaml.safe_dump(raw))[0])


def _wrong(found: dict[str, bool], *, wanted: bool) -> list[str]:
    return [what for what, passed in found.items() if passed is not wanted]


def check(network: Network, config: DeviceConfig) -> None:
    good = packets.designed(network, config) + packets.managed(config, "192.0.2.7")
    bad = packets.of_servers(config) + _strangers(config)
    assert _wrong({one.what: readers.typed(config, one) for one in good}, wanted=True) == []
    assert _wrong(readers.passes(config, good), wanted=True) == []
    if config.nos != "sonic":  # its own daemon decides, which rules of ours do not say
        assert _wrong({one.what: readers.typed(config, one) for one in bad}, wanted=False) == []
    assert _wrong(readers.passes(config, bad), wanted=False) == []


def _strangers(config: DeviceConfig) -> list[Packet]:
    """Services that are asked for from elsewhere than the management prefixes, by the management port."""
    return [one for one in packets.managed(config, "198.51.100.7") if one.begins]


@pytest.mark.parametrize("nos", systems())
@settings(max_examples=6, deadline=None)
@given(data=st.data())
def test_every_session_of_a_random_fabric_gets_through(nos: str, data: st.DataObject) -> None:
    network = guarded(data.draw(fabrics()))
    switches = [one.name for one in network.switches]
    for name in {switches[0], switches[-1]}:
        check(network, device_config(network, name, nos))


@pytest.mark.parametrize("nos", systems())
@pytest.mark.parametrize("form", FABRICS)
def test_every_session_of_a_known_fabric_gets_through(form: str, nos: str) -> None:
    if form == "sites" and nos == "dell_sonic":  # it has no IS-IS
        return
    network = of(form)
    for switch in network.switches:
        check(network, device_config(network, switch.name, nos))
