#!/bin/sh
# install_missing.sh PACKAGE...: installs with apt what is not there yet; asks for root, or sudo, only then.
set -eu
missing=''
for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
sudo=''
[ "$(id -u)" = 0 ] || sudo=sudo
echo "installing:$missing" >&2
# one at a time: of two lanes of .ci/run, and of programs such as unattended-upgrades, the second one waits
# shellcheck disable=SC2086
$sudo env DEBIAN_FRONTEND=noninteractive flock /var/lib/dpkg sh -c \
    'apt-get update -qq && apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=600 "$@"' sh $missing
