#!/bin/sh
# Installs the Debian packages named as arguments that are missing; elsewhere says what is needed.
# Quiet and quick when nothing is: `make` calls it before the first build of a checkout.
set -e
missing=
for package in "$@"; do
  if ! dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed'; then
    missing="$missing $package"
  fi
done
[ -n "$missing" ] || exit 0
if ! command -v apt-get >/dev/null 2>&1; then
  echo "Lucerna needs these (named as Debian names them); install them and call make again:" >&2
  echo " $missing" >&2
  exit 1
fi
as_root=
if [ "$(id -u)" -ne 0 ]; then
  as_root=sudo
  if ! command -v sudo >/dev/null 2>&1; then
    echo "As root: apt-get install$missing" >&2
    exit 1
  fi
fi
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086
if ! apt-cache show $missing >/dev/null 2>&1; then
  $as_root apt-get update -qq
fi
install() {
  # shellcheck disable=SC2086
  $as_root apt-get install -y -qq -o Dpkg::Use-Pty=0 --no-install-recommends $missing \
    </dev/null >/dev/null
}
# The lists may be old: once more with new ones.
install || { $as_root apt-get update -qq && install; }
