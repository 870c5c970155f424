"""A file in a server's folder that the server would read together with a designed one: its line, its key, and whose value wins."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conftest import example

from railweave.analysis.checks.servers.second import changed_by
from railweave.outputs.folder.verify import foreign
from railweave.outputs.rendering.network import render_hosts

EXAMPLE, HOST = "h100-rlb", "H100-01"
RENDERED = render_hosts(example(EXAMPLE))
DESIGNED = {
    name.removeprefix(f"hosts/{HOST}/"): text for name, text in RENDERED.items() if name.startswith(f"hosts/{HOST}/")
}


def _netplan(*lines: str) -> str:
    return "\n".join(["network:", "  version: 2", "  ethernets:", *(f"    {line}" for line in lines)]) + "\n"


@pytest.mark.parametrize(
    ("name", "text", "line", "words"),
    [
        ("99-x.yaml", _netplan("gpu0_eth:", "  mtu: 1500"), 5, "gpu0_eth mtu 1500 wins over netplan.yaml"),
        ("50-x.yaml", _netplan("gpu0_eth:", "  mtu: 1500"), 5, "gpu0_eth mtu 1500 loses to netplan.yaml"),
        ("99-x.yaml", _netplan("gpu0_eth:", "  addresses:", "  - 10.0.0.1/24"), 6, "of gpu0_eth is added to those of netplan.yaml"),
        ("50-x.yaml", _netplan("all:", "  match: {name: 'gpu*'}", "  dhcp4: true"), 6, "all dhcp4 true loses to"),
        ("50-x.yaml", _netplan("gpu0_eth:", "  routes:", "  - {to: default, via: 10.0.0.1}"), 6, "is added to those of"),
        ("99-x.yaml", "network:\n  renderer: NetworkManager\n", 2, "renderer NetworkManager wins over netplan.yaml"),
        ("99-x.yaml", "network: [\n", 2, "cannot be read"),
        ("99-x.conf", "kernel.numa_balancing = 1\n", 1, "kernel.numa_balancing 1 wins over sysctl.conf (0)"),
        ("nccl.conf", "NCCL_ALGO=Ring\n", 1, "NCCL_ALGO Ring is added"),
        ("nccl.conf", "# own\nNCCL_IB_TC=0\n", 2, "NCCL_IB_TC 0 counts where a job has no nccl.env"),
        ("99-x.rules", 'SUBSYSTEM=="net", ATTR{address}=="a0:88:c2:3b:50:66", NAME="eth7"\n', 1, "wins over 70-railweave-net.rules"),
        ("05-x.network", "[Match]\nName=gpu*\n[Network]\nDHCP=yes\n", 4, "[Network] DHCP yes applies to gpu*"),
        ("x.nmconnection", "[connection]\ninterface-name=gpu0_eth\n[ethernet]\nmtu=1500\n", 4, "[ethernet] mtu 1500"),
        ("nic-qos.service.d/x.conf", "[Service]\nExecStart=\nExecStart=/bin/true\n", 3, "[Service] ExecStart /bin/true wins over nic-qos.service"),
    ],
)  # fmt: skip
def test_what_a_second_file_changes_is_named(tmp_path: Path, name: str, text: str, line: int, words: str) -> None:
    path = tmp_path / "hosts" / HOST / name
    path.parent.mkdir(parents=True)
    path.write_text(text)
    findings = list(foreign(tmp_path, example(EXAMPLE), RENDERED))
    assert {(finding.id, finding.severity, finding.where) for finding in findings} == {
        ("server-second-file", "error", HOST)
    }
    assert any(words in finding.what and finding.line == line for finding in findings), findings
    assert {finding.file for finding in findings} == {f"hosts/{HOST}/{name}"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("50-cloud-init.yaml", _netplan("eno1:", "  dhcp4: true")),
        ("10-x.conf", "vm.swappiness = 1\n"),
        ("x.network", "[Match]\nName=en*\n[Network]\nDHCP=yes\n"),
        ("notes.txt", "gpu0_eth\n"),
    ],
)
def test_a_file_about_something_else_changes_nothing(name: str, text: str) -> None:
    assert changed_by(name, text, DESIGNED) == []
