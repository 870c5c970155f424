"""docs/predict.md#training-steps: its files and commands, in order, and what it says of their output."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.docs.test_256_gpus import run

PAGE = ROOT / "docs" / "predict.md"
TEXT = PAGE.read_text().partition("\n## Training steps\n")[2]


def follow(folder: Path, until: str = "") -> list[str]:
    """Write the page's files and run its commands up to the one that writes a file, or all; what each printed."""
    said: list[str] = []
    for language, text in re.findall(r"^```(\w+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL):
        if language == "yaml":
            (folder / text.split("\n", 1)[0].removeprefix("# ")).write_text(text)
        else:
            said.append(run(text, folder))
        if until and (folder / until).exists():
            break
    return said


def rows(text: str) -> dict[str, float]:
    """Of each choice, its step in ms."""
    return {
        one[1]: float(one[2].replace(",", "")) for one in re.finditer(r"^(\S.*?) {2,}([\d,]+\.\d) ", text, re.MULTILINE)
    }


@pytest.mark.slow
def test_what_the_page_says(tmp_path: Path) -> None:
    _, asked, dense, experts = follow(tmp_path, until="choices.html")
    assert "bound by       tensor parallel: links between the GPUs of a server" in asked
    assert "11.2%" in asked
    assert "  waiting: other stages " in asked
    cost = rows(dense)
    before = cost["as it is"]
    assert cost["oversubscription=4:1"] / before - 1 < 0.001
    assert 1 - cost["parallel.pipeline=2"] / before == pytest.approx(0.04, abs=0.005)
    assert 1 - cost["overlap.tensor=true"] / before == pytest.approx(0.19, abs=0.005)
    cost = rows(experts)
    before = cost["as it is"]
    best = cost["overlap.expert=true"]
    assert best == min(cost.values())
    for choice, slower in (("as it is", "11.7"), ("oversubscription=2:1", "44.0"), ("lb=ecmp", "37.5")):
        assert f"{100 * (cost[choice] / best - 1):.1f}" == slower
        assert f" +{slower}%" in next(line for line in experts.splitlines() if line.startswith(choice))
        assert f"{slower} % longer" in TEXT
    assert cost["scenario=dead-spine.yaml"] > 2 * before
    assert "78.2" in next(line for line in experts.splitlines() if line.startswith("oversubscription=2:1"))


def test_pictures_of_the_page_are_there() -> None:
    pictures = re.findall(r"\]\((images/howto/[^)]+)\)", TEXT)
    assert len(pictures) == 2
    assert all((PAGE.parent / one).is_file() for one in pictures)
