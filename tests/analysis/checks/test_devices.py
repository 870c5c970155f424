"""Configurations as texts have them: what differs is named, on its line, and what it does is worked out."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

import pytest
from tests.retarget import retargeted

from railweave.analysis.checks.causes import EACH_ALONE
from railweave.analysis.checks.checks import run_checks
from railweave.analysis.checks.devices import compare_device, compare_devices, saved
from railweave.analysis.checks.subject import Subject
from railweave.systems import system

if TYPE_CHECKING:
    from railweave.analysis.checks.devices import DeviceCheck

LEAF = "stripe1-leaf1"
FILE = "frr.conf"


@cache
def _subject() -> Subject:
    return Subject.of(retargeted("h100-rlb", "frr"))


@cache
def _designed() -> str:
    return system("frr").files(_subject().configs[LEAF])[FILE]


def _stands(text: str) -> DeviceCheck:
    return compare_device(_subject().configs[LEAF], {FILE: _designed()}, {FILE: (FILE, text)})


def _changed(old: str, new: str) -> str:
    made = re.sub(old, new, _designed(), count=1)
    assert made != _designed()
    return made


def test_the_designed_text_is_the_designed_configuration() -> None:
    found = _stands(_designed())
    assert not found.findings
    assert found.config is _subject().configs[LEAF]


def test_values_in_the_place_of_secrets_are_counted_where_nothing_else_differs() -> None:
    designed, found = (f"{_designed()}enable password {word}\n" for word in ("<secret:enable>", "hashed"))
    stood = compare_device(_subject().configs[LEAF], {FILE: designed}, {FILE: (FILE, found)})
    assert (stood.findings, stood.not_compared) == ([], ("enable password <secret:enable>",))


def test_a_login_that_nobody_designed_is_an_error_where_it_is_no_field_that_is_read() -> None:
    config = Subject.of(retargeted("mi300x-leaf-24", "junos")).configs["leaf1"]
    designed = {file: system("junos").files(config)[file] for file in system("junos").configurations(config)}
    key = 'root-authentication {\n        ssh-rsa "AAAA";\n    }\n'
    text = designed["junos.conf"].replace("system {\n", "system {\n    " + key, 1)
    [finding] = compare_device(config, designed, {"junos.conf": ("junos.conf", text)}).findings
    assert (finding.id, finding.severity) == ("login-differs", "error")


def test_of_a_statement_that_differs_in_what_stands_in_it_that_is_named() -> None:
    """Junos: without its only child a container is another statement of the same words."""
    config = Subject.of(retargeted("h100-rlb", "junos")).configs[LEAF]
    designed = {file: system("junos").files(config)[file] for file in system("junos").configurations(config)}
    text = re.sub(r" {8}ecmp-dlb \{.*?\n {8}\}\n", "", designed["junos.conf"], flags=re.DOTALL)
    [(cause, finding)] = compare_device(config, designed, {"junos.conf": ("junos.conf", text)}).causes
    assert cause.designed == f"{cause.found} / ecmp-dlb"
    assert "`forwarding-options / enhanced-hash-key / ecmp-dlb` is missing" in finding.what


@pytest.mark.parametrize(
    ("old", "new", "name", "words"),
    [
        (r"(et-0-0 interface remote-as) \d+", r"\1 65099", "as-differs", "65099"),
        (r" neighbor spine-green bfd profile fabric\n", "", "bfd-differs", "is missing"),
        (r"transmit-interval 1000", "transmit-interval 300", "bfd-differs", "300"),
        (r"ip address 10.255.0.1/32", "ip address 10.255.0.99/32", "address-differs", "10.255.0.99"),
        (r"set local-preference 200", "set local-preference 20", "color-differs", "20"),
        (r"(own-blue seq 5 permit) \S+", r"\1 fc00:9::/64", "policy-differs", "fc00:9::/64"),
        (r"(set large-community 4200000001:1:)1 ", r"\g<1>2 ", "color-differs", "4200000001:1:2"),
        (r" ipv6 nd prefix fc00:1:1:2::/64 2592000 604800\n", "", "advertisement-differs", "fc00:1:1:2::/64"),
        (r"maximum-paths 4", "maximum-paths 2", "balancing-differs", "2"),
        (
            r"neighbor spine-green route-map to-spines out",
            "neighbor spine-green route-map all out",
            "policy-differs",
            "all",
        ),
        (r"description spine1 et-0-0", "description spine9 et-0-0", "text-differs", "spine9"),
        (r"log syslog informational", "log syslog debugging", "management-differs", "debugging"),
        (r"timers connect 5", "timers connect 50", "session-differs", "50"),
    ],
)
def test_a_mistake_is_named_on_its_line(old: str, new: str, name: str, words: str) -> None:
    text = _changed(old, new)
    [finding] = _stands(text).findings
    assert finding.id == name
    assert finding.severity == ("warning" if name == "text-differs" else "error")
    assert words in finding.what
    if "missing" not in finding.what:
        assert words in text.splitlines()[finding.line - 1]


def test_a_statement_that_is_not_designed_is_a_warning_and_may_be_adopted() -> None:
    found = _stands(_changed(r"log syslog informational\n", "log syslog informational\nlog timestamp precision 6\n"))
    [finding] = found.findings
    assert (finding.id, finding.severity, finding.line) == ("statement-not-designed", "warning", 4)
    [(cause, _)] = found.causes
    assert cause.alone is not None
    assert cause.alone.values == ("log timestamp precision 6",)


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_what_cannot_be_read_is_an_error(text: str) -> None:
    found = _stands(text)
    assert found.config is None
    assert [(one.id, one.severity) for one in found.findings] == [("file-unreadable", "error")]


def test_another_configuration_altogether_is_read_once_and_named_all_the_same() -> None:
    other = system("frr").files(_subject().configs["spine1"])[FILE]
    found = _stands(other)
    assert len(found.causes) > EACH_ALONE
    assert {"address-differs", "policy-differs", "session-differs"} <= {one.id for one in found.findings}


def test_routes_follow_what_the_text_says() -> None:
    text = _changed(r"(et-0-0 interface remote-as) \d+", r"\1 65099")
    config = _stands(text).config
    assert config is not None
    subject = _subject()
    running = Subject(subject.network, subject.configs | {LEAF: config})
    link = next(one.link for one in config.interfaces if one.name == "et-0-0")
    prefix = "fc00:2:1:1::/64"
    assert subject.routes.next_hops(LEAF, prefix) == (link,)
    assert link not in running.routes.next_hops(LEAF, prefix)


def test_values_in_the_place_of_secrets_are_no_difference() -> None:
    network = retargeted("h100-rlb", "eos")
    config = Subject.of(network).configs[LEAF]
    designed = {file: system("eos").files(config)[file] for file in system("eos").trees(config)}
    text = re.sub(r"<secret:[^>]*>", "$6$salt$hash", designed["eos.conf"])
    assert text != designed["eos.conf"]
    assert not compare_device(config, designed, {"eos.conf": ("eos.conf", text)}).findings


def test_texts_are_of_the_files_that_they_look_like() -> None:
    subject = _subject()
    captured = {LEAF: {"saved/leaf.txt": _changed("maximum-paths 4", "maximum-paths 2")}, "unknown": {"x": "y"}}
    found = saved(subject.configs, captured)
    assert list(found) == [LEAF]
    assert [one.file for one in found[LEAF].findings] == ["saved/leaf.txt"]


def test_every_device_is_read() -> None:
    subject = _subject()
    rendered = {
        f"devices/{name}/{file}": text
        for name, config in subject.configs.items()
        for file, text in system("frr").files(config).items()
    }
    texts = {
        name: {
            FILE: (
                f"{name}.txt",
                rendered[f"devices/{name}/{FILE}"].replace("detect-multiplier 3", "detect-multiplier 4"),
            )
        }
        for name in subject.configs
    }
    found = compare_devices(subject.configs, rendered, texts)
    assert all(one.findings for one in found.values())


@pytest.mark.parametrize("text", ["hostname other\n", "hostname other\nrouter bgp 65000\n"])
def test_a_switch_whose_routing_is_gone_is_worked_out_all_the_same(text: str) -> None:
    found = _stands(text)
    assert found.config is not None
    assert found.config.name == LEAF, "it is the switch that the text was saved from"
    subject = _subject()
    running = Subject(subject.network, subject.configs | {LEAF: found.config})
    assert running.routes.next_hops(LEAF, "fc00:2:1:1::/64") == ()
    assert {one.id for one in run_checks(running, slow=False)} >= {"unreachable", "session-down"}
