"""Tests of which each day runs some: many cases of one test, drawn by a seed that changes with the day.

``make trial NAME=every`` runs them all, and so does ``RAILWEAVE_EVERY=1``. A test that is named to pytest (``file::test``, ``-k``)
is not drawn. ``RAILWEAVE_DAY=2026-11-28`` draws what was drawn on that day.
"""

from __future__ import annotations

import os
import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TypeVar

import pytest

T = TypeVar("T")

KEPT = {
    "analysis/adopt/test_dual_stack.py::test_a_dual_stack_network_comes_back": 6,
    "analysis/checks/test_faults_are_found.py::test_faults_are_found_and_named": 2,
    "analysis/drift/test_each_line.py::test_any_line_may_be_lost": 4,
    "cli/test_first_designs.py::test_a_design_from_init_alone_is_built_and_verified": 5,
    "cli/test_init_sizing.py::test_files_for_every_switch_model_build": 6,
    "design/sizing/test_grid.py::test_fewest_stripes_and_spines_of_two_tiers_and_planes": 3,
    "design/test_forms.py::test_every_form_is_free_of_errors": 16,
    "golden/test_scale.py::test_scale_example_gives_what_is_committed": 2,
    "host/test_interruption.py::test_after_a_kill": 2,
    "host/test_interruption.py::test_everything_is_put_back": 1,
    "host/test_zipapp.py::test_checks_of_a_recorded_machine": 3,
    "host/test_zipapp.py::test_with_root": 3,
    "host/test_zipapp.py::test_without_root": 3,
    "live/check/test_matrix.py::test_answers_of_a_network_as_designed_have_no_findings": 20,
    "model/config/test_line_designs.py::test_typed_commands_give_the_new_configuration_and_leave_no_name_behind": 2,
    "model/intent/test_nothing_is_lost.py::test_what_is_asked_is_rendered_or_named": 2,
    "model/state/test_fuzz.py::test_odd_answers_are_read_without_an_exception": 2,
    "operations/deploy/test_campaign.py::test_what_a_killed_campaign_broke_is_told_and_ended": 1,
    "operations/deploy/test_campaign.py::test_what_is_broken_waits_on_the_switch_and_is_restored": 4,
    "operations/deploy/test_drain_systems.py::test_a_spine_of_eos_is_drained_and_comes_back": 1,
    "operations/deploy/test_drain_systems.py::test_a_switch_and_a_link_of_sonic_are_drained_and_come_back": 1,
    "operations/deploy/test_rollout.py::test_whoever_is_killed_at_any_step_can_resume": 2,
    "operations/deploy/test_servers.py::test_an_operator_who_is_killed_while_a_server_is_changed_can_resume": 1,
    "operations/deploy/test_upgrade.py::test_a_switch_that_comes_back_with_fewer_sessions_stops_it": 1,
    "operations/deploy/test_upgrade.py::test_a_switch_that_comes_back_with_the_wrong_release_stops_it": 1,
    "operations/deploy/test_upgrade.py::test_a_switch_that_refuses_the_image_is_brought_back_into_use": 1,
    "operations/deploy/test_upgrade.py::test_spines_get_a_release_one_after_another_and_come_back": 1,
    "operations/tune/test_run.py::test_other_samplers": 1,
    "outputs/rendering/test_host_json.py::test_it_keeps_to_its_schema": 6,
    "outputs/report/test_browser.py::test_the_page_of_init_fits_its_window": 2,
    "prediction/simulation/test_agreement.py::test_at_the_real_limit_rings_are_the_same_by_both": 1,
    "test_processes.py::test_nothing_is_left_of_a_verb_that_is_killed": 2,
}
"""How many cases of a test a day has, by its file below ``tests`` and its name. Each has more, which take seconds."""


def every() -> bool:
    """Every case runs."""
    return bool(os.environ.get("RAILWEAVE_EVERY"))


def day() -> str:
    """The day by which cases are drawn; one for all workers of a run, whatever the time becomes."""
    return os.environ.setdefault("RAILWEAVE_DAY", datetime.now(UTC).date().isoformat())


def some(cases: Sequence[T], count: int, name: str) -> list[T]:
    """``count`` of the cases of something with a name, in their order; all of them where every case runs."""
    if every() or count >= len(cases):
        return list(cases)
    places = random.Random(f"{day()} {name}").sample(range(len(cases)), count)  # noqa: S311  # no secret
    return [cases[place] for place in sorted(places)]


def drawn(items: Iterable[pytest.Item]) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """The tests of the day, and those that are left out."""
    everything = list(items)
    groups: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in everything:
        name = item.nodeid.removeprefix("tests/").partition("[")[0]
        if name in KEPT:
            groups[name].append(item)
    kept = {item.nodeid for name, cases in groups.items() for item in some(cases, KEPT[name], name)}
    out = {item.nodeid for cases in groups.values() for item in cases} - kept
    return [item for item in everything if item.nodeid not in out], [item for item in everything if item.nodeid in out]
