"""At which sizes and with how many seeds published rows are run."""

from __future__ import annotations

import pytest
from benchmarks.validation import published
from benchmarks.validation.published import Collective, Row


@pytest.mark.parametrize(("gib", "seeds"), [(1, 20), (2, 10), (8, 2), (16, 2)])
def test_large_all_to_alls_are_run_whole_with_fewer_seeds(gib: int, seeds: int) -> None:
    assert published.seeds_of(Collective("thor2", (4,), "all-to-all", gib << 30), 20) == seeds
    assert published.seeds_of(Collective("thor2", (4,), "all-reduce", gib << 30), 20) == 20


def test_a_row_is_run_at_its_own_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is run is the published size, never a smaller one whose bandwidth is taken for it."""
    asked: list[int] = []

    class StopError(Exception):
        pass

    def stop(_network: object, _name: str, size: int, **_: object) -> None:
        asked.append(size)
        raise StopError

    monkeypatch.setattr(published, "agreed", stop)
    job = Collective("thor2", (4,), "all-to-all", 16 << 30)
    with pytest.raises(StopError):
        published.run_once(job, 1)
    assert asked == [16 << 30]
    assert Row("", "", (200.0,), "us", job).error(published.predicted(job, [100.0, 300.0])) == 0.0
