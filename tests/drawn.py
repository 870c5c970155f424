"""Tests of which each day runs some: many cases of one test, drawn by a seed that changes with the day.

``make trial NAME=every`` runs them all, and so does ``RAILWEAVE_EVERY=1``. A test that is named to pytest (``file::test``, ``-k``)
is not drawn. ``RAILWEAVE_DAY=2026-11-28`` draws what was drawn on that day.
"""

from __future__ import annotations

import os
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

import pytest
from hypothesis import seed, settings

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

KEPT = {
    "analysis/adopt/test_dual_stack.py::test_a_dual_stack_network_comes_back": 6,
    "analysis/adopt/test_examples.py::test_an_example_comes_back": 3,
    "analysis/adopt/test_port_qos.py::test_which_ports_pause_comes_back": 3,
    "analysis/adopt/test_secrets.py::test_no_secret_leaves_the_devices": 2,
    "analysis/checks/test_dell_lint.py::test_rendered_devices_are_clean": 4,
    "analysis/checks/test_eos_lint.py::test_nothing_is_wrong_with_what_is_rendered": 4,
    "analysis/checks/test_faults_are_found.py::test_faults_are_found_and_named": 2,
    "analysis/checks/test_incomplete.py::test_no_design_lacks_anything": 12,
    "analysis/checks/test_sonic_lint.py::test_rendered_devices_are_clean": 4,
    "analysis/checks/test_validator_access.py::test_all_of_it_is_accepted": 6,
    "analysis/checks/test_validator_avd.py::test_every_example_is_accepted": 4,
    "analysis/checks/test_validator_sonic.py::test_every_example_is_clean_on_dell": 4,
    "analysis/checks/test_validator_sonic.py::test_every_example_is_clean_on_sonic": 4,
    "analysis/drift/test_each_line.py::test_any_line_may_be_lost": 2,
    "analysis/drift/test_each_line.py::test_what_it_does_to_routes_is_said": 4,
    "cli/test_first_designs.py::test_a_design_from_init_alone_is_built_and_verified": 5,
    "cli/test_init_sizing.py::test_files_for_every_switch_model_build": 6,
    "cli/test_start.py::test_init_copies_an_example_that_builds": 3,
    "design/sizing/test_grid.py::test_fewest_stripes_and_spines_of_two_tiers_and_planes": 2,
    "design/sizing/test_growth_cost.py::test_growth_lays_anew_what_the_designs_differ_in": 8,
    "design/sizing/test_sizing.py::test_design_of_the_file_has_what_sizing_counts": 8,
    "design/test_forms.py::test_every_form_is_free_of_errors": 16,
    "design/test_tiers.py::test_every_check_passes": 6,
    "golden/test_scale.py::test_scale_example_gives_what_is_committed": 1,
    "host/test_generic.py::test_faults_are_found_by_comparison": 1,
    "host/test_interruption.py::test_after_a_kill": 1,
    "host/test_interruption.py::test_after_a_kill_at_a_file": 1,
    "host/test_interruption.py::test_after_a_kill_of_undo": 1,
    "host/test_interruption.py::test_everything_is_put_back": 1,
    "host/test_recorded.py::test_a_healthy_server_has_no_finding": 2,
    "host/test_samples.py::test_all_that_is_wrong_is_said_and_nothing_else": 4,
    "host/test_setup.py::test_killed_at_every_step": 1,
    "host/test_zipapp.py::test_checks_of_a_recorded_machine": 1,
    "host/test_zipapp.py::test_with_root": 1,
    "host/test_zipapp.py::test_without_root": 1,
    "live/check/test_drops.py::test_a_spine_that_drops_everything_is_found": 4,
    "live/check/test_every_answer.py::test_a_capture_without_an_answer_is_not_good": 1,
    "live/check/test_every_answer.py::test_a_capture_without_any_configuration_is_not_good": 1,
    "live/check/test_every_answer.py::test_no_answer_of_a_switch_can_be_missing": 5,
    "live/check/test_matrix.py::test_a_sample_of_faults_is_found_and_named": 2,
    "live/check/test_matrix.py::test_answers_of_a_network_as_designed_have_no_findings": 20,
    "live/check/test_servers.py::test_a_fault_of_a_server_is_found_at_its_nic": 9,
    "live/check/test_servers.py::test_servers_that_are_as_designed_have_no_findings": 4,
    "live/lab/test_protection.py::test_a_protected_network_behaves_as_designed": 1,
    "live/lab/test_undo.py::test_what_undoes_a_line_leaves_nothing_of_it": 1,
    "model/config/test_line_designs.py::test_typed_commands_give_the_new_configuration_and_leave_no_name_behind": 1,
    "model/intent/test_nothing_is_lost.py::test_what_is_asked_is_rendered_or_named": 1,
    "operations/bench/running/test_pairs.py::test_an_end_in_the_middle_leaves_no_server_and_loses_no_result": 1,
    "operations/bench/test_launchers.py::test_each_prefix_leaves_the_rows_of_the_bare_output": 12,
    "operations/bench/test_page.py::test_nothing_is_wider_than_the_window": 1,
    "operations/deploy/test_acknowledge.py::test_a_difference_is_refused_with_both_sides_and_the_remedy": 3,
    "operations/deploy/test_campaign.py::test_what_a_killed_campaign_broke_is_told_and_ended": 1,
    "operations/deploy/test_campaign.py::test_what_is_broken_waits_on_the_switch_and_is_restored": 2,
    "operations/deploy/test_drain.py": 1,
    "operations/deploy/test_drain_systems.py::test_a_spine_of_eos_is_drained_and_comes_back": 1,
    "operations/deploy/test_drain_systems.py::test_a_switch_and_a_link_of_sonic_are_drained_and_come_back": 1,
    "operations/deploy/test_full_disk.py": 2,
    "operations/deploy/test_moments.py::test_what_is_cut_and_moved_is_what_routing_says": 4,
    "operations/deploy/test_rollout.py::test_whoever_is_killed_at_any_step_can_resume": 1,
    "operations/deploy/test_upgrade.py::test_a_file_is_copied_and_its_checksum_compared": 1,
    "operations/deploy/test_upgrade.py::test_a_switch_that_comes_back_with_fewer_sessions_stops_it": 1,
    "operations/deploy/test_upgrade.py::test_a_switch_that_comes_back_with_the_wrong_release_stops_it": 1,
    "operations/deploy/test_upgrade.py::test_a_switch_that_refuses_the_image_is_brought_back_into_use": 1,
    "operations/deploy/test_upgrade.py::test_spines_get_a_release_one_after_another_and_come_back": 1,
    "operations/tune/test_run.py::test_other_samplers": 1,
    "operations/watch/test_console_browser.py::test_no_page_is_wider_than_its_window": 5,
    "outputs/folder/test_planted_switches.py::test_a_mistake_is_named_at_its_line": 3,
    "outputs/rendering/host/test_networkd.py::test_slaac": 1,
    "outputs/rendering/host/test_networkd.py::test_static": 1,
    "outputs/rendering/test_host_json.py::test_it_keeps_to_its_schema": 6,
    "outputs/report/test_browser.py::test_the_page_of_init_fits_its_window": 2,
    "prediction/simulation/test_agreement.py::test_at_the_real_limit_rings_are_the_same_by_both": 1,
    "prediction/simulation/test_agreement.py::test_engines_agree_where_auto_changes_them": 10,
    "prediction/simulation/test_agreement.py::test_where_marks_slow_senders_they_agree_too": 2,
    "prediction/simulation/test_planes.py::test_a_collective_without_a_living_plane_waits_for_the_first_that_comes_back": 3,
    "prediction/simulation/test_planes.py::test_a_plane_that_dies_leaves_its_share_to_the_other": 2,
    "prediction/simulation/test_question.py::test_every_example_is_predicted": 5,
    "protection/test_sessions.py::test_every_session_of_a_known_fabric_gets_through": 8,
    "protection/test_sessions.py::test_every_session_of_a_random_fabric_gets_through": 2,
    "systems/dell_sonic/test_read.py::test_examples_read_back": 4,
    "systems/frr/test_read.py::test_examples_come_back": 4,
    "systems/junos/test_read.py::test_examples_are_read_as_they_were_designed": 4,
    "systems/sonic/test_read.py::test_examples_come_back": 4,
    "systems/test_dual_stack.py::test_both_families_come_back": 6,
    "systems/test_statement_changes.py::test_no_change_is_silent": 1,
    "systems/test_statement_rows.py::test_another_value_is_another_configuration": 100,
    "systems/test_statement_rows.py::test_what_is_read_is_printed_and_read_again": 100,
    "test_processes.py::test_nothing_is_left_of_a_verb_that_is_killed": 1,
}
"""How many cases of a test a day has, by its file below ``tests`` and its name, or by its file: of each test there. Each has more."""


