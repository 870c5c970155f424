#!/usr/bin/env bash
# Make a root folder with a NetBox or Nautobot server in it, for the trial of that name:
#   tools/inventory-server.sh netbox|nautobot DIR [VERSION]
#
# Debian trixie's PostgreSQL, Redis and Python 3.13, and the server from PyPI, with a database that has every table. The migrations
# take some minutes of one processor. Needs root and a Debian-like system; says why where it cannot. Afterwards nothing runs, and
# DIR/srv/fresh.tar is the empty database, from which each run of the trial starts.
set -euo pipefail

usage="usage: tools/inventory-server.sh netbox|nautobot DIR [VERSION]"
product=${1:?$usage}
target=$(realpath -m "${2:?$usage}")
cd "$(dirname "$0")/.."
case "$product" in
  netbox) version=${3:-4.7.3} extra=() ;;
  nautobot) version=${3:-3.2.7} extra=(gunicorn) ;;
  *) echo "$usage" >&2; exit 1 ;;
esac
skip() { echo "$product: skipped: $1" >&2; exit 0; }

[ -e "$target/srv/fresh.tar" ] && { echo "$product: $target is there already"; exit 0; }
# `mv` would move the new root folder into one that exists.
if [ -e "$target" ]; then
  echo "$product: $target exists and is not what this script makes: nothing was changed; name a folder that does not exist" >&2
  exit 1
fi
[ "$(id -u)" = 0 ] || skip "making a root folder needs root (sudo $0 $product $target)"
command -v mmdebstrap >/dev/null || skip "mmdebstrap is not installed (src/railweave/live/lab/frr/frr-root.sh installs it)"

root="$target.partial"
if [ ! -x "$root/usr/bin/redis-server" ]; then
  if [ -e "$root" ] && [ ! -f "$root/etc/debian_version" ] && [ -n "$(ls -A "$root")" ]; then
    echo "$product: $root exists and is not what this script makes: nothing was changed; move it away" >&2
    exit 1
  fi
  rm -rf "$root"
  mkdir -p "$(dirname "$target")"
  src/railweave/live/lab/frr/debian-root.sh "$root" trixie python3-venv,postgresql,redis-server,libpq5,ca-certificates || skip "no root folder could be made"
  chmod 755 "$root"
fi

# Python packages come through the authorities and resolvers that this machine uses.
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
cp -L /etc/hosts "$root/etc/hosts"
cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
home=/opt/$product
python=$home/bin/python
pip=("$python" -m pip install -qq --disable-pip-version-check)
chroot "$root" python3 -m venv "$home"
# The version of the lock comes with its hashes; any other version comes as pip finds it.
if grep -q "^$product==$version " requirements/$product.lock; then
  cp "requirements/$product.lock" "$root/srv/requires.txt"
  cp requirements/sdist.lock "$root/srv/"
  { chroot "$root" "${pip[@]}" --require-hashes -r /srv/sdist.lock &&
    chroot "$root" "${pip[@]}" --require-hashes --no-build-isolation -r /srv/requires.txt; } || skip "$product $version could not be installed"
else
  echo "$product: requirements/$product.lock has a version other than $version: its packages are not pinned" >&2
  chroot "$root" "${pip[@]}" --no-deps "$product==$version" || skip "$product $version could not be installed"
  # The C part of psycopg would need a compiler in this root; its binary wheel does the same.
  chroot "$root" "$python" - "$product" > "$root/srv/requires.txt" <<'PY'
import sys
from importlib.metadata import requires
for line in requires(sys.argv[1]):
    if "extra ==" not in line:
        print(line.replace("psycopg[c,pool]", "psycopg[binary,pool]"))
PY
  chroot "$root" "${pip[@]}" -r /srv/requires.txt "${extra[@]}" || skip "the packages that $product needs could not be installed"
fi

mkdir -p "$root$home/conf"
cat > "$root/srv/common.py" <<PY
ALLOWED_HOSTS = ["*"]
DATABASES = {"default": {"ENGINE": "django.db.backends.postgresql", "NAME": "$product", "USER": "postgres", "PASSWORD": "", "HOST": "127.0.0.1", "PORT": 5433, "CONN_MAX_AGE": 300}}
SECRET_KEY = "x" * 60
PY
case "$product" in
  netbox) cat "$root/srv/common.py" - > "$root$home/conf/configuration.py" <<'PY'
REDIS = {name: {"HOST": "127.0.0.1", "PORT": 6390, "DATABASE": number, "SSL": False} for number, name in enumerate(("tasks", "caching"))}
API_TOKEN_PEPPERS = {1: "y" * 60}
CENSUS_REPORTING_ENABLED = False
PY
  migrate="$home/bin/netbox migrate --no-input" ;;
  # Git is for repositories of jobs only, and is not in this root.
  nautobot) cat - "$root/srv/common.py" > "$root$home/nautobot_config.py" <<'PY'
import os
os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")
from nautobot.core.settings import *
CACHES["default"]["LOCATION"] = "redis://127.0.0.1:6390/1"
CELERY_BROKER_URL = "redis://127.0.0.1:6390/0"
INSTALLATION_METRICS_ENABLED = False
PY
  migrate="env NAUTOBOT_ROOT=$home $home/bin/nautobot-server --config $home/nautobot_config.py migrate --no-input" ;;
esac
cat > "$root/srv/migrate.sh" <<SH
set -euo pipefail
bin=\$(echo /usr/lib/postgresql/*/bin)
rm -rf /srv/pg
install -d -o postgres /srv/pg
chmod 1777 /run
su postgres -c "\$bin/initdb -A trust -E UTF8 -D /srv/pg > /dev/null"
printf '%s\n' "listen_addresses = '127.0.0.1'" 'port = 5433' "unix_socket_directories = '/run'" \
  'fsync = off' 'synchronous_commit = off' 'full_page_writes = off' >> /srv/pg/postgresql.conf
su postgres -c "\$bin/pg_ctl -w -D /srv/pg -l /srv/pg/log start > /dev/null"
su postgres -c 'createdb -h 127.0.0.1 -p 5433 $product'
redis-server --port 6390 --bind 127.0.0.1 --daemonize yes --dir /run --save '' > /dev/null
$migrate > /srv/migrations.txt
su postgres -c "\$bin/pg_ctl -w -D /srv/pg stop > /dev/null"
redis-cli -p 6390 shutdown nosave
cd /srv
tar cf fresh.tar pg
SH
# In a network namespace: the servers listen on its loopback only.
nice unshare --net --mount --pid --fork --kill-child bash -c "ip link set lo up && mount -t proc proc '$root/proc' && exec chroot '$root' bash /srv/migrate.sh" \
  || skip "the tables could not be made"
mv "$root" "$target"
echo "$product: made $target"
