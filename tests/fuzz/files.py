"""Parsers of files that people and railweave write."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from pydantic import BaseModel

from railweave.analysis.checks.checks import config_differences
from railweave.analysis.routing.fib_file import read_fibs, write_fibs
from railweave.design.sizing.address_rules import AddressFile, read_rules
from railweave.errors import RenderError, SpecError
from railweave.host import host_file, journal
from railweave.host.entries import Rule, planned_route
from railweave.host.failure import HostError
from railweave.live.collect.access_file import Access, read_access
from railweave.manifest import read_manifest
from railweave.model.catalog.hardware_files import own_hardware
from railweave.model.intent.fabric import FabricFile
from railweave.model.intent.inventory import read_inventory
from railweave.model.intent.job_file import JobFile, TrainingJob, read_jobs
from railweave.model.intent.lock import read_lock
from railweave.model.intent.reading.document import read_document
from railweave.model.intent.reading.source import read_source
from railweave.model.intent.scenario import Scenario, read_scenario
from railweave.model.intent.study import Study, read_study
from railweave.model.network.model import Network
from railweave.model.state.capture import read_capture
from railweave.operations.bench.plan import read_plan as read_bench_plan
from railweave.operations.deploy.plan import read_plan as read_deploy_plan
from railweave.outputs.folder.designing import design_file
from railweave.outputs.folder.rendering import read_secrets
from railweave.outputs.folder.sources import load
from railweave.outputs.report.bom import Prices, read_prices
from railweave.prediction.simulation.grid import Dimension, Grid, read_points
from railweave.reading import compose_yaml
from tests.conftest import EXAMPLES, ROOT
from tests.fuzz.driver import Parser
from tests.fuzz.mutators import Mutator, json_value, one_of, table, text, yaml_value
from tests.operations.bench.test_plan import PLAN
from tests.prediction.simulation.beds import plane_of

CORPUS = Path(__file__).parent / "corpus"
TESTS = ROOT / "tests"
GOLDEN = TESTS / "golden"
EARLIER = TESTS / "earlier" / "7958d393"


def contents(*paths: Path) -> Callable[[], list[bytes]]:
    """Return a function that reads the files at some paths."""
    return cache(lambda: [path.read_bytes() for path in sorted(paths)])


def _composed(data: bytes) -> Any:
    try:
        return compose_yaml(data.decode(), "input")
    except (SpecError, UnicodeDecodeError):
        return None


def is_yaml(data: bytes) -> bool:
    return _composed(data) is not None


def keys_of(*models: type[BaseModel]) -> Callable[[bytes], bool]:
    """Return a function that tells YAML maps whose keys are all fields of one of the models."""
    fields = [{info.alias or name for name, info in model.model_fields.items()} for model in models]

    def passes(data: bytes) -> bool:
        node = _composed(data)
        if node is None or node.id != "mapping":
            return False
        keys = {key.value for key, _ in node.value if key.id == "scalar"}
        return any(keys <= known for known in fields)

    return passes


def is_map(data: bytes) -> bool:
    node = _composed(data)
    return node is not None and node.id == "mapping"


def json_with(needed: Mapping[str, Any], kinds: Mapping[str, type] | None = None) -> Callable[[bytes], bool]:
    """Return a function that tells JSON objects with such values, and with values of such types."""

    def passes(data: bytes) -> bool:
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            return False
        return (
            isinstance(value, dict)
            and all(value.get(key) == wanted for key, wanted in needed.items())
            and all(isinstance(value.get(key), kind) for key, kind in (kinds or {}).items())
        )

    return passes


@cache
def small() -> Network:
    """The smallest network: two servers, leaves and spines."""
    return design_file(EARLIER / "small.yaml")[0]


PREFIXES = 4


@cache
def _fibs() -> list[bytes]:
    with TemporaryDirectory() as folder:
        write_fibs(plane_of(small()).routes(), Path(folder) / "fib")
        return [(Path(folder) / "fib").read_bytes()]


@cache
def _prefixes() -> tuple[str, ...]:
    return tuple(json.loads(_fibs()[0])["devices"]["spine1"])


def _secrets(data: bytes, file: Path) -> object:
    file.chmod(0o600)
    return read_secrets(file)


@cache
def _journals() -> list[bytes]:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "journal"
        step = journal.StepRecord(
            "modules", (("", "rmmod", "x"),), (("/etc/x", None),), "", "", True, (("/etc/x", "a"),)
        )
        route = planned_route(6, 10000, "fc00:1::/64", "eth0", "fc00::1")
        rule = Rule(6, 10000, "fc00:1::/64", "", 10000)
        journal.save(file, journal.Journal((route, rule), (route,), Path("/etc/iproute2/x"), "1 a\n", (step,)))
        return [file.read_bytes()]


def _capture(data: bytes, file: Path) -> object:
    leaf = file.parent / "leaf1"
    leaf.mkdir(exist_ok=True)
    (leaf / "configuration.txt").write_bytes(data)
    capture = read_capture(file.parent)
    return capture.configurations("leaf1", ("junos.conf",)), capture.texts("leaf1")


def _config(data: bytes, file: Path) -> object:
    return config_differences(_configs()[0].decode(), data.decode("utf-8", "replace"))


_configs = contents(GOLDEN / "dci-50km" / "devices" / "ptx-east" / "config.json")


def _hardware(data: bytes, file: Path) -> object:
    return own_hardware(file.parent).hardware


def _study(data: bytes, file: Path) -> object:
    for name in ("ecn-bed.yaml", "qps-bed.yaml", "dlb-bed.yaml", "h100-rlb.yaml"):
        (file.parent / name).touch()
    return read_study(file)


@cache
def _studies() -> list[bytes]:
    """The studies of the examples, with the fabric file beside them."""
    found = [
        path.read_bytes() for path in sorted((EXAMPLES / "studies").glob("*.yaml")) if b"fabric:" in path.read_bytes()
    ]
    return [data for data in found if keys_of(Study)(data)]


SMALL = [path for path in sorted(EXAMPLES.glob("*.yaml")) if path.stat().st_size < 2500]


def fabric(data: bytes, file: Path) -> object:
    return read_source(file)


def _jobs(data: bytes, file: Path) -> object:
    return read_jobs(file, {"parallel.tensor": "2"} if b"model" in data else None)


def _refusing(mutated: Mutator, chance: float = 0.02) -> Mutator:
    """Return a mutator that now and then gives bytes that are no text."""

    def odd(seed: bytes, dice: Random) -> bytes:
        data = mutated(seed, dice)
        if dice.random() < chance:
            at = dice.randrange(len(data) + 1)
            data = data[:at] + dice.choice((b"\xff", b"\xc3", b"\xed\xa0\x80", b"\x00", b"\xef\xbb\xbf")) + data[at:]
        return data

    return odd


def _yaml(
    name: str,
    read: Callable[[bytes, Path], object],
    passes: Callable[[bytes], bool],
    seeds: Callable[[], Sequence[bytes]],
    inputs: int,
) -> Parser:
    return Parser(name, read, passes, seeds, _refusing(yaml_value), inputs, "fuzzed.yaml")


def _file(read: Callable[[Path], object]) -> Callable[[bytes, Path], object]:
    return lambda _, file: read(file)


FILES = (
    _yaml("fabric", fabric, keys_of(FabricFile), contents(*SMALL), 250),
    Parser(
        "yaml",
        _file(read_document),
        is_yaml,
        contents(*SMALL, CORPUS / "yaml.yaml"),
        _refusing(one_of((1, text), (1, yaml_value))),
        300,
        "fuzzed.yaml",
    ),
    Parser(
        "inventory",
        _file(read_inventory),
        lambda data: b"device" in data.split(b"\n")[0],
        contents(CORPUS / "inventory.csv"),
        _refusing(table),
        400,
        "fuzzed.csv",
    ),
    Parser(
        "lock",
        _file(read_lock),
        json_with({"railweave-lock": 1}, {"pools": dict}),
        contents(*(EXAMPLES / f"{name}.lock" for name in ("h100-rlb", "dci-50km"))),
        _refusing(json_value),
        200,
        "fuzzed.lock",
    ),
    _yaml(
        "scenario",
        lambda _, file: read_scenario(file, "sim"),
        keys_of(Scenario),
        contents(*(EXAMPLES / "scenarios").iterdir(), CORPUS / "scenario.yaml"),
        300,
    ),
    _yaml("job", _jobs, keys_of(TrainingJob, JobFile), contents(*(EXAMPLES / "jobs").glob("*.yaml")), 300),
    _yaml("study", _study, keys_of(Study), _studies, 300),
    _yaml("access", _file(read_access), keys_of(Access), contents(CORPUS / "access.yaml"), 300),
    _yaml("secrets", _secrets, is_map, contents(CORPUS / "secrets.yaml"), 300),
    _yaml("prices", _file(read_prices), keys_of(Prices), contents(CORPUS / "prices.yaml"), 300),
    _yaml("addresses", _file(read_rules), keys_of(AddressFile), contents(CORPUS / "addresses.yaml"), 300),
    _yaml("hardware", _hardware, is_map, contents(EXAMPLES / "hardware" / "acme.yaml"), 60),
    Parser(
        "points",
        lambda _, file: read_points(file, Grid((Dimension("size", ("4G",)), Dimension("qps", ("1",))), ())),
        lambda data: b"time_us" in data,
        contents(CORPUS / "points.csv"),
        _refusing(table),
        400,
        "fuzzed.csv",
    ),
    Parser(
        "fib",
        lambda _, file: read_fibs(file, small(), _prefixes()),
        json_with({"format": "railweave-fib-1"}, {"groups": list, "devices": dict}),
        _fibs,
        _refusing(json_value),
        200,
        "fuzzed.json",
    ),
    Parser(
        "manifest",
        lambda _, file: read_manifest(file.parent),
        json_with({"railweave": 1}, {"files": dict}),
        contents(GOLDEN / "mi300x-leaf-24" / "manifest.json"),
        _refusing(json_value),
        100,
        "manifest.json",
        (),
    ),
    Parser(
        "design",
        lambda _, file: load(str(file.parent)),
        json_with({"schema": 2}),
        contents(EARLIER / "build" / "design.json"),
        _refusing(json_value),
        60,
        "design.json",
    ),
    Parser("config", _config, json_with({}, {"name": str}), _configs, json_value, 40, errors=(RenderError,)),
    Parser(
        "host plan",
        _file(host_file.load),
        json_with({"schema": 1}, {"nics": list}),
        contents(EARLIER / "host.json"),
        _refusing(json_value),
        300,
        "fuzzed.json",
        (HostError,),
    ),
    Parser(
        "host journal",
        _file(journal.load),
        json_with({"schema": 1}),
        _journals,
        _refusing(json_value),
        300,
        "fuzzed.json",
        (HostError,),
    ),
    Parser(
        "bench plan",
        _file(read_bench_plan),
        json_with({"railweave": "bench plan"}, {"runs": list}),
        lambda: [PLAN.to_json()],
        _refusing(json_value),
        300,
        "fuzzed.json",
    ),
    Parser(
        "deploy plan",
        _file(read_deploy_plan),
        json_with({}, {"waves": list, "devices": dict}),
        contents(EARLIER / "plan.json"),
        _refusing(json_value),
        150,
        "fuzzed.json",
    ),
    Parser(
        "capture",
        _capture,
        json_with({}, {"devices": dict}),
        contents(EARLIER / "capture" / "meta.json"),
        json_value,
        200,
        "meta.json",
    ),
)
