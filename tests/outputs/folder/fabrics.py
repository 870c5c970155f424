"""A small fabric to build again and again, and what a folder holds."""

from __future__ import annotations

from pathlib import Path

FABRIC = """\
name: pod1
fabrics:
  backend:
    topology: {stripes: 2, spines: 2, leaves_per_stripe: 1, oversubscription: 16}
    leaf:
      device: qfx5240-64od
servers:
  - {names: "gpu-[01-02]", model: h100-8gpu-cx7, stripe: stripe1}
  - {names: "gpu-[03-04]", model: h100-8gpu-cx7, stripe: stripe2}
management:
  pool: 172.20.0.0/24
  root_password: secret:root-hash
  snmp: {community: "secret:community"}
"""


CHANGED = ("spines: 2", "spines: 3")
"""A change that touches nearly every file, and the lock."""


def fabric(folder: Path, *changes: tuple[str, str]) -> Path:
    """``folder/pod1.yaml`` with the fabric, each change made once."""
    text = FABRIC
    for old, new in changes:
        assert text.count(old) == 1
        text = text.replace(old, new)
    folder.mkdir(exist_ok=True)
    file = folder / "pod1.yaml"
    file.write_text(text)
    return file


def content(folder: Path) -> dict[str, bytes | None]:
    """Everything below a folder, hidden files too: a file's bytes, None for a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }
