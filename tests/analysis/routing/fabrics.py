"""Generated fabrics for property tests."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import strategies as st

from railweave.model.device.build import device_config
from railweave.model.device.model import DeviceConfig
from railweave.model.network.model import Network
from tests.conftest import designed


@st.composite
def fabrics(draw: st.DrawFn) -> Network:
    """A small rail-optimised fabric of any form: stripes, leaves, spines, links, colors, peering, systems."""
    stripes = draw(st.integers(1, 3))
    leaves = draw(st.sampled_from([1, 2]))
    spines = draw(st.integers(1, 4))
    links = draw(st.integers(1, 2))
    uplinks = spines * links
    mode = draw(st.sampled_from(["rlb", "rlb", "ecmp"]))
    colors = (
        draw(st.sampled_from([None, *(n for n in range(1, uplinks + 1) if uplinks % n == 0)]))
        if mode == "rlb"
        else None
    )
    peering = draw(st.sampled_from(["auto-discovered", "numbered"]))
    path_color = draw(st.sampled_from(["auto", "local-preference"]))
    release = draw(st.sampled_from(["25.4R1", "23.4X100-D31"]))
    emulation = draw(st.sampled_from(["local-preference", "aigp"]))
    link = draw(st.sampled_from(["access", "trunk", "routed"]))
    text = f"""
name: generated
fabrics:
  backend:
    topology:
      {{stripes: {stripes}, spines: {spines}, leaves_per_stripe: {leaves}, links_per_spine: {links}, oversubscription: 16}}
    leaf: {{device: qfx5240-64od, release: {release}}}
    {f"paths_per_nic: {colors}" if colors else ""}
    underlay: {{peering: {peering}, path_color: {path_color}}}
    load_balancing: {{mode: {mode}}}
    addressing: {{server_link: {link}}}
    emulation: {{path_color: {emulation}}}
servers:
  - {{names: "n[1-{stripes}]", model: h100-8gpu-cx7}}
"""
    text = text.replace("oversubscription: 16}", "oversubscription: 16, servers_per_stripe: 1}")
    with TemporaryDirectory() as folder:
        return designed(Path(folder), text)[0]


def configurations(network: Network, nos: str | None = None) -> list[DeviceConfig]:
    """The configuration of every switch."""
    return [device_config(network, switch.name, nos) for switch in network.switches]
