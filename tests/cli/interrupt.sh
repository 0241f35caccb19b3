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

# ended_after PATTERN ARGUMENTS...: ends it when its output has the pattern; sets code. In the background SIGINT is ignored.
ended_after() {
  local pattern="$1" pid
  shift
  "$smem" "$@" >"$folder/output" 2>"$folder/errors" &
  pid=$!
  for _ in {1..600}; do
    ! grep -qE "$pattern" "$folder/output" || break
    sleep 0.1
  done
  kill -TERM "$pid" || fail "ended by itself: $(cat "$folder/output" "$folder/errors")"
  code=0
  wait "$pid" || code=$?
  [ "$code" = 143 ] || fail "exit code $code after SIGTERM: $(cat "$folder/errors")"
}

# What is measured by then is kept.
ended_after '^333 x 333' bench --goals-small --json "$folder/bench.json" --report "$folder/report.md"
expect "$(cat "$folder/bench.json")" '"case": "333 x 333'
expect "$(cat "$folder/report.md")" '^\| transpose \| 333 x 333'
"$smem" bench --compare "$folder/bench.json" "$folder/bench.json" >/dev/null || fail 'the kept file is not whole'
ended_after '^transpose ' roofline --small --plot "$folder/roof.svg" --json "$folder/roof.json"
expect "$(cat "$folder/roof.svg")" '>transpose<'
expect "$(tail -1 "$folder/roof.svg")" '^</svg>$'
expect "$(cat "$folder/roof.json")" '"operation": "transpose"'

# Without an interrupt the file is there as a whole.
"$smem" bench transpose 65x33 --csv "$folder/old.csv" >/dev/null
[ "$(wc -l <"$folder/old.csv")" -eq 2 ] || fail "$(cat "$folder/old.csv")"
expect "$("$smem" bench transpose 65x33 --csv /dev/stdout)" '^device,'

# Links that lead nowhere stay links: one to a file that is not there yet, and that to a stream that is closed.
ln -s "$folder/made.csv" "$folder/link.csv"
"$smem" bench transpose 65x33 --csv "$folder/link.csv" >/dev/null
[ -L "$folder/link.csv" ] || fail 'a link to a new file was replaced'
expect "$(cat "$folder/made.csv")" '^device,'
ln -s /proc/self/fd/1 "$folder/closed.csv"
"$smem" bench transpose 65x33 --csv "$folder/closed.csv" >&- 2>/dev/null || true
[ -L "$folder/closed.csv" ] || fail 'a link to a closed stream was replaced'
