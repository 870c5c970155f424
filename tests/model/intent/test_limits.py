"""Files that are too much: each ends with an error at its line, whatever the nesting, the aliases, the ranges and the numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from railweave.design import design
from railweave.errors import InputError, SpecError
from railweave.model.intent.base import expand
from railweave.model.intent.inventory import read_inventory
from railweave.model.intent.lock import read_lock
from railweave.model.intent.reading import document as reading
from railweave.model.intent.reading.document import read_document, validate
from railweave.model.intent.reading.source import read_source
from railweave.model.intent.scenario import Scenario
from railweave.outputs.folder.designing import design_file
from railweave.reading import read_text

FABRIC = """\
name: pod1
fabrics:
  backend:
    topology: {stripes: 1, spines: 2, leaves_per_stripe: 1, oversubscription: 16}
    leaf: {device: qfx5240-64od}
servers:
  - {names: "gpu-[01-02]", model: h100-8gpu-cx7}
"""


def refused(tmp_path: Path, text: str) -> str:
    """What is said of a fabric file, without its folder."""
    file = tmp_path / "pod1.yaml"
    file.write_text(text)
    with pytest.raises(InputError) as caught:
        design_file(file)
    return str(caught.value).replace(f"{tmp_path}/", "")


def changed(old: str, new: str) -> str:
    assert FABRIC.count(old) == 1
    return FABRIC.replace(old, new)


def test_the_fabric_itself_is_good(tmp_path: Path) -> None:
    (tmp_path / "pod1.yaml").write_text(FABRIC)
    design_file(tmp_path / "pod1.yaml")


@pytest.mark.parametrize("text", ["[" * 100_000, "{a: " * 100_000, "- " * 100_000, "a: " + "[" * 65 + "]" * 65])
def test_nesting_ends(tmp_path: Path, text: str) -> None:
    assert "nested too deeply\n    close the brackets" in refused(tmp_path, text)


def test_an_alias_bomb_is_defused_where_it_stands(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    assert refused(tmp_path, "\n".join(lines)).startswith(
        "pod1.yaml:1: the file has more than 250,000 values, including those that aliases and host lists stand for"
    )


def test_many_values_are_counted_before_they_are_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_VALUES", 1000)
    assert "more than 1,000 values" in refused(tmp_path, "a: [" + "x, " * 2000 + "x]")


def test_a_file_without_end_is_not_read_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "zero.yaml").symlink_to("/dev/zero")
    with pytest.raises(SpecError, match=r"zero\.yaml: cannot be read: no regular file"):
        read_document(tmp_path / "zero.yaml")
    with (tmp_path / "long.yaml").open("wb") as file:
        file.truncate(70 << 20)
    with pytest.raises(SpecError, match=r"long\.yaml: larger than 16 MiB, the most that is read"):
        read_document(tmp_path / "long.yaml")
    with pytest.raises(SpecError, match="larger than 64 MiB"):
        read_text(tmp_path / "long.yaml")


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("H100-[0000000001-9999999999]", "stands for 9,999,999,999 names -- at most 65,536 names are allowed"),
        ("n[1-40000,1-40000]", "stands for 80,000 names"),
        (f"n[{'0' * 100}1-2]", "gives names that are too long -- at most 63 letters"),
        ("n" * 60 + "[0001-0002]", "gives names that are too long"),
    ],
)
def test_ranges_are_counted_before_they_are_written_out(pattern: str, message: str) -> None:
    with pytest.raises(ValueError, match="n") as caught:
        expand(pattern)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (changed("gpu-[01-02]", "H100-[0000000001-9999999999]"), "pod1.yaml:7: servers.0.names: 'H100-[0000000001-9999999999]' stands for 9,999,999,999 names"),
        (changed("    leaf:", "    tenants: {blue: {members: 'gpu-[1-65536]:gpu[1-60000]_eth'}}\n    leaf:"), "pod1.yaml:"),
        (FABRIC + "overrides: {devices: {'leaf[1-9999999]': {release: 25.4R1}}}\n", "pod1.yaml:8: overrides: 'leaf[1-9999999]' stands for 9,999,999 names"),
        (FABRIC + "".join(f'  - {{names: "h{n}-[1-60000]", model: h100-8gpu-cx7}}\n' for n in range(20)), "pod1.yaml:12: the file has more than 250,000 values"),
        (FABRIC + "".join(f'  - {{names: "h{n}-[1-60000]", model: h100-8gpu-cx7}}\n' for n in range(4)), "the list for all groups together stands for 240,002 names"),
        (changed("stripes: 1", "stripes: 4096").replace("spines: 2", "spines: 4096"), "would have 16,777,216 links between switches\n    at most 524,288 are possible"),
        (changed("stripes: 1", "stripes: 4096").replace("spines: 2", "spines: 64, stripes_per_pod: 1, super_spines: 512"), "would have 299,008 switches"),
        (changed("stripes: 1", "stripes: [n[1-9999999999]]"), "pod1.yaml:"),
    ],
)  # fmt: skip
def test_counts_of_a_fabric_have_ends(tmp_path: Path, text: str, message: str) -> None:
    assert message in refused(tmp_path, text)


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ("links_per_spine: true", "true is not a whole number"),
        ("links_per_spine: 1.0", "1.0 is not a whole number"),
        ('links_per_spine: "1"', "'1' is not a whole number"),
        ("links_per_spine: yes", "'yes' is not a whole number"),
        ("super_spines: false", "false is not a whole number"),
        ("link_speed: true", "expected Gb/s, for example 400G"),
        ("link_speed: 1e9", "is larger than every allowed value"),
        ("oversubscription: true", "true is not a number"),
        ("oversubscription: .nan", "'.nan' is not a number"),
        ("oversubscription: .inf", "'.inf' is not a number"),
        ("oversubscription: 1e999", "1e999 is too large for a number"),
        ("servers_per_stripe: 99999999999999999999", "99999999999999999999 is too large for a number"),
        (f"servers_per_stripe: 0x{'f' * 30}", "is too large for a number"),
    ],
)  # fmt: skip
def test_a_number_is_written_as_one(tmp_path: Path, part: str, message: str) -> None:
    wanted = message if part != "link_speed: 1e9" else ""
    text = (
        FABRIC.replace("oversubscription: 16", part)
        if "oversubscription" in part
        else changed("spines: 2", f"spines: 2, {part}")
    )
    found = refused(tmp_path, text)
    assert found.startswith("pod1.yaml:4: ")
    assert wanted in found


@pytest.mark.parametrize("word", ["yes", "on", '"true"', "1", "1.0"])
def test_true_is_the_only_word_for_it(tmp_path: Path, word: str) -> None:
    assert "is not true or false" in refused(tmp_path, FABRIC + f"management: {{lldp: {word}}}\n")


def test_eight_is_no_octal_number(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("a: 010\nb: 0o10\n")
    assert read_document(tmp_path / "x.yaml").value == {"a": 10, "b": 8}  # YAML 1.2, core schema


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('description: "a\\0b"\n', "the value contains a control character (0x00)"),
        ('description: "a\\ecb"\n', "the value contains a control character (0x1b)"),
        ('description: "a\\u2028b"\n', "the value contains a control character (0x2028)"),
        ('description: "a\\nb"\n', "description: 'a\\nb' spans lines"),
        ("management: {snmp: {location: \"x\\nreload now\"}}\n", "management.snmp.location: 'x\\nreload now' spans lines"),
        ('management: {banner: "hello\\nEOF\\nreload now"}\n', "a line of the banner is `EOF`"),
        ('management: {root_password: "secret:a> b"}\n', "names no secret"),
    ],
)  # fmt: skip
def test_no_text_ends_its_line(tmp_path: Path, text: str, message: str) -> None:
    found = refused(tmp_path, FABRIC + text)
    assert found.startswith("pod1.yaml:8: ")
    assert message in found


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("gpu-[01-02]", "n" * 300, "is not a name"),
        ("gpu-[01-02]", "..", "'..' is not a name"),
        ("gpu-[01-02]", "a/b", "'a/b' is not a name"),
        ("gpu-[01-02]", "hostfile", "a server cannot have the name 'hostfile'"),
        ("gpu-[01-02]", "Hostfile", "a server cannot have the name 'Hostfile'"),
        ("gpu-[01-02]", "hostfile.nccl", "a server cannot have the name 'hostfile.nccl'"),
        ("gpu-[01-02]", "mpirun.sh", "a server cannot have the name 'mpirun.sh'"),
        ('"gpu-[01-02]"', "[gpu-1, GPU-1]", "server 'gpu-1' is listed twice"),
        ('"gpu-[01-02]"', "[spine1]", "a server and a switch would both have the name 'spine1'"),
        ('"gpu-[01-02]"', "[Spine1]", "a server and a switch would both have the name 'spine1'"),
        ("spines: 2", "spines: [a, A]", "'a' is listed twice"),
    ],
)  # fmt: skip
def test_names_that_no_host_or_file_can_have(tmp_path: Path, old: str, new: str, message: str) -> None:
    found = refused(tmp_path, changed(old, new))
    assert found.startswith(("pod1.yaml:7: ", "pod1.yaml:4: "))
    assert message in found
    assert len(found) < 400


def test_groups_of_servers_are_not_told_apart_by_capitals(tmp_path: Path) -> None:
    text = FABRIC + "  - {names: GPU-01, model: h100-8gpu-cx7}\n"
    assert refused(tmp_path, text) == "pod1.yaml:8: duplicate server 'GPU-01'\n    it is first given on line 7"


def test_a_pattern_that_makes_long_names_is_found_by_what_it_makes(tmp_path: Path) -> None:
    text = changed("    leaf:", f'    naming: {{leaf: "{{stripe}}-{"x" * 30}-{{leaf}}"}}\n    leaf:')
    text = text.replace("stripes: 1", f"stripes: [{'s' * 40}]")
    assert "73 characters\n    host names have at most 63 characters: shorten the pattern" in refused(tmp_path, text)


def test_a_job_ends(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(
        "iterations: 100000\ntraffic: [{collective: all-reduce, size: 1M, repeat: 100000}]\n"
    )
    with pytest.raises(SpecError, match=r"s\.yaml:1: .*the job has 10,000,000,000 collectives"):
        validate(Scenario, read_document(tmp_path / "s.yaml"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000, "pod1.lock: the lock is damaged: nested too deeply"),
        ('{"railweave-lock": 1, "pools": {"a": {"b": true}}}', "pod1.lock: a: 'b' has slot True"),
        ('{"railweave-lock": 1, "pools": {"a": {"b": 1.0}}}', "pod1.lock: a: 'b' has slot 1.0"),
        (f'{{"railweave-lock": 1, "pools": {{"a": {{"b": {10**30}}}}}}}', "pod1.lock: a: 'b' has slot 1000000"),
        (f'{{"railweave-lock": 1, "pools": {{"a": {{"b": {"9" * 5000}}}}}}}', "pod1.lock: the lock is damaged: Exceeds"),
    ],
)  # fmt: skip
def test_locks(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "pod1.lock").write_text(text)
    with pytest.raises(SpecError) as caught:
        read_lock(tmp_path / "pod1.lock")
    assert str(caught.value).replace(f"{tmp_path}/", "").startswith(message)


def test_an_inventory_whose_quotes_never_close(tmp_path: Path) -> None:
    (tmp_path / "i.csv").write_text('device,serial\nleaf1,"' + "x" * 200_000)
    with pytest.raises(SpecError, match=r"i.csv:\d+: not a table: field larger than field limit"):
        read_inventory(tmp_path / "i.csv")


def test_an_inventory_keeps_commas_and_quotes(tmp_path: Path) -> None:
    (tmp_path / "i.csv").write_text('device,serial\nleaf1,"a ""b"", c"\n')
    assert read_inventory(tmp_path / "i.csv").get("leaf1").serial == 'a "b", c'


def test_mistakes_are_told_up_to_a_hundred(tmp_path: Path) -> None:
    found = refused(tmp_path, FABRIC + "".join(f"key{n}: 1\n" for n in range(2000)))
    assert found.count("unknown key") == 100


def test_statements_of_the_operator_nested_without_end(tmp_path: Path) -> None:
    text = changed("qfx5240-64od", f'qfx5240-64od, extra: {{junos: "{"a { " * 20_000}"}}')
    assert "extra junos statement: nested too deeply" in refused(tmp_path, text)
    text = changed("qfx5240-64od", "qfx5240-64od, extra: {sonic: '" + '{"a":' * 50_000 + "'}")
    assert "extra sonic: nested too deeply" in refused(tmp_path, text)
    text = changed("qfx5240-64od", f'qfx5240-64od, extra: {{junos: "{"a " * 200_000}"}}')
    assert "should have at most 262144 characters" in refused(tmp_path, text)


def test_a_whole_design_is_unchanged_by_limits(tmp_path: Path) -> None:
    (tmp_path / "pod1.yaml").write_text(FABRIC)
    network, lock = design(read_source(tmp_path / "pod1.yaml"))
    assert json.loads(lock.to_text())["railweave-lock"] == 1
    assert len(network.servers) == 2
