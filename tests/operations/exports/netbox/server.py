"""A real NetBox in a network namespace: PostgreSQL, Redis and gunicorn of the root folder that ``tools/netbox.sh`` makes.

    with serving() as netbox:
        netbox.run("curl", f"{netbox.url}/api/status/")  # inside the namespace
        netbox.shell("print(Site.objects.count())")  # Python with NetBox's models

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

SITE = Path(os.environ.get("RAILWEAVE_NETBOX_ROOT", ROOT / ".validators" / "netbox"))
TOKEN = "nbt_railweave123.0123456789abcdef0123456789abcdef01234567"  # noqa: S105 - of a server that lives for a minute
PORT = 8001
START = """
set -eu
chmod 1777 /run
chmod 666 /dev/null
rm -rf /srv/pg
tar xf /srv/fresh.tar -C /srv
su postgres -c "$(echo /usr/lib/postgresql/*/bin)/pg_ctl -w -D /srv/pg -l /srv/pg/log start" > /dev/null
redis-server --port 6390 --bind 127.0.0.1 --daemonize yes --dir /run --save '' > /dev/null
cd /opt/netbox
/opt/netbox/bin/python - <<'PY'
import os
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "netbox.settings")
import django
django.setup()
from django.contrib.auth import get_user_model
from users.models import Token
user = get_user_model().objects.create_superuser("railweave", password="railweave-trial")
Token(user=user, version=2, key="KEY", token="SECRET").save()
PY
exec /opt/netbox/bin/gunicorn --bind 127.0.0.1:PORT --workers 2 --threads 2 --timeout 600 --log-level warning netbox.wsgi
"""


def missing() -> str:
    """Return the reason why no server can be started here; empty if there is none."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    return "" if (SITE / "srv" / "fresh.tar").exists() else f"{SITE} has no NetBox: run tools/netbox.sh {SITE}"


@dataclass(frozen=True)
class Netbox:
    """A running server."""

    namespace: str
    url: str = f"http://127.0.0.1:{PORT}"
    token: str = TOKEN

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
        return self.run(sys.executable, "-m", "railweave", *words, env={"NETBOX_TOKEN": self.token}, check=check)

    def shell(self, code: str) -> str:
        """Run Python with NetBox's settings, and give what it printed."""
        head = 'import os\nos.environ.setdefault("DJANGO_SETTINGS_MODULE", "netbox.settings")\nimport django\ndjango.setup()\n'
        words = ("env", "-C", "/", "chroot", SITE, "/opt/netbox/bin/python", "-c", head + code)
        return self.run(*words).stdout


@contextmanager
def serving() -> Iterator[Netbox]:
    """Start a server with an empty database, and stop it in the end."""
    name = f"rw-netbox-{os.getpid()}"
    subprocess.run(["ip", "netns", "add", name], check=True)
    key, _, secret = TOKEN.removeprefix("nbt_").partition(".")
    script = START.replace("KEY", key).replace("SECRET", secret).replace("PORT", str(PORT))
    words = [
        "ip",
        "netns",
        "exec",
        name,
        "unshare",
        "--mount",
        "--pid",
        "--fork",
        "--kill-child",
        "--propagation",
        "private",
    ]
    mounts = f"mount -t proc proc '{SITE}/proc' && mount -t tmpfs tmpfs '{SITE}/dev/shm'"  # noqa: S108 - inside the root folder
    log = Path(f"/tmp/{name}.log").open("w+")  # noqa: SIM115, S108 - kept while the server runs
    process: subprocess.Popen[bytes] | None = None
    try:
        subprocess.run(["ip", "-n", name, "link", "set", "lo", "up"], check=True)
        inside = f'{mounts}; exec chroot "{SITE}" bash -c "$START"'
        process = subprocess.Popen(
            [*words, "bash", "-c", inside], env={**os.environ, "START": script}, stdout=log, stderr=log
        )
        netbox = Netbox(name)
        _until_it_answers(netbox, process, Path(log.name))
        yield netbox
    finally:
        if process is not None:
            process.kill()
            process.wait()
        subprocess.run(["ip", "netns", "del", name], check=False)
        log.close()
        Path(log.name).unlink(missing_ok=True)


def _until_it_answers(netbox: Netbox, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(240):
        assert process.poll() is None, log.read_text()
        if (
            "netbox-version"
            in netbox.run(
                "curl", "-s", "-H", f"Authorization: Bearer {TOKEN}", f"{netbox.url}/api/status/", check=False
            ).stdout
        ):
            return
        time.sleep(0.5)
    raise AssertionError(f"NetBox does not answer: {log.read_text()}")
