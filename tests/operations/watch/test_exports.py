"""What Prometheus, Grafana and gnmic are given: read by promtool where it is there, and nothing named that is not served."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from railweave.cli.app import app
from railweave.model.network.model import Network
from railweave.model.state.telemetry import METRICS
from railweave.operations.exports.prometheus import RECORDED, prometheus
from tests.conftest import EXAMPLES, example

SOURCES = Path(__file__).parents[3] / "src" / "railweave" / "operations" / "watch"
_NAME = re.compile(r"\brailweave_[a-z_]+")
PROMTOOL = shutil.which("promtool")


@pytest.fixture(scope="module")
def network() -> Network:
    return example("h100-rlb")


def alerts(files: dict[str, str]) -> dict[str, dict[str, Any]]:
    groups: list[dict[str, Any]] = yaml.safe_load(files["railweave.rules.yml"])["groups"]
    return {one["alert"]: one for group in groups for one in group["rules"] if "alert" in one}


def expressions(files: dict[str, str]) -> list[str]:
    groups = yaml.safe_load(files["railweave.rules.yml"])["groups"]
    found = [one["expr"] for group in groups for one in group["rules"]]
    for name, text in files.items():
        if name.startswith("dashboards/"):
            found += re.findall(r'"expr": "((?:[^"\\]|\\.)*)"', text)
    return found


def test_rules_and_dashboards_name_only_what_is_served(network: Network) -> None:
    served = {one.exported for one in METRICS.values()}
    served |= set(_NAME.findall("".join(path.read_text() for path in SOURCES.glob("*.py"))))
    served |= {f"railweave_target_{name}" for name in ("up", "clock_behind_seconds")}
    for expression in expressions(prometheus(network)):
        for name in _NAME.findall(expression):
            assert name in served, name
        for name in re.findall(r"railweave:[a-z_:]+", expression):
            assert name in RECORDED, name


def test_the_watchdog_of_the_design_is_in_the_alert_of_a_storm(network: Network) -> None:
    found = alerts(prometheus(network))
    assert {
        "RailweaveTargetDown",
        "RailweavePortDown",
        "RailweaveLosslessDrops",
        "RailweaveServerPauses",
    } <= found.keys()
    for one in found.values():
        assert one["labels"]["rule"]
        assert one["annotations"]["description"].endswith(".")


def test_who_does_not_speak_gnmi_is_not_in_gnmic(network: Network) -> None:
    targets = yaml.safe_load(prometheus(network)["gnmic.yaml"])["targets"]
    assert {one["name"] for one in targets.values()} == {one.name for one in network.switches}


def test_the_verb_writes_all_of_it(tmp_path: Path) -> None:
    line = ["export", "prometheus", str(EXAMPLES / "h100-rlb.yaml"), "-o", str(tmp_path / "out"), "--json"]
    done = CliRunner().invoke(app, line)
    assert done.exit_code == 0, done.output
    json.loads(done.stdout)
    assert (tmp_path / "out" / "dashboards" / "network.json").exists()
    for path in (tmp_path / "out" / "dashboards").iterdir():
        assert json.loads(path.read_text())["panels"]


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed (Debian: prometheus)")
def test_promtool_takes_rules_and_configuration(network: Network, tmp_path: Path) -> None:
    for name, text in prometheus(network, alertmanager="127.0.0.1:9093").items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    for words in (("rules", "railweave.rules.yml"), ("config", "prometheus.yml")):
        done = subprocess.run(
            [str(PROMTOOL), "check", *words], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