GROUPS = {
    "pages": (
        "docs/test_256_gpus.py::test_every_command_of_the_page",
        "docs/test_howto.py::test_kernel",
        "docs/test_howto.py::test_netplan",
        "docs/test_howto.py::test_railweave_host",
        "docs/test_predict.py::test_the_blocks_run_in_their_order",
        "docs/test_prove.py::test_a_network_is_proved_broken_and_proved_again",
        "docs/test_training_step.py::test_what_the_page_says",
    ),
    "setup of bare servers": (
        "host/test_setup.py::test_a_failed_installer_is_named_with_its_last_lines",
        "host/test_setup.py::test_a_server_of_nvidia_has_its_own_steps",
        "host/test_setup.py::test_an_image_is_set_up_by_chroot",
        "host/test_setup.py::test_another_release_is_built_beside_the_first_and_undo_removes_both",
        "host/test_setup.py::test_missing_files_are_named_before_anything_is_changed",
        "host/test_setup.py::test_modules_that_conflict_are_removed_by_the_real_dkms",
        "host/test_setup.py::test_packages_are_installed_by_the_real_rpm_after_a_kill_too",
        "host/test_setup.py::test_the_plan_shows_the_commands_and_where_they_were_tried",
        "host/test_setup.py::test_twice",
    ),
    "changes in labs": (
        "live/lab/test_deploy.py::test_a_change_of_design_comes_onto_the_routers_and_back",
        "live/lab/test_deploy.py::test_routers_go_back_by_themselves_when_nobody_is_left_to_confirm",
        "live/lab/test_deploy.py::test_whatever_breaks_between_commit_and_confirmation_ends_in_a_known_state",
        "live/lab/test_deploy_servers.py::test_servers_of_a_lab_get_other_addresses_after_their_leaves_and_back",
        "live/lab/test_tuning.py::test_values_are_on_the_routers_while_they_are_measured",
    ),
    "changes of servers": (
        "operations/deploy/test_servers.py::test_a_server_goes_back_by_itself_when_nobody_is_left_to_confirm",
        "operations/deploy/test_servers.py::test_a_server_on_which_apply_is_killed_half_way_is_as_it_was",
        "operations/deploy/test_servers.py::test_a_server_that_has_nothing_gets_its_file_and_loses_it_again",
        "operations/deploy/test_servers.py::test_an_operator_who_is_killed_while_a_server_is_changed_can_resume",
        "operations/deploy/test_servers.py::test_servers_come_to_their_design_after_the_switches",
    ),
    "studies on a network": (
        "operations/tune/test_hardware.py::test_a_switch_that_refuses_a_trial_makes_it_fail",
        "operations/tune/test_hardware.py::test_a_trial_that_breaks_a_guardrail_is_rolled_back_at_once",
        "operations/tune/test_hardware.py::test_ctrl_c_takes_the_trial_back_and_the_study_goes_on",
        "operations/tune/test_hardware.py::test_the_best_of_the_simulator_are_confirmed_on_the_network",
        "operations/tune/test_hardware.py::test_trials_are_in_force_while_they_are_measured_and_taken_back",
        "operations/tune/test_hardware.py::test_what_a_killed_study_left_is_brought_back_first",
        "operations/tune/test_hardware.py::test_what_was_measured_after_the_timers_ran_out_does_not_count",
    ),
    "tenants in labs": (
        "live/lab/test_tenants.py::test_both_address_families_of_a_tenant_are_connected_and_kept_apart",
        "live/lab/test_tenants.py::test_gpus_of_one_server_are_in_tenants_that_are_kept_apart",
        "live/lab/test_tenants.py::test_layer_2_networks_span_leaves_and_their_tenants_are_kept_apart",
        "live/lab/test_tenants.py::test_tenants_reach_over_super_spines",
        "live/lab/test_tenants.py::test_whole_servers_are_tenants_and_what_mixes_them_is_named",
    ),
}
"""Tests of up to a minute that are like cases of one: pages followed from start to end, changes and what may stop them."""
OF_A_GROUP = 3
"""How many tests of a group a day has."""
_GROUP_OF = {name: group for group, names in GROUPS.items() for name in names}


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


