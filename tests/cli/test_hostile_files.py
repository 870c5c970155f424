"""Whatever stands in a file, a command ends with an error in words: no traceback, no signal."""

from __future__ import annotations

import contextlib
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from railweave.cli import main
from railweave.design import design
from railweave.errors import InputError
from railweave.host import commands
from railweave.model.intent.inventory import read_inventory
from railweave.model.intent.lock import read_lock
from railweave.model.intent.reading.source import read_source
from railweave.model.intent.scenario import read_scenario
from railweave.outputs.folder.designing import check_extra
from tests.conftest import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))
SMALL = [path.read_bytes() for path in EXAMPLES if path.stem in {"h100-rlb", "mi300x-leaf-24", "evpn-functional"}]
SCENARIO = (
    b"traffic: [{collective: all-reduce, size: 1M}]\nfaults: [{at: 1ms, kind: link-down, link: a--b, for: 2ms}]\n"
)
LOCK = b'{"railweave-lock": 1, "pools": {"backend/stripes": {"stripe1": 1}}}\n'
INVENTORY = b"device,interface,mac,serial,netdev,rdma,length\nH100-01,gpu0_eth,a0:88:c2:3b:50:66,,eth1,mlx5_0,12.5\n"
PIECES = [b"[", b"]", b"{", b"}", b"&a ", b"*a", b"- ", b": ", b"\n", b'"', b"'", b"\0", b"\xff", b"true", b"1e999", b"-1", b"0x", b"[1-99999999]", b"<<: ", b"!!", b"|", b"%", b"\t", b"\xef\xbb\xbf", b"\xc2\x85"]  # fmt: skip


def mutated(data: bytes, chance: random.Random) -> bytes:
    """A file with up to six changes: bytes taken out, put in, doubled, exchanged."""
    for _ in range(chance.randint(1, 6)):
        at, length = chance.randrange(len(data) + 1), chance.randint(0, 12)
        new = chance.choice([*PIECES, chance.randbytes(3), data[at : at + 40], b""])
        data = data[:at] + new + data[at + length :]
    return data


def reads(kind: str, file: Path) -> None:
    """Read a file; an error of the user's is as good as a value."""
    with contextlib.suppress(InputError):
        if kind == "fabric":
            source = read_source(file)
            check_extra(source)
            if sum(len(group.names) for group in source.spec.servers) <= 64:  # thousands take their time, rightly
                design(source)
        elif kind == "scenario":
            read_scenario(file, "sim")
        else:
            {"lock": read_lock, "inventory": read_inventory}[kind](file)


KINDS = {"fabric": SMALL, "scenario": [SCENARIO], "lock": [LOCK], "inventory": [INVENTORY]}


@pytest.mark.slow
@given(st.sampled_from(sorted(KINDS)), st.integers(0, 1 << 32))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_mutated_files_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, kind: str, seed: int) -> None:
    chance, file = random.Random(seed), tmp_path_factory.getbasetemp() / "mutated.yaml"  # noqa: S311 - not for secrets
    file.write_bytes(mutated(chance.choice(KINDS[kind]), chance))
    reads(kind, file)


@given(st.sampled_from(sorted(KINDS)), st.binary(max_size=4096))
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, kind: str, data: bytes) -> None:
    file = tmp_path_factory.getbasetemp() / "bytes.yaml"
    file.write_bytes(data)
    reads(kind, file)


def test_brackets_without_end_do_not_kill_the_program(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("[" * 100_000)
    words = [sys.executable, "-c", "from railweave.cli import main; main()", "build", "x.yaml", "-o", "out"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("error: x.yaml:1: nested too deeply\n    close the brackets\n")


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "9" * 5000, "{}", "[]", "\xff"])
@pytest.mark.parametrize("verb", ["plan", "env", "status"])
def test_a_host_file_of_any_content(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, verb: str) -> None:
    (tmp_path / "host.json").write_bytes(text.encode("latin-1"))
    try:
        code = commands.main([verb, "--host-file", str(tmp_path / "host.json")])
    except SystemExit as stop:
        code = stop.code
    assert code == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert said.startswith((f"error: {tmp_path}/host.json: ", "usage:"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("paths FILE --src gpu-01:gpu0_eth --dst gpu-02:gpu0_eth --qps 100000000", r"--qps: 100000000 queue pairs\n    give 1 to 16,384"),
        ("paths FILE --src gpu-01:gpu0_eth --dst gpu-02:gpu0_eth --qps 1" + "0" * 5000, "qps"),
        ("sim FILE --qps 100000000", "--qps: 100000000 queue pairs per connection"),
        ("sim FILE --size 1" + "0" * 5000, "--size: .* is not a size"),
        ("sim FILE --background share=true", "--background: share"),
        ("sim FILE --background share=30%,qps=1e9", "--background: qps"),
        ("sim FILE --background share=30%,qps=true", "--background: qps"),
        ("sim FILE --scenario ZERO", "ZERO: cannot be read: no regular file"),
        ("sim FILE --scenario LARGE", "larger than 16 MiB"),
        ("sim FILE --fib DEEP", "not JSON: nested too deeply\n    docs/predict.md has the form"),
        ("init NEW --gpus 1000000000000", "--gpus: '1000000000000' is not a number of GPUs"),
        ("init NEW --gpus 999999999", "--gpus: 999999999 GPUs do not fit into any shape"),
        ("lab export containerlab FILE -o NEW --slice servers=1" + "0" * 5000, "--slice: .* is no part of a slice"),
        ("build " + "n" * 300 + " -o NEW", "File name too long"),
        ("build FILE -o NEW --secrets OPEN", r"OPEN: others can read the secrets \(mode 644\)\n    chmod 600 OPEN"),
    ],
)  # fmt: skip
def test_counts_of_the_command_line_have_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: str, message: str
) -> None:
    from tests.model.intent.test_limits import FABRIC

    (tmp_path / "FILE").write_text(FABRIC)
    (tmp_path / "DEEP").write_text("[" * 100_000)
    (tmp_path / "ZERO").symlink_to("/dev/zero")
    with (tmp_path / "LARGE").open("wb") as large:
        large.truncate((1 << 24) + 1)
    (tmp_path / "OPEN").write_text("a: b\n")
    (tmp_path / "OPEN").chmod(0o644)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["railweave", *words.split()])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    assert re.search(message, capsys.readouterr().err, re.DOTALL)
