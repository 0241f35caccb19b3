#!/usr/bin/env bash
# An interrupt in the middle of a benchmark: exit code 130 (143 for SIGTERM), and nothing half written.
#   tests/cli/interrupt.sh SMEM
set -euo pipefail
source "$(dirname "$0")/lib.sh"
smem="$1"
export SMEM_CACHE=0

# interrupted SIGNAL SECONDS ARGUMENTS...: sets code
interrupted() {
  local signal="$1" seconds="$2"
  shift 2
  code=0
  timeout --preserve-status -s "$signal" "$seconds" "$smem" "$@" >"$folder/output" 2>"$folder/errors" || code=$?
}

echo before >"$folder/old.csv"
interrupted INT 1.5 bench transpose --goals --csv "$folder/old.csv"
[ "$code" = 130 ] || fail "exit code $code after SIGINT: $(cat "$folder/errors")"
[ "$(cat "$folder/old.csv")" = before ] || fail 'what stood in the file is lost'
interrupted TERM 1.5 bench transpose --goals --csv "$folder/new.csv"
[ "$code" = 143 ] || fail "exit code $code after SIGTERM"
[ "$(ls "$folder")" = "$(printf 'errors\nold.csv\noutput')" ] || fail "left: $(ls "$folder")"

# Children end too, and their folders go.
export TMPDIR="$folder/tmp"
mkdir "$TMPDIR"
interrupted INT 2 bench first-call --repetitions 100
[ "$code" = 130 ] || fail "exit code $code of a parent"
[ -z "$(ls -A "$TMPDIR")" ] || fail "left: $(ls "$TMPDIR")"

# Without an interrupt the file is there as a whole.
"$smem" bench transpose 65x33 --csv "$folder/old.csv" >/dev/null
[ "$(wc -l <"$folder/old.csv")" -eq 2 ] || fail "$(cat "$folder/old.csv")"
expect "$("$smem" bench transpose 65x33 --csv /dev/stdout)" '^device,'
