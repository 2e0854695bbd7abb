#!/usr/bin/env bash
# Installs the Debian packages of tools/packages.txt that are missing: `tools/setup.sh run` what ./tessera needs,
# `tools/setup.sh test` what ./test needs as well. Says what it does on standard error; nothing to do is silent.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

case "${1:-}" in
  run) tags='run' ;;
  test) tags='run|test' ;;
  *) echo "usage: tools/setup.sh run|test" >&2; exit 2 ;;
esac

if ! command -v dpkg-query >/dev/null; then
  echo "tessera: not a Debian system; tools/packages.txt lists what must be installed" >&2
  exit 0
fi

mapfile -t wanted < <(sed -nE "s/^\[($tags)\] *([^ ]+).*/\2/p" "$here/packages.txt")
installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null | sed -n 's/^installed //p' || true)
missing=()
for package in "${wanted[@]}"; do
  grep -qxF "$package" <<<"$installed" || missing+=("$package")
done
if ((${#missing[@]} == 0)); then exit 0; fi

if [[ $(id -u) != 0 ]]; then
  echo "error: packages are missing; run this as root:" >&2
  echo "  apt-get install -y --no-install-recommends ${missing[*]}" >&2
  exit 2
fi

export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "tessera: installing ${#missing[@]} packages: ${missing[*]}" >&2
# The lists may be stale or absent; without a network the packages may still be in the cache, so only the second counts.
apt-get update -qq >"$log" 2>&1 || true
if ! apt-get install -y -qq --no-install-recommends "${missing[@]}" >>"$log" 2>&1; then
  tail -n 20 "$log" >&2
  echo "error: apt-get could not install the packages" >&2
  echo "  check the network and /etc/apt/sources.list, then try again" >&2
  exit 2
fi
