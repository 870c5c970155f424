"""Names of tenants that a system cannot have for a VRF, or has for something else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from railweave import api
from railweave.errors import InputError
from railweave.model.catalog import catalog
from railweave.model.device.overlay import MAC_VRF
from railweave.systems.eos.names import MANAGEMENT_VRF
from railweave.systems.junos.names import MANAGEMENT_INSTANCE, SPRAYING_INSTANCE
from tests.two_stripes import text

if TYPE_CHECKING:
    from pathlib import Path

    from railweave.model.network.model import Network

LONG = "sixteen-letters-"


def load(folder: Path, nos: str, tenant: str) -> Network:
    file = folder / "fabric.yaml"
    file.write_text(text(f'tenants: {{{tenant}: {{members: ["H100-01"]}}}}'), encoding="utf-8")
    return api.load(file, device=[f":{nos}"])


@pytest.mark.parametrize(
    ("nos", "tenant"),
    [
        ("eos", MANAGEMENT_VRF),
        ("eos", "default"),
        ("junos", MANAGEMENT_INSTANCE),
        ("junos", SPRAYING_INSTANCE),
        ("junos", MAC_VRF),
        ("junos", "default"),
        ("frr", "default"),
        ("frr", "lo"),
    ],
)
def test_a_name_that_means_something_else(tmp_path: Path, nos: str, tenant: str) -> None:
    with pytest.raises(
        InputError, match=rf"fabric.yaml:8: a VRF of .* cannot have the name '{tenant}', because that is"
    ):
        load(tmp_path, nos, tenant)


def test_a_name_that_is_too_long(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"fabric.yaml:8: .* is too long for the name of a VRF on FRRouting"):
        load(tmp_path, "frr", f"{LONG}x")
    with pytest.raises(InputError, match=r"use at most 31 characters"):
        load(tmp_path, "junos", f"{LONG}{LONG}")


@pytest.mark.parametrize(("nos", "tenant"), [("junos", "MGMT"), ("sonic", "default"), ("sonic", LONG), ("eos", LONG)])
def test_a_name_that_is_free(tmp_path: Path, nos: str, tenant: str) -> None:
    assert load(tmp_path, nos, f"{tenant}x" if tenant == LONG else tenant).fabrics[0].tenants
    assert tenant not in catalog().systems[nos].vrf_names.reserved
