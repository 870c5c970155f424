"""SONiC's own ``frr.conf`` on routing daemons: as it stands, on interfaces that are called as on the switch."""

from __future__ import annotations

import re
from pathlib import Path

from railweave.live.lab import assertions, life
from railweave.live.lab.capture import collect_lab
from railweave.live.lab.check import check_capture
from railweave.model.device.build import device_config
from railweave.model.state.capture import read_capture
from railweave.systems.sonic import render as sonic
from tests.conftest import frr_root
from tests.live.lab.machine import needs_lab
from tests.retarget import retargeted

pytestmark = needs_lab


def test_the_rendered_file_behaves_as_designed(tmp_path: Path) -> None:
    network, fabric = retargeted("h100-rlb", "sonic"), tmp_path / "sonic.yaml"
    try:
        made = life.up(fabric, network, part="rails=1,spines=2", frr_root=frr_root())
        _, running = life.attach(fabric)
        with running:
            assert (made.routers, made.unsettled) == (4, ())
            for switch in running.plan.network.switches:
                rendered = sonic.files(device_config(running.plan.network, switch.name))["frr.conf"]
                assert (running.place.router(switch.name) / "etc/frr/frr.conf").read_text() == rendered
            ports = {port.name for port in running.plan.configs["stripe1-leaf1"].interfaces}
            assert ports == {"Ethernet0", "Ethernet8", "Ethernet128", "Ethernet132"}
            outcomes = {one.id: one for one in assertions.run(running)}
            assert [one.id for one in outcomes.values() if not one.passed] == [], outcomes
            assert outcomes["fib-equals-routes"].checked == 4 * 8
            assert outcomes["path-colors"].checked > 0
            assert outcomes["slaac-addresses"].checked > 0
        capture = tmp_path / "capture"
        collect_lab(fabric, capture)
        heard = (capture / "spine1" / "lldp-neighbors.json").read_text()
        assert re.search(r'"local",\s*"value": "Eth1/\d+(/\d+)?"', heard), heard[:2000]
        seen = check_capture(network, read_capture(capture))
        assert [one.what for one in seen.findings if one.id.startswith("cable")] == []
    finally:
        life.down(fabric)
