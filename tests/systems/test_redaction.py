"""Redaction by what tables know: no secret is left, and readers read what they read before."""

from __future__ import annotations

import importlib
import json
import re
from functools import cache

import pytest

from railweave.model.config import gate
from railweave.model.device.build import device_config
from railweave.systems import system
from railweave.systems.reading import read_state
from railweave.systems.redaction import names_of, redacted
from tests.conftest import example
from tests.model.config.secret_forms import FORMS, MARK

SYSTEMS = ("junos", "eos", "sonic", "frr", "dell_sonic")


@cache
def answers(nos: str) -> dict[str, str]:
    """All that a switch of the example answers: the samples of its system, and its designed configuration."""
    network = example("evpn-gpu-isolation")
    files = system(nos).files(device_config(network, network.switches[0].name, nos)).values()
    samples = importlib.import_module(f"tests.model.state.samples.{nos}").ANSWERS
    parts = {
        f"configuration{f'-{number}' if number else ''}.{'json' if text.lstrip().startswith('{') else 'txt'}": text
        for number, text in enumerate(files)
    }
    return {**samples, **parts}


@pytest.mark.parametrize("nos", SYSTEMS)
def test_readers_read_a_redacted_capture_as_the_other(nos: str) -> None:
    texts = answers(nos)
    shown = redacted(texts, nos, names_of(example("evpn-gpu-isolation")))
    assert read_state("a", nos, texts) == read_state("a", nos, shown)
    reader = system(nos).reader
    assert reader is not None
    of_configuration = [file for file in texts if file.startswith("configuration")]
    before, after = (reader.read({file: given[file] for file in of_configuration}) for given in (texts, shown))
    assert before.config == after.config
    assert redacted(shown, nos, names_of(example("evpn-gpu-isolation"))) == shown


@pytest.mark.parametrize("nos", [*SYSTEMS, ""])
def test_no_form_of_a_secret_is_left(nos: str) -> None:
    left = [
        name
        for name, text in FORMS.items()
        for file in ("configuration.txt", "answer.json")
        if MARK in redacted({file: text}, nos)[file]
    ]
    assert left == []


def test_the_words_alone_leave_few() -> None:
    """What announces a secret by its name is hidden where no table is at hand, as in errors and plans."""
    assert len([name for name, text in FORMS.items() if MARK in gate.redacted(text)]) <= 13


@pytest.mark.parametrize(
    ("nos", "known", "unknown"),
    [
        ("eos", "vrf instance {}", "new-daemon {} enabled 5"),
        ("junos", "set routing-instances {} instance-type vrf", "set services new-thing {} 10.0.0.1"),
        ("frr", "vrf {}\nexit-vrf", "new daemon {} 10.0.0.0/8"),
    ],
)
def test_a_statement_that_no_table_knows_keeps_words_numbers_addresses_and_names(
    nos: str, known: str, unknown: str
) -> None:
    text = f"{known.format('BLUE7')}\n{unknown.format('BLUE7')}\n{unknown.format(MARK)}\n"
    shown = redacted({"configuration.txt": text}, nos)["configuration.txt"].splitlines()
    assert shown[:-2] == known.format("BLUE7").splitlines(), "it is understood"
    assert "BLUE7" in shown[-2], "the name is defined elsewhere"
    assert MARK not in shown[-1]
    kept = re.findall(r"\d[\d./]*|set|enabled|daemon", unknown)
    assert [word for word in kept if word not in shown[-1]] == []


def test_unknown_fields_of_answers_lose_their_texts() -> None:
    text = json.dumps(
        {"interfaces": {"Ethernet1": {"mtu": 9214, "novelty": MARK, "novelties": [MARK]}}, "more": {"novel": MARK}}
    )
    shown = redacted({"interfaces.json": text}, "eos")["interfaces.json"]
    assert json.loads(shown)["interfaces"]["Ethernet1"]["mtu"] == 9214
    assert MARK not in shown


@pytest.mark.parametrize(
    "text",
    [
        "-----BEGIN RSA PRIVATE KEY-----\n" * 30_000,
        "password " + "a-" * 50_000,
        'key "' * 50_000,
        '{"password":"x",' * 30_000,
        "system {\n host a;\n" + "secret {" * 3_000,
        "https://" + "a:b@" * 20_000 + "?" + "a=b&" * 20_000,
        "authorization: " * 20_000,
        "<secret>" * 30_000,
        "[" * 100_000 + '"password"',
        "".join(" " * min(depth, 500) + "secret x\n" for depth in range(3_000)),
    ],
    ids=lambda text: text[:20],
)
def test_hostile_texts_end(text: str) -> None:
    """Each took from seconds to hours when the time grew with the square of the length."""
    assert redacted({"configuration.txt": text}, "eos")["configuration.txt"].count("\n") == text.count("\n")


@pytest.mark.parametrize(
    ("nos", "text"),
    [
        ("frr", "hostname a\r\r\nfrr defaults datacenter\r\r\nnew-daemon {}\r\r\nrouter bgp 1\r\r\n"),
        ("dell_sonic", "hostname a\x0cnew-daemon {}\nrouter bgp 1\n"),
        ("junos", "set system host-name a # {}"),
        ("junos", "system {{\n host-name a; /* {} */\n}}"),
        ("junos", '{{"configuration":{{"@":{{"junos:comment":"/* {} */"}},"system":{{"host-name":"a"}}}}}}'),
        ("eos", '{{"cmds":{{"alias boom bash x {}":null}}}}'),
        ("sonic", '{{"MACSEC_PROFILE":{{"p":{{"primary_cak":"{}"}}}}}}'),
        ("sonic", '{{"BANNER_MESSAGE":{{"global":{{"motd":"vault {}"}}}}}}'),
        ("eos", "<?pw {}?><configuration/>"),
        ("junos", '<!DOCTYPE x [<!ENTITY p "{}">]><a/>'),
        ("junos", "<{}/>"),
        ("junos", "<a xmlns:x='{}'/>"),
    ],
)
def test_what_fell_in_an_hour_of_attack(nos: str, text: str) -> None:
    """Signs that end lines for some readers only, comments, documents in one line, statements as keys, odd XML."""
    assert MARK not in redacted({"configuration.txt": text.format(MARK)}, nos)["configuration.txt"]


@pytest.mark.parametrize(
    "text",
    [
        r'{{"config":"{{\"auth\": \"{}\"}}"}}',
        '{{"config":"<login><pass>{}</pass></login>"}}',
        '{{"interfaces":["snmp-community","{}"]}}',
        '{{"name":["user","password","{}"]}}',
        *(f'{{{{"{name}":"{{}}"}}}}' for name in ("auth", "pin", "seed", "hash", "credential")),
    ],
)
def test_known_fields_hide_documents_pairs_and_general_names(text: str) -> None:
    for nos in SYSTEMS:
        assert MARK not in redacted({"interfaces.json": text.format(MARK)}, nos)["interfaces.json"]


def test_labels_in_answers_announce_secrets() -> None:
    for label in ("passkey", "CAK", "pass", "Auth key", "Pre-shared key"):
        assert MARK not in redacted({"interfaces.txt": f"{label}: {MARK}\n"}, "sonic")["interfaces.txt"], label


def test_the_model_and_release_of_eos_stay() -> None:
    text = "! device: leaf01 (DCS-7060X6-64PE, EOS-4.33.1F)\nhostname leaf01\n"
    assert redacted({"configuration.txt": text}, "eos")["configuration.txt"] == text
