#!/usr/bin/env bash
# The manual page has every command, and no program that reads such pages complains. Exit status 77: there is none.
#   tests/cli/man.sh SMEM
set -euo pipefail
source "$(dirname "$0")/lib.sh"
smem="$1"
"$smem" man >"$folder/smem.1"
text=$(cat "$folder/smem.1")
for command in devices explain 'bench transpose' 'cache warm' completion; do
  expect "$text" "^\.SS .fBsmem $command"
done
refuse "$text" 'smem man'
for option in $("$smem" bench scan --help | grep -oE -- '--[a-z-]+'); do
  expect "$text" "^.fB(.*fR, .fB)?${option//-/.-}.fR"
done

found=
if command -v mandoc >/dev/null; then
  found=mandoc
  # It asks for a date, which would make two builds of the same source differ.
  complaints=$(mandoc -T lint -W warning "$folder/smem.1" | grep -v 'missing date' || true)
  [ -z "$complaints" ] || fail "mandoc: $complaints"
fi
if command -v groff >/dev/null; then
  found=groff
  complaints=$(groff -man -ww -Tutf8 -z "$folder/smem.1" 2>&1)
  [ -z "$complaints" ] || fail "groff: $complaints"
fi
if command -v man >/dev/null; then
  found=man
  expect "$(MANWIDTH=80 man -l "$folder/smem.1" 2>/dev/null | col -b 2>/dev/null || true)" 'EXIT STATUS'
fi
[ -n "$found" ] || { echo 'SKIPPED: neither mandoc, groff nor man' >&2; exit 77; }