def examples(count: int, kept: int) -> int:
    """How many of the examples of a property a day tries: the first ones, which are the same each day."""
    return count if every() else kept


def examples_of_day(count: int, kept: int) -> Callable[[F], F]:
    """Return a decorator, for use above ``given``: a day tries ``kept`` of the ``count`` examples of a property, drawn by its date."""

    def decorated(test: F) -> F:
        test = settings(max_examples=examples(count, kept))(test)
        return test if every() else seed(f"{day()} {test.__name__}")(test)

    return decorated


def group_of(name: str) -> tuple[str, int]:
    """The group of which a test is a case, and how many of its cases a day has; 0: all of them."""
    if name in _GROUP_OF:
        return _GROUP_OF[name], OF_A_GROUP
    return name, KEPT.get(name, KEPT.get(name.partition("::")[0], 0))


def drawn(items: Iterable[pytest.Item]) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """The tests of the day, and those that are left out."""
    everything = list(items)
    groups: defaultdict[tuple[str, int], list[pytest.Item]] = defaultdict(list)
    for item in everything:
        group = group_of(item.nodeid.removeprefix("tests/").partition("[")[0])
        if group[1]:
            groups[group].append(item)
    kept = {item.nodeid for (name, count), cases in groups.items() for item in some(cases, count, name)}
    out = {item.nodeid for cases in groups.values() for item in cases} - kept
    return [item for item in everything if item.nodeid not in out], [item for item in everything if item.nodeid in out]
