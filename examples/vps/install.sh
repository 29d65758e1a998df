#!/usr/bin/env bash
# Installs Binnacle on this machine, or upgrades it: install.sh PROGRAM NAME
set -euo pipefail
if [[ $# -ne 2 ]]; then
  echo "usage: install.sh PROGRAM NAME" >&2
  echo "  PROGRAM  the executable of Binnacle" >&2
  echo "  NAME     the DNS name by which clients reach this machine" >&2
  exit 2
fi
program=$1
name=$2
here=$(cd "$(dirname "$0")" && pwd)
unit=${UNIT:-$here/../../packaging/binnacle.service}
# ROOT is another root folder, for a trial.
root=${ROOT:-}

install -D -m 755 "$program" "$root/usr/local/bin/binnacle"
install -D -m 644 "$unit" "$root/etc/systemd/system/binnacle.service"
install -m 644 "$here/binnacle-backup.service" "$here/binnacle-backup.timer" "$root/etc/systemd/system/"
install -d -m 755 "$root/etc/binnacle"
# A configuration that somebody has edited stays.
[[ -e $root/etc/binnacle/config.yaml ]] || sed "s/NAME/$name/" "$here/config.yaml" >"$root/etc/binnacle/config.yaml"
[[ -e $root/etc/binnacle/audit.yaml ]] || install -m 644 "$here/audit.yaml" "$root/etc/binnacle/audit.yaml"
install -d -m 700 "$root/var/backups/binnacle"
if [[ -z $root ]]; then
  systemctl daemon-reload
  systemctl enable --now binnacle-backup.timer
  systemctl enable binnacle
  # It ends when the server is ready.
  systemctl restart binnacle
fi
echo "installed for https://$name:6443"
