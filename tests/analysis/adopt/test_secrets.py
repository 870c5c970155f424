"""Secrets of running devices are in no file that import and drift write, and in nothing that they print."""

from __future__ import annotations

import json
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from railweave.cli import main
from railweave.model.device.build import device_config
from railweave.model.network.model import Network
from railweave.outputs.folder.designing import design_file
from railweave.systems import system
from tests.analysis.adopt import secret_statements

MARK = "Qz7tops3cret"
FABRIC = """
name: small
fabrics:
  backend:
    topology: {stripes: 2, leaves_per_stripe: 1, spines: 1}
    leaf:
      device: qfx5240-64od
    spine:
      device: qfx5240-64od
    underlay: {peering: numbered, authentication: {key: "secret:bgp"}}
    pools: {fabric_links: "fd00:1::/64"}
servers:
  - {names: "gpu-1", model: h100-8gpu-cx7, gpus: 1, gpu_nics: 1, stripe: stripe1}
  - {names: "gpu-2", model: h100-8gpu-cx7, gpus: 1, gpu_nics: 1, stripe: stripe2}
management:
  root_password: secret:root
  users: {netops: {password: "secret:netops"}}
  snmp: {community: "secret:community", clients: ["172.20.0.0/16"], users: {u: {auth: "secret:auth", privacy: "secret:priv"}}}
  security: {aaa: {tacacs: [{host: 172.20.0.5, key: "secret:tacacs"}]}}
"""
SYSTEMS = ("junos", "junos in braces", "eos", "sonic", "dell_sonic", "frr")
LINES = {
    "eos": {"eos.conf": secret_statements.EOS},
    "frr": {"frr.conf": secret_statements.FRR},
    "dell_sonic": {"sonic.cli": secret_statements.DELL},
    "junos": {"junos.set": secret_statements.JUNOS},
    "sonic": {"frr.conf": secret_statements.FRR},
}


def filled(text: str, device: str) -> str:
    """Values in the place of ``{}``: the same on every device in half of the places, one of the device's own in the others."""
    parts = text.split("{}")
    made = [parts[0]]
    for number, part in enumerate(parts[1:]):
        made += [f"{MARK}{number}{device if number % 2 else ''}", part]
    return "".join(made)


def with_secrets(nos: str, texts: dict[str, str], device: str) -> dict[str, str]:
    """A device's texts with values for every reference; a leaf has statements of its own with secrets, too."""
    texts = {name: re.sub(r"<secret:([^>]*)>", rf"{MARK}-\1", text) for name, text in texts.items()}
    if "leaf" not in device:
        return texts
    for name, statements in LINES[nos].items():
        if name in texts:
            texts[name] = texts[name].rstrip("\n") + filled(statements, device)
    if nos == "sonic":
        document: dict[str, dict[str, Any]] = json.loads(texts["config_db.json"])
        for table, rows in json.loads(filled(json.dumps(secret_statements.SONIC), device)).items():
            document[table] = document.get(table, {}) | rows
        texts["config_db.json"] = json.dumps(document, indent=4)
    return texts


def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: str) -> str:
    monkeypatch.setattr(sys, "argv", ["railweave", *words])
    with pytest.raises(SystemExit):
        main()
    said = capsys.readouterr()
    return said.out + said.err


@cache
def designed(folder: Path, nos: str) -> Network:
    (folder / "fabric.yaml").write_text(FABRIC)
    return design_file(folder / "fabric.yaml", device=[f":{nos}"])[0]


def in_braces(text: str) -> str:
    reader = system("junos").reader
    assert reader is not None
    text, mark, own = text.partition(
        "set vendor statement nobody knows "
    )  # what braces lose of a statement nobody knows: its mark
    braces = reader.printed("junos.conf", reader.parsed("junos.conf", text).nodes)
    return f"{braces}vendor {{\n    statement {own.replace(' ##', '; ##')}}}\n" if mark else braces


def written(folder: Path) -> str:
    return "".join(f"{one.name}\n{one.read_text()}" for one in sorted(folder.rglob("*")) if one.is_file())


def saved(folder: Path, network: Network, nos: str, *, braces: bool) -> None:
    """A capture of a network's switches, as they run: with secrets, and with statements of their own."""
    for switch in network.switches:
        config = device_config(network, switch.name, nos)
        files = system(nos).files(config)
        names = ["junos.set"] if nos == "junos" else system(nos).configurations(config)
        own = folder / switch.name
        own.mkdir(parents=True)
        for file, text in with_secrets(nos, {name: files[name] for name in names}, switch.name).items():
            (own / {"junos.set": "configuration.txt"}.get(file, file)).write_text(in_braces(text) if braces else text)


@pytest.mark.parametrize("nos", SYSTEMS)
def test_no_secret_leaves_the_devices(nos, tmp_path, capsys, monkeypatch) -> None:
    capture, out, fabric = tmp_path / "capture", tmp_path / "out", tmp_path / "fabric"
    nos, braces = nos.removesuffix(" in braces"), nos.endswith(" in braces")
    for one in (out, fabric):
        one.mkdir()
    saved(capture, designed(fabric, nos), nos, braces=braces)
    assert written(capture).count(MARK) > 30
    said = run(capsys, monkeypatch, "import", str(capture), "-o", str(out / "found.yaml"), "--json")
    assert (out / "found.yaml").is_file(), said
    file = fabric / "fabric.yaml"
    said += run(capsys, monkeypatch, "drift", str(file), str(capture), "--device", f":{nos}", "--adopt")
    assert "<secret:" in file.read_text(), said
    shared = written(out) + written(fabric) + said
    assert "\n".join(line for line in shared.splitlines() if MARK in line) == ""
    assert "Traceback" not in said
    assert "<hidden" not in written(out) + written(fabric), "a file takes a reference, not what hides a value"
