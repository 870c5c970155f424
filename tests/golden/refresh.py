"""``make golden``: build every example again into tests/golden, and say what changed. Read the diff before committing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from railweave.outputs.folder.steps import build
from tests.golden.scale import BUILT, DESIGNED, kept_files

GOLDEN = Path(__file__).parent
EXAMPLES = GOLDEN.parents[1] / "examples"


def example_names() -> list[str]:
    """The examples that are kept whole, by name; of the others ``scale.kept_files`` says what is."""
    return sorted(path.stem for path in EXAMPLES.glob("*.yaml") if path.stem not in {*BUILT, *DESIGNED})


def build_example(name: str, folder: Path) -> Path:
    """Build a copy of an example, so that nothing beside the original is written; returns the output folder."""
    for file in EXAMPLES.glob(f"{name}.*"):
        shutil.copy(file, folder)
    out = folder / "out"
    build(folder / f"{name}.yaml", out)
    manifest = out / "manifest.json"
    kept = json.loads(manifest.read_text())
    del kept["rendered"]  # what a later build need not render again: it changes with every line of the program
    manifest.write_text(json.dumps(kept, indent=1) + "\n")
    return out


def main() -> None:
    """Refresh every golden folder."""
    for name in [*example_names(), *BUILT, *DESIGNED]:
        with TemporaryDirectory() as place:
            folder = Path(place)
            if name in {*BUILT, *DESIGNED}:
                fabric = Path(shutil.copy(EXAMPLES / f"{name}.yaml", folder))
                after = kept_files(name, fabric, folder / "out")
            else:
                after = _content(build_example(name, folder))
            before = _content(GOLDEN / name)
            shutil.rmtree(GOLDEN / name, ignore_errors=True)
            for path, text in after.items():
                target = GOLDEN / name / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(text)
                target.chmod(0o755 if target.suffix == ".sh" else 0o644)
            changed = sum(1 for path in before.keys() | after.keys() if before.get(path) != after.get(path))
            print(f"{name}: {len(after)} files, {changed} changed")


def _content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


if __name__ == "__main__":
    main()
