"""Every way to ask a device, against servers that speak its protocol: answers, refusals, faults, and who may be trusted."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import asyncssh
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from railweave.live.reach import change_session, failure
from railweave.live.reach.command import Command
from railweave.live.reach.failure import ReachError
from railweave.live.reach.opening import opened
from railweave.live.reach.target import PORTS, MachineLogin, Password, Target
from railweave.model.state.question import Protocol, Question
from tests.live.reach.stand_ins import PASSWORD, USER, StandIn, StandIns, stand_ins, trusting

SHOW = Question("version", "text", {"ssh": "show version", "netconf": "show version", "eapi": "show version"})


@pytest.fixture
def devices() -> Iterator[StandIns]:
    with stand_ins() as found:
        yield found


@pytest.fixture
def secret(monkeypatch: pytest.MonkeyPatch) -> Password:
    monkeypatch.setenv("READER", PASSWORD)
    return Password("env", "READER")


def target(device: StandIn, known: Path | None, password: Password, **more) -> Target:
    ports = dict.fromkeys(PORTS, device.port)
    limits = {name: more.pop(name) for name in ("connect_s", "answer_s") if name in more}
    way = MachineLogin("127.0.0.1", USER, ports, password=password, known_hosts=known, tls=False, **more)
    return Target("leaf1", ("ssh",), way, **limits)


def ask(where: Target, protocol: Protocol, *questions: Question) -> list[str]:
    async def run() -> list[str]:
        transport = await opened(where, protocol)
        try:
            return [await transport.ask(one) for one in questions]
        finally:
            await transport.close()

    return asyncio.run(run())


def refused(where: Target, protocol: Protocol, question: Question = SHOW) -> ReachError:
    with pytest.raises(ReachError) as caught:
        ask(where, protocol, question)
    assert PASSWORD not in f"{caught.value} {caught.value!r}"
    return caught.value


def test_ssh_gives_what_a_command_prints(devices, secret, tmp_path) -> None:
    device = devices.ssh({"show version": "one\r\ntwo\n"})
    where = target(device, trusting(tmp_path, device), secret)
    assert ask(where, "ssh", SHOW, SHOW) == ["one\ntwo\n"] * 2
    assert device.logins == 1
    again = Question("clock", "text", {"ssh": "date -u +%s"})
    error = refused(where, "ssh", again)
    assert (error.kind, error.again) == ("refused", False)
    assert "% Invalid input" in str(error)


def test_a_command_that_ends_before_its_input_comes_has_answered(devices, secret, tmp_path, monkeypatch) -> None:
    """``sonic-cfggen`` reads no input: on a busy machine it has ended before that is sent."""
    device = devices.ssh({"show version": "one\n"})
    begun = asyncssh.SSHClientConnection.create_process

    async def ended(*args: Any, **options: Any) -> Any:
        process = await begun(*args, **options)
        await process.wait_closed()
        return process

    monkeypatch.setattr(asyncssh.SSHClientConnection, "create_process", ended)

    async def run() -> str:
        session = await change_session.opened(target(device, trusting(tmp_path, device), secret), "ssh")
        try:
            return await session.execute("show version", "input")
        finally:
            await session.close()

    assert asyncio.run(run()) == "one\n"


def test_a_host_key_that_is_not_known_is_refused_with_the_command_that_adds_it(devices, secret, tmp_path) -> None:
    device = devices.ssh({"show version": "x"})
    known = tmp_path / "no such file"
    error = refused(target(device, known, secret), "ssh")
    assert error.kind == "host key"
    assert f"[127.0.0.1]:{device.port} is not in {known}" in str(error)
    assert "<hidden>" not in str(error)
    assert f"ssh-keyscan -p {device.port} 127.0.0.1 >> '{known}'" in error.fix
    assert device.asked == []


def test_another_host_key_than_the_known_one_is_refused(devices, secret, tmp_path) -> None:
    device, other = devices.ssh({"show version": "x"}), devices.ssh({})
    known = tmp_path / "known_hosts"
    known.write_text(f"[127.0.0.1]:{device.port} {other.key.export_public_key().decode()}")
    error = refused(target(device, known, secret), "ssh")
    assert error.kind == "host key"
    assert "another host key" in str(error)
    assert "<hidden>" not in str(error)
    assert "ssh-keygen -R" in error.fix
    assert device.asked == []


def test_who_is_not_let_in_is_told_so_and_not_asked_again(devices, monkeypatch, tmp_path) -> None:
    device = devices.ssh({})
    monkeypatch.setenv("WRONG", "not-it")
    error = refused(target(device, trusting(tmp_path, device), Password("env", "WRONG")), "ssh")
    assert (error.kind, error.again) == ("login", False)
    assert "not-it" not in str(error)


def test_a_password_in_a_file_that_others_may_read_is_not_used(tmp_path) -> None:
    path = tmp_path / "password"
    path.write_text(f"{PASSWORD}\n")
    path.chmod(0o644)
    with pytest.raises(ReachError, match="others may read"):
        Password("file", str(path)).value()
    path.chmod(0o600)
    assert Password("file", str(path)).value() == PASSWORD
    with pytest.raises(ReachError, match="No such file"):
        Password("file", str(tmp_path / "none")).value()
    with pytest.raises(ReachError, match="the environment has no RAILWEAVE_NONE"):
        Password("env", "RAILWEAVE_NONE").value()


@pytest.mark.parametrize("value", ["", "\n", " ", "\r\n"])
def test_an_empty_secret_is_refused_wherever_it_is(value, tmp_path, monkeypatch) -> None:
    path = tmp_path / "password"
    path.write_text(value)
    path.chmod(0o600)
    monkeypatch.setenv("EMPTY", value)
    for place in (Password("file", str(path)), Password("env", "EMPTY")):
        with pytest.raises(ReachError, match="empty"):
            place.value()


def test_a_connection_that_ends_in_the_middle_of_an_answer_is_no_answer(devices, secret, tmp_path) -> None:
    device = devices.ssh({"show version": "x" * 100_000}, cut_after=0)
    where = target(device, trusting(tmp_path, device), secret)
    for protocol in ("ssh", "netconf"):
        error = refused(where, protocol)
        assert (error.kind, error.again) == ("lost", True), str(error)


def test_an_answer_that_does_not_come_in_time_is_given_up(devices, secret, tmp_path) -> None:
    device = devices.ssh({"show version": "x"}, late_s=60)
    where = target(device, trusting(tmp_path, device), secret, answer_s=0.5)
    assert [refused(where, one).kind for one in ("ssh", "netconf")] == ["late", "late"]


def test_nothing_listens(devices, secret, tmp_path) -> None:
    device = devices.ssh({})
    where = target(device, trusting(tmp_path, device), secret)
    where.way.ports.update(dict.fromkeys(PORTS, 1))
    for protocol in PORTS:
        error = refused(
            where, protocol, Question("x", "json", dict.fromkeys(PORTS, "show version") | {"restconf": "a:b"})
        )
        assert (error.kind, error.again) == ("unreachable", True), protocol


def test_an_answer_without_end_is_cut_off(devices, secret, tmp_path, monkeypatch) -> None:
    device = devices.ssh({"show version": "x" * 300_000})
    for module in ("failure", "netconf", "web"):
        monkeypatch.setattr(f"railweave.live.reach.{module}.MOST_BYTES", 100_000)
    where = target(device, trusting(tmp_path, device), secret)
    assert refused(where, "ssh").kind == "refused"
    assert refused(where, "netconf").kind in {"refused", "lost"}
    assert failure.complaint("") is None


def test_a_device_behind_a_jump_host(devices, secret, tmp_path) -> None:
    jump, device, web = devices.ssh({}), devices.ssh({"show version": "x"}), devices.web({"show version": '{"a": 1}'})
    known = trusting(tmp_path, jump, device)
    through = MachineLogin("127.0.0.1", USER, dict.fromkeys(PORTS, jump.port), password=secret, known_hosts=known)
    assert ask(target(device, known, secret, jump=through), "ssh", SHOW) == ["x"]
    asked = Question("version", "json", {"eapi": "show version"})
    assert json.loads(ask(target(web, known, secret, jump=through), "eapi", asked)[0]) == {"a": 1}
    assert jump.forwarded == 2
    only = tmp_path / "only"
    only.write_text(device.known())
    unknown = replace(through, known_hosts=only)
    assert refused(target(device, known, secret, jump=unknown), "ssh").kind == "host key"


@pytest.mark.parametrize("chunked", [False, True])
def test_netconf_gives_what_a_command_answers(devices, secret, tmp_path, chunked) -> None:
    body = '<system-information><host-name a="1">leaf1 &amp; x</host-name></system-information>'
    device = devices.ssh(
        {"show system information": body, "get-configuration set": 'set a\nset b "<x> & y"\n', "show log": "a < b\n"},
        chunked=chunked,
    )
    where = target(device, trusting(tmp_path, device), secret)
    system = Question("system", "xml", {"netconf": "show system information"})
    running = Question("configuration", "text", {"netconf": "get-configuration set"})
    log = Question("log", "text", {"netconf": "show log"})
    xml, text, logged = ask(where, "netconf", system, running, log)
    assert xml.startswith("<rpc-reply")
    assert body in xml
    assert text == 'set a\nset b "<x> & y"\n'
    assert logged == "a < b\n"
    assert refused(where, "netconf").kind == "refused"
    assert device.asked == ["show system information", "get-configuration set", "show log", "show version"]


def test_eapi_gives_json_and_text(devices, secret) -> None:
    device = devices.web(
        {
            "show version": '{"modelName": "x"}',
            "show bgp neighbors vrf all revision 2": "{}",
            "show running-config": "hostname x\n",
        }
    )
    where = target(device, None, secret)
    questions = [
        Question("version", "json", {"eapi": "show version"}),
        Question("bgp-neighbors", "json", {"eapi": "show bgp neighbors vrf all"}, revision=2),
        Question("configuration", "text", {"eapi": "show running-config"}),
    ]
    first, second, third = ask(where, "eapi", *questions)
    assert (json.loads(first), json.loads(second), third) == ({"modelName": "x"}, {}, "hostname x\n")
    error = refused(where, "eapi", Question("x", "json", {"eapi": "show nonsense"}))
    assert (error.kind, str(error)) == ("refused", "CLI command 1 of 1 'show nonsense' failed: invalid command")


def test_eapi_that_answers_garbage_or_ends_is_an_error(devices, secret, monkeypatch) -> None:
    asked = Question("version", "json", {"eapi": "show version"})
    garbage = devices.web({"show version": "garbage \x00\x1b[2J"})
    assert refused(target(garbage, None, secret), "eapi", asked).kind == "refused"
    cut = devices.web({"show version": '{"a": "long enough to be cut"}'}, cut_after=0)
    assert refused(target(cut, None, secret), "eapi", asked).kind == "lost"
    late = devices.web({"show version": "{}"}, late_s=60)
    assert refused(target(late, None, secret, answer_s=0.5), "eapi", asked).kind == "late"
    monkeypatch.setenv("WRONG", "not-it")
    assert refused(target(late, None, Password("env", "WRONG")), "eapi", asked).kind == "login"


def test_restconf_only_fetches(devices, secret) -> None:
    device = devices.web({"openconfig-lldp:lldp/interfaces": '{"a": 1}'})
    where = target(device, None, secret)
    there = Question("lldp-neighbors", "json", {"restconf": "openconfig-lldp:lldp/interfaces"})
    missing = Question("queues", "json", {"restconf": "openconfig-qos:qos"})
    assert ask(where, "restconf", there, missing) == ['{"a": 1}', "{}\n"]


def test_a_certificate_that_nobody_vouches_for_is_refused(devices, secret, tmp_path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "leaf1")])
    begin = datetime(2020, 1, 1, tzinfo=UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, begin, begin + timedelta(days=36500))
    certificate = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True).sign(
        key, hashes.SHA256()
    )
    chain, private = tmp_path / "chain.pem", tmp_path / "key.pem"
    chain.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    private.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, private)
    device = devices.web({"show version": "{}"}, tls=context)
    asked = Question("version", "json", {"eapi": "show version"})
    way = MachineLogin("127.0.0.1", USER, dict.fromkeys(PORTS, device.port), password=secret)
    error = refused(Target("leaf1", ("eapi",), way), "eapi", asked)
    assert error.kind == "host key"
    assert "certificates" in error.fix
    assert device.logins == 0
    trusted = Target("leaf1", ("eapi",), replace(way, certificates=chain))
    assert json.loads(ask(trusted, "eapi", asked)[0]) == {}


def test_plain_http_is_for_this_machine_alone(secret) -> None:
    where = Target("leaf1", ("eapi",), MachineLogin("192.0.2.1", USER, password=secret, tls=False))
    error = refused(where, "eapi", Question("version", "json", {"eapi": "show version"}))
    assert error.kind == "not asked"


@pytest.mark.parametrize("protocol", ["ssh", "netconf", "eapi", "restconf"])
def test_nothing_is_sent_that_could_change_a_device(devices, secret, tmp_path, protocol) -> None:
    device = devices.ssh({}) if protocol in {"ssh", "netconf"} else devices.web({})
    where = target(device, trusting(tmp_path, device), secret)
    harmful = Question("x", "text", dict.fromkeys(PORTS, "request system reboot; reload"))
    assert refused(where, protocol, harmful).kind == "not asked"
    assert device.asked == []


def test_a_command_on_this_machine() -> None:
    clock = Question("clock", "text", {"ssh": "date -u +%s"})
    show = Question("version", "text", {"ssh": "vtysh -c 'show version'"})
    here = Command({"vtysh": ["printf", "%s|"], "": ["env", "LC_ALL=C"]})
    assert asyncio.run(here.ask(clock)).strip().isdecimal()
    assert asyncio.run(here.ask(show)) == "vtysh|-c|show version|"
    for command, kind in (
        (Command({"": ["sleep", "60", "#"]}, limit=0.3), "refused"),
        (Command({"": ["no-such-program"]}), "unreachable"),
        (Command({"": ["sh", "-c", "echo bgpd is not running >&2"]}), "refused"),
        (Command({"": ["sh", "-c", "echo '% Unknown command'"]}), "refused"),
        (Command({"": ["sh", "-c", "sleep 60"]}, limit=0.3), "late"),
    ):
        with pytest.raises(ReachError) as caught:
            asyncio.run(command.ask(clock))
        assert caught.value.kind == kind
    with pytest.raises(ReachError, match="read only"):
        asyncio.run(here.ask(Question("x", "text", {"ssh": "reboot"})))


def test_a_password_is_not_printed(secret) -> None:
    assert PASSWORD not in repr(MachineLogin("192.0.2.1", USER, password=secret))
