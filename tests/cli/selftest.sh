#!/usr/bin/env bash
# The selftest passes where all is right, and tells of kernels that are wrong, hang or crash, and goes on with the rest.
#   tests/cli/selftest.sh SMEM KERNEL_FOLDER CMAKE
# The kernels are broken in copies of their folder, for PoCL, where a kernel's crash and endless loop are its process's.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
smem="$1" kernels="$2" cmake="$3"
export TMPDIR="$folder/tmp"
mkdir "$TMPDIR"
unset SMEM_DEVICE SMEM_CLAMP SMEM_KERNEL_DIR

# field FILE NAMES...: a member of a JSON file, which must be valid
field() {
  local file="$1"
  shift
  cat >"$folder/field.cmake" <<'END'
file(READ "${FILE}" text)
string(JSON value GET "${text}" ${NAMES})
message(NOTICE "${value}")
END
  "$cmake" "-DFILE=$file" "-DNAMES=$(IFS=';'; echo "$*")" -P "$folder/field.cmake" 2>&1
}

# selftest NAME ARGUMENTS...: sets code, and text to what it printed
selftest() {
  local name="$1"
  shift
  code=0
  text=$("$smem" selftest --quick --report "$folder/$name" "$@" 2>&1) || code=$?
  [ -z "$(ls -A "$TMPDIR")" ] || fail "left: $(ls "$TMPDIR")"
}

# broken NAME REPLACEMENT: from now on histogram / global runs this before its first line
broken() {
  export SMEM_KERNEL_DIR="$folder/$1_kernels"
  cp -r "$kernels" "$SMEM_KERNEL_DIR"
  sed -i "s|^  const bin_rule rule|  $2\n&|" "$SMEM_KERNEL_DIR/histogram/global.cl"
  ! cmp -s "$kernels/histogram/global.cl" "$SMEM_KERNEL_DIR/histogram/global.cl" || fail 'nothing was broken'
}

# is_told VERDICT: histogram / global alone is not right; its test's other variants ran, and the other tests
is_told() {
  [ "$code" = 1 ] || fail "exit code $code: $text"
  expect "$text" "^$1 small: histogram"
  expect "$text" "^  $1 histogram / global, float32"
  expect "$text" '^histogram +cached +1 '
  expect "$text" '^histogram +cpu +2 '
  expect "$text" '^(avg|max)_pool2d .* [1-9] '
  expect "$text" "^FAILED: 2 test cases: 1 passed, 1 $1"
  expect "$(cat "$folder/$1.txt")" "^$1 small: histogram"
  [ "$(field "$folder/$1.json" good)" = OFF ] || fail "$(field "$folder/$1.json" good)"
  [ "$(field "$folder/$1.json" tests 0 failures 0 outcome)" = "$1" ] || fail 'no failure in the report'
}

expect "$("$smem" selftest --list --quick pool)" '^pool +small: pool$'
expect "$("$smem" selftest --list --quick separable)" 'small: separable$'
refuse "$("$smem" selftest --list)" 'bad input|plan of|program cache|large:'
code=0; "$smem" selftest nosuch >/dev/null 2>&1 || code=$?
[ "$code" = 2 ] || fail "exit code $code for an unknown operation"
code=0; "$smem" selftest --quick --device nosuch --report "$folder/none" pool >/dev/null 2>&1 || code=$?
[ "$code" = 1 ] || fail "exit code $code for an unknown device"
selftest none/none pool
[ "$code" = 1 ] || fail "exit code $code without a folder for the report"
expect "$text" '--report'

selftest good pool
[ "$code" = 0 ] || fail "exit code $code: $text"
expect "$text" '^passed: 1 test case: 1 passed; [0-9]+ cases'
[ "$(field "$folder/good.json" good)" = ON ] || fail "$(field "$folder/good.json" good)"
[ -n "$(field "$folder/good.json" device driver)" ] || fail 'no driver'
[ "$(field "$folder/good.json" counts 0 operation)" = global_avg_pool ] || fail 'no operation'
expect "$(cat "$folder/good.txt")" '^platform '
refuse "$(cat "$folder/good.txt")" INCOMPLETE

broken wrong 'if (get_global_id(0) == 0) ++out[out_offset];'
selftest failed histogram pool
is_told failed
expect "$text" 'expected'

"$smem" devices --json | grep -q 'Portable Computing Language' || exit 0
broken endless 'while (true) {}'
selftest hung histogram pool --time-limit 15  # what is right has ended by then on a busy machine too
is_told hung
expect "$text" 'nothing began or ended for 15 s'

# An interrupt ends the children and leaves a report of what there was.
code=0
timeout --preserve-status -s INT 2 "$smem" selftest --quick --report "$folder/cut" histogram >/dev/null 2>"$folder/errors" || code=$?
[ "$code" = 130 ] || fail "exit code $code after SIGINT: $(cat "$folder/errors")"
expect "$(cat "$folder/errors")" 'interrupted: .*0 of 1 test case'
expect "$(cat "$folder/cut.txt")" INCOMPLETE
[ "$(field "$folder/cut.json" complete)" = OFF ] || fail 'a report that is cut says that it is complete'
[ -z "$(ls -A "$TMPDIR")" ] || fail "left: $(ls "$TMPDIR")"
left=$(env -u SMEM_KERNEL_DIR grep -sl "$folder" /proc/[0-9]*/environ || true)
[ -z "$left" ] || fail "a child is left: $left"

broken wild '*(volatile global uint*)16 = 1;'
selftest crashed histogram pool
is_told crashed
expect "$text" 'SIGSEGV'
