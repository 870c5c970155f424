"""Studies on a Ray cluster. ``make trial NAME=ray`` runs the first test's question on a whole study, where Ray is installed."""

from __future__ import annotations

import importlib.util
import socket
import sys
from pathlib import Path
from types import ModuleType

import pytest

from railweave.api import tune_run
from railweave.errors import InputError
from tests.operations.tune.studies import study


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs Ray, which is no part of [dev]")
def test_workers_of_a_cluster_give_the_same_study(tmp_path: Path) -> None:
    path = study(tmp_path)
    for workers, ray in ((1, None), (2, "local")):
        tune_run(path, output=tmp_path / str(workers), workers=workers, ray=ray)
    assert (tmp_path / "1" / "journal.jsonl").read_text() == (tmp_path / "2" / "journal.jsonl").read_text()


def test_without_ray_it_is_said_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"pip install 'railweave\[ray\]'"):
        tune_run(study(tmp_path), ray="local")


@pytest.mark.parametrize("address", ["nowhere", "ray://127.0.0.1", "127.0.0.1:{port}", "ray://127.0.0.1:{port}"])
def test_a_cluster_that_is_not_there_is_told_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    """Ray itself is never asked: it would try for minutes."""
    monkeypatch.setitem(sys.modules, "ray", ModuleType("ray"))
    with socket.socket() as taken:  # bound and not listening: nobody else listens there either
        taken.bind(("127.0.0.1", 0))
        given = address.format(port=taken.getsockname()[1])
        with pytest.raises(
            InputError, match="no cluster answers there" if "{" in address else "not the address of a cluster"
        ):
            tune_run(study(tmp_path), ray=given)
