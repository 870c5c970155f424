"""The notebook runs as it stands, without Jupyter, and shows what it says."""

from __future__ import annotations

import json

from docs.notebooks import NOTEBOOKS, run

from tests.conftest import ROOT


def test_cells_run_and_show_what_they_say() -> None:
    for notebook in NOTEBOOKS:
        text = notebook.read_text()
        assert run(notebook) == text, "run `make docs`"
        assert str(ROOT) not in text
        assert "shape: (5, 3)" in text, "a frame of five sizes"


def test_every_notebook_is_run() -> None:
    assert set(NOTEBOOKS) == set((ROOT / "docs").rglob("*.ipynb"))


def test_its_links_lead_to_files() -> None:
    for notebook in NOTEBOOKS:
        cells = json.loads(notebook.read_text())["cells"]
        text = "".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
        links = [part.partition(")")[0] for part in text.split("](")[1:]]
        assert len(links) >= 3
        assert [link for link in links if not (notebook.parent / link).exists()] == []
