"""What a router of the lab answered (FRRouting 10.7), cut short; and lldpd's neighbors, which the lab does not have."""

from __future__ import annotations

import json

from tests.conftest import ROOT

_FOLDER = ROOT / "tests" / "systems" / "frr" / "answers"

ANSWERS: dict[str, str] = {
    **{path.stem: path.read_text() for path in sorted(_FOLDER.iterdir())},
    "lldp-neighbors": json.dumps(
        {
            "lldp": {
                "interface": {
                    "et-0-0": {
                        "chassis": {"spine1": {"id": {"type": "mac", "value": "00:1c:73:a0:fc:18"}}},
                        "port": {"id": {"type": "ifname", "value": "et-0-4"}, "descr": "stripe1-leaf1 et-0-0"},
                    }
                }
            }
        }
    ),
}
