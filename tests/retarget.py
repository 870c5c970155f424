"""The examples on other switches than their files name."""

from __future__ import annotations

import shutil
import tempfile
from functools import cache
from pathlib import Path

from railweave.model.network.model import Network
from railweave.outputs.folder.designing import design_file
from tests.conftest import EXAMPLES, SMALL

LONG_HAUL = "dci-50km"
"""Of routers that no other model is like: the model that stands for them is named."""

STAND_IN = "z9864f-on"
ON_DELL = [name for name in SMALL if name != LONG_HAUL]
"""Examples that Enterprise SONiC is not refused for: those without IS-IS."""

_OUTSIDE = {
    "sonic": {"et-0/0/30": "Ethernet240", "et-0/0/31": "Ethernet248"},
    "dell_sonic": {"et-0/0/30": "Eth1/31", "et-0/0/31": "Eth1/32"},
}
"""Ports to routers outside, which an example calls as its own switches do."""


@cache
def retargeted(name: str, nos: str) -> Network:
    """An example with every role on an operating system, on a model like its own."""
    model = STAND_IN if name == LONG_HAUL else ""
    text = (EXAMPLES / f"{name}.yaml").read_text()
    for old, new in _OUTSIDE.get(nos, {}).items():
        text = text.replace(f"port: {old}", f"port: {new}")
    with tempfile.TemporaryDirectory() as folder:
        for beside in EXAMPLES.glob(f"{name}.*"):
            shutil.copy(beside, folder)
        file = Path(folder) / f"{name}.yaml"
        file.write_text(text)
        return design_file(file, device=[f"{model}:{nos}"])[0]
