"""``make golden``: build every example again into tests/golden, and say what changed. Read the diff before committing."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from railweave.build.steps import build

GOLDEN = Path(__file__).parent
EXAMPLES = GOLDEN.parents[1] / "examples"
WHOLE_UP_TO = 32
"""Examples of up to this many servers are kept whole; of larger ones the manifest, one leaf and one spine."""


def example_names() -> list[str]:
    """Every example, by name."""
    return sorted(path.stem for path in EXAMPLES.glob("*.yaml"))


def build_example(name: str, folder: Path) -> Path:
    """Build a copy of an example, so that nothing beside the original is written; returns the output folder."""
    for file in EXAMPLES.glob(f"{name}.*"):
        shutil.copy(file, folder)
    out = folder / "out"
    built = build(folder / f"{name}.yaml", out)
    if len(built.network.servers) > WHOLE_UP_TO:
        kept = {next(s.name for s in built.network.switches if s.role == role) for role in ("leaf", "spine")}
        for path in sorted(out.rglob("*"), reverse=True):
            if path.is_file() and path.name != "manifest.json" and path.parent.name not in kept:
                path.unlink()
            elif path.is_dir() and not any(path.iterdir()):
                path.rmdir()
    return out


def main() -> None:
    """Refresh every golden folder."""
    for name in example_names():
        with TemporaryDirectory() as folder:
            out = build_example(name, Path(folder))
            target = GOLDEN / name
            before = {p.relative_to(target): p.read_bytes() for p in target.rglob("*") if p.is_file()}
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(out, target)
            after = {p.relative_to(target): p.read_bytes() for p in target.rglob("*") if p.is_file()}
            changed = sum(1 for path in before.keys() | after.keys() if before.get(path) != after.get(path))
            print(f"{name}: {len(after)} files, {changed} changed")


if __name__ == "__main__":
    main()
