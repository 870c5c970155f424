"""What the files that all servers share are called: no server may be called so."""

from __future__ import annotations

import pytest

from railweave.api import load
from railweave.outputs.folder.designing import is_cluster_file
from railweave.outputs.rendering.host.cluster import cluster_files
from tests.conftest import ROOT


@pytest.mark.parametrize("name", ["h100-rlb", "aidc-three-fabrics"])
def test_every_file_that_is_written_is_known_as_one(name: str) -> None:
    names = list(cluster_files(load(ROOT / "examples" / f"{name}.yaml")))
    assert names
    assert all(is_cluster_file(one) and is_cluster_file(one.upper()) for one in names)


@pytest.mark.parametrize("name", ["H100-01", "hostfiles", "mpirun", "host", "my-hostfile"])
def test_others_are_none(name: str) -> None:
    assert not is_cluster_file(name)
