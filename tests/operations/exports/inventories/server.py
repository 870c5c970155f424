"""A real NetBox or Nautobot in a network namespace: PostgreSQL, Redis and gunicorn of a root folder of ``tools/inventory-server.sh``.

    with serving(NETBOX) as server:
        server.run("curl", f"{server.url}/api/status/")  # inside the namespace
        server.shell("print(Device.objects.count())")  # Python with the server's models

Each server begins with the empty database. Needs root. The namespace and all processes go away with the context.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import ROOT

PORT = 8001
_STARTS_S = 600
"""Seconds until a server answers, on a machine with other work."""
START = """
set -eu
chmod 1777 /run
chmod 666 /dev/null
rm -rf /srv/pg
tar xf /srv/fresh.tar -C /srv
su postgres -c "$(echo /usr/lib/postgresql/*/bin)/pg_ctl -w -D /srv/pg -l /srv/pg/log start" > /dev/null
redis-server --port 6390 --bind 127.0.0.1 --daemonize yes --dir /run --save '' > /dev/null
cd "$HOME_OF_SERVER"
bin/python -c "$MAKE_USER"
exec bin/gunicorn --bind "127.0.0.1:$PORT" --workers 2 --threads 2 --timeout 600 --log-level warning "$APPLICATION"
"""


@dataclass(frozen=True)
class Program:
    """A kind of server. ``head`` is Python that makes its models usable, and ``user`` makes a user with the token."""

    target: str
    token: str
    head: str
    user: str
    application: str
    environment: Mapping[str, str]

    @property
    def site(self) -> Path:
        """The root folder."""
        name = f"RAILWEAVE_{self.target.upper()}_ROOT"
        return Path(os.environ.get(name, ROOT / ".validators" / self.target))

    def missing(self) -> str:
        """Return the reason why no server can be started here; empty if there is none."""
        if os.geteuid() != 0:
            return "network namespaces need root"
        there = (self.site / "srv" / "fresh.tar").exists()
        return "" if there else f"{self.site} has no server: run tools/inventory-server.sh {self.target} {self.site}"


_USER = """
from django.contrib.auth import get_user_model
from {module} import Token
user = get_user_model().objects.create_superuser("railweave", password="railweave-trial")
"""
NETBOX = Program(
    "netbox",
    "nbt_railweave123.0123456789abcdef0123456789abcdef01234567",  # of a server that lives for a minute
    "import django\ndjango.setup()\n",
    _USER.format(module="users.models")
    + 'Token(user=user, version=2, key="railweave123", token="0123456789abcdef0123456789abcdef01234567").save()',
    "netbox.wsgi",
    {"DJANGO_SETTINGS_MODULE": "netbox.settings"},
)
NAUTOBOT = Program(
    "nautobot",
    "0123456789abcdef0123456789abcdef01234567",
    "import nautobot\nnautobot.setup()\n",
    _USER.format(module="nautobot.users.models")
    + 'Token.objects.create(user=user, key="0123456789abcdef0123456789abcdef01234567")',
    "nautobot.core.wsgi",
    {"NAUTOBOT_ROOT": "/opt/nautobot", "NAUTOBOT_CONFIG": "/opt/nautobot/nautobot_config.py"},
)


@dataclass(frozen=True)
class Server:
    """A running server."""

    program: Program
    namespace: str
    url: str = f"http://127.0.0.1:{PORT}"

    @property
    def environment(self) -> dict[str, str]:
        """The variable of the token."""
        return {f"{self.program.target.upper()}_TOKEN": self.program.token}

    def run(
        self, *argv: str | Path, env: Mapping[str, str] | None = None, check: bool = True, timeout: float = 3600
    ) -> subprocess.CompletedProcess[str]:
        """Run a command inside the namespace. ``env`` is added to its environment."""
        words = ["ip", "netns", "exec", self.namespace, *map(str, argv)]
        done = subprocess.run(
            words, check=False, capture_output=True, text=True, timeout=timeout, env={**os.environ, **(env or {})}
        )
        assert not check or done.returncode == 0, f"{argv}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done

    def railweave(self, *words: str | Path, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run railweave inside the namespace, with the token in its environment."""
        return self.run(sys.executable, "-m", "railweave", *words, env=self.environment, check=check)

    def shell(self, code: str) -> str:
        """Run Python with the server's settings, and give what it printed."""
        program = self.program
        python = f"/opt/{program.target}/bin/python"
        words = ("env", "-C", "/", "chroot", program.site, python, "-c", program.head + code)
        return self.run(*words, env=program.environment).stdout


@contextmanager
def serving(program: Program) -> Iterator[Server]:
    """Start a server with an empty database, and stop it in the end."""
    name = f"rw-{program.target}-{os.getpid()}"
    subprocess.run(["ip", "netns", "add", name], check=True)
    words = ["ip", "netns", "exec", name, "unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private"]  # fmt: skip
    root = program.site
    mounts = f"mount -t proc proc '{root}/proc' && mount -t tmpfs tmpfs '{root}/dev/shm'"  # noqa: S108 - inside the root folder
    environment = {
        **os.environ,
        **program.environment,
        "START": START,
        "HOME_OF_SERVER": f"/opt/{program.target}",
        "MAKE_USER": program.head + program.user,
        "APPLICATION": program.application,
        "PORT": str(PORT),
    }
    log = Path(f"/tmp/{name}.log").open("w+")  # noqa: SIM115, S108 - kept while the server runs
    process: subprocess.Popen[bytes] | None = None
    try:
        subprocess.run(["ip", "-n", name, "link", "set", "lo", "up"], check=True)
        inside = f'{mounts}; exec chroot "{root}" bash -c "$START"'
        process = subprocess.Popen([*words, "bash", "-c", inside], env=environment, stdout=log, stderr=log)
        server = Server(program, name)
        _until_it_answers(server, process, Path(log.name))
        yield server
    finally:
        if process is not None:
            process.kill()
            process.wait()
        subprocess.run(["ip", "netns", "del", name], check=False)
        log.close()
        Path(log.name).unlink(missing_ok=True)


def _until_it_answers(server: Server, process: subprocess.Popen[bytes], log: Path) -> None:
    scheme = "Bearer" if server.program.token.startswith("nbt_") else "Token"
    asked = ("curl", "-s", "-H", f"Authorization: {scheme} {server.program.token}", f"{server.url}/api/status/")
    end = time.monotonic() + _STARTS_S
    while time.monotonic() < end:
        assert process.poll() is None, log.read_text()
        if f"{server.program.target}-version" in server.run(*asked, check=False).stdout:
            return
        time.sleep(0.5)
    raise AssertionError(f"the server does not answer: {log.read_text()}")
