#!/usr/bin/env bash
# Bad input: exit code 2, one line that names the word, nothing on the output, and at most a second of processor time.
#   tests/cli/bad_input.sh SMEM
set -euo pipefail
source "$(dirname "$0")/lib.sh"
smem="$1"

# bad WORD ARGUMENTS...: the word is the one that is named.
bad() {
  local word="$1" code=0
  shift
  (
    ulimit -t 1
    exec "$smem" "$@"
  ) >"$folder/output" 2>"$folder/errors" </dev/null || code=$?
  [ "$code" = 2 ] || fail "smem $*: exit code $code: $(cat "$folder/errors")"
  [ ! -s "$folder/output" ] || fail "smem $*: prints $(cat "$folder/output")"
  [ "$(wc -l <"$folder/errors")" = 1 ] || fail "smem $*: not one line: $(cat "$folder/errors")"
  grep -qE '^smem: ' "$folder/errors" || fail "smem $*: $(cat "$folder/errors")"
  grep -qF -- "$word" "$folder/errors" || fail "smem $*: \"$word\" is not named: $(cat "$folder/errors")"
}

bad nosuch nosuch
bad --nosuch --nosuch
for command in bench explain ladder roofline tune cache completion; do bad nosuch "$command" nosuch; done
for command in devices selftest man; do bad --nosuch "$command" --nosuch; done
bad --nosuch explain --nosuch
bad --nosuch cache --nosuch
bad --report bench --goals-small --report
bad --compare bench --compare one
bad 3x bench transpose 3x
bad --nosuch bench transpose 3x4 --nosuch
bad abc bench sort abc
bad nosuch bench sort 100 nosuch
bad -1 bench top_k 100 --k=-1
bad half3 bench softmax 3x4 half3
bad nosuch bench norm 3x4 --op nosuch
bad 7 bench rotary 7
bad 2x2x21 bench attention 2x2x21
bad nosuch explain attention 2x2x21x40 half --variant nosuch
bad --minutes tune sort --minutes x
