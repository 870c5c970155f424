"""``python -m docs.notebooks``: run the notebooks, and keep what their cells show, as text; Jupyter is not needed."""

from __future__ import annotations

import ast
import io
import json
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Any

import polars as pl

NOTEBOOKS = (Path(__file__).parent / "howto" / "from-file-to-prediction.ipynb",)
WIDTH = 100
"""Columns that a frame has as text, whatever terminal this runs in."""


def run(notebook: Path) -> str:
    """The text of a notebook, with what its cells show when they are run in its folder, one after another."""
    content: dict[str, Any] = json.loads(notebook.read_text(encoding="utf-8"))
    names: dict[str, Any] = {"__name__": "__main__"}
    cells = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
    with chdir(notebook.parent), pl.Config(tbl_width_chars=WIDTH):
        for count, cell in enumerate(cells, 1):
            cell["execution_count"] = count
            cell["outputs"] = _outputs("".join(cell["source"]), names, count)
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _outputs(source: str, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Run a cell. What it prints, and the value of its last line where that is an expression."""
    body = ast.parse(source).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    value = None
    with redirect_stdout(io.StringIO()) as printed:
        exec(compile(ast.Module(body, []), "<cell>", "exec"), names)  # noqa: S102 - the notebook's own code
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)  # noqa: S307 - the same
    found: list[dict[str, Any]] = []
    if printed.getvalue():
        text = printed.getvalue().splitlines(keepends=True)
        found.append({"name": "stdout", "output_type": "stream", "text": text})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        found.append({"data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result"})
    return found


if __name__ == "__main__":
    for path in NOTEBOOKS:
        path.write_text(run(path), encoding="utf-8")
        print(f"wrote {path.relative_to(Path(__file__).parents[1])}")
