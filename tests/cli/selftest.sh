#!/usr/bin/env bash
# The selftest passes where all is right, and tells of kernels that are wrong, hang or crash, and goes on with the rest.
#   tests/cli/selftest.sh SMEM KERNEL_FOLDER CMAKE
# The kernels are broken in copies of their folder, for PoCL, where a kernel's crash and endless loop are its process's.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
smem="$1" kernels="$2" cmake="$3"
export TMPDIR="$folder/tmp"
mkdir "$TMPDIR"
export SMEM_TUNING_DIR="$folder/tuning"
unset SMEM_DEVICE SMEM_CLAMP SMEM_KERNEL_DIR SMEM_FAILURES

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

# broken NAME REPLACEMENT: from now on moving_mean / blocks, which plans choose for wide windows, runs this before its first line
broken() {
  export SMEM_KERNEL_DIR="$folder/$1_kernels"
  cp -r "$kernels" "$SMEM_KERNEL_DIR"
  sed -i "s|^  global SUM \*ends|  $2\n&|" "$SMEM_KERNEL_DIR/moving_mean/blocks.cl"
  ! cmp -s "$kernels/moving_mean/blocks.cl" "$SMEM_KERNEL_DIR/moving_mean/blocks.cl" || fail 'nothing was broken'
}

# is_told VERDICT: moving_mean / blocks alone is not right; its test's other variants ran, and the other tests
is_told() {
  [ "$code" = 1 ] || fail "exit code $code: $text"
  expect "$text" "^$1 small: moving mean"
  expect "$text" "^  $1 moving_mean / blocks, float32"
  expect "$text" '^moving_mean +(cpu|tiled) +1 '
  expect "$text" '^(avg|max)_pool2d .* [1-9] '
  expect "$text" "^FAILED: 2 test cases: 1 passed, 1 $1"
  expect "$(cat "$folder/$1.txt")" "^$1 small: moving mean"
  [ "$(field "$folder/$1.json" good)" = OFF ] || fail "$(field "$folder/$1.json" good)"
  [ "$(field "$folder/$1.json" tests 1 failures 0 outcome)" = "$1" ] || fail 'no failure in the report'
}

expect "$("$smem" selftest --list --quick pool)" '^pool +small: pool$'
expect "$("$smem" selftest --list --quick separable)" 'small: separable$'
refuse "$("$smem" selftest --list)" 'bad input|plan of|program cache|large:'
code=0; "$smem" selftest nosuch >/dev/null 2>&1 || code=$?
[ "$code" = 2 ] || fail "exit code $code for an unknown operation"
code=0; "$smem" selftest --quick --device nosuch --report "$folder/none" pool >/dev/null 2>&1 || code=$?
[ "$code" = 2 ] || fail "exit code $code for an unknown device"
selftest none/none pool
[ "$code" = 2 ] || fail "exit code $code without a folder for the report"
expect "$text" '--report'

selftest good pool
[ "$code" = 0 ] || fail "exit code $code: $text"
expect "$text" '^passed: 1 test case: 1 passed; [0-9]+ cases'
[ "$(field "$folder/good.json" good)" = ON ] || fail "$(field "$folder/good.json" good)"
[ -n "$(field "$folder/good.json" device driver)" ] || fail 'no driver'
[ "$(field "$folder/good.json" counts 0 operation)" = global_avg_pool ] || fail 'no operation'
expect "$(cat "$folder/good.txt")" '^platform '

# The quick selftest runs the variants that plans choose here, and says how many that are.
selftest chosen histogram
[ "$code" = 0 ] || fail "exit code $code: $text"
expect "$text" '^variants: [1-9][0-9]* of [0-9]+, those that plans choose on this device'
expect "$(cat "$folder/chosen.txt")" '^variants +[1-9][0-9]* of [0-9]+, those that plans choose'
chosen=$("$smem" explain histogram 16777216 --json | sed -n 's/.*"variant": *"\([a-z_0-9]*\)".*/\1/p' | head -1)
expect "$text" "^histogram +$chosen +[1-9]"
refuse "$text" '^histogram +global '
expect "$(field "$folder/chosen.json" variants histogram tested)" "\"$chosen\""
expect "$(field "$folder/chosen.json" variants histogram left_out)" '"global"'
refuse "$(cat "$folder/good.txt")" INCOMPLETE

# Kernels run under the lock on the device where processes share one; another has it here until one waits.
tests="$(dirname "$smem")/../../tests/smem_tests"
flock "$folder/device.lock" bash -c 'for i in {1..600}; do ! grep -qs waits "$0" || exit 0; sleep 0.1; done' "$folder/lines" &
while flock --nonblock "$folder/device.lock" true; do sleep 0.05; done
SMEM_TEST_DEVICE_LOCK="$folder/device.lock" SMEM_TEST_REPORT="$folder/lines" "$tests" --test-case='small: pool' >/dev/null ||
  fail 'not right under a lock'
states=$(sed -n 's/^{"device":"\(.*\)"}$/\1/p' "$folder/lines" | uniq | tr '\n' ' ')
expect "$states" '^waits (runs idle )+$'

# How test cases are spread over processes, with a test program that is a script: for each test case it runs what stands
# under its name in $folder/tests, with the file to report to as $1 and the test cases before as $2.
mkdir -p "$folder/host/cli" "$folder/tests"
cp "$smem" "$folder/host/cli/smem"
cat >"$folder/tests/smem_tests" <<'END'
#!/usr/bin/env bash
cd "$(dirname "$0")"
if [[ " $* " == *' --list-test-cases '* ]]; then
  for name in case_*; do echo "<TestCase name=\"$name\" filename=\"pool.cpp\"/>"; done
  exit
fi
before=
while IFS=$'\t' read -r report name; do
  [ ! -s "$report" ] || { echo 1 >&0; continue; }  # after a process that was lost
  echo '{"case": 0, "begin": "text", "operation": "pool", "variant": "naive", "type": "half"}' >>"$report"
  code=0
  bash "$name" "$report" "$before" || code=$?
  echo '{"case": 0, "outcome": "passed", "why": "", "seconds": 0}' >>"$report"
  before+=$name
  echo "$code" >&0
done
END
chmod +x "$folder/tests/smem_tests"

# scripted NAME ARGUMENTS...: as selftest, of the scripts that are there, which then go
scripted() {
  local smem="$folder/host/cli/smem"
  selftest "$@"
  rm "$folder"/tests/case_*
}

for name in a b c; do  # each waits for the others
  echo "touch \"$folder/$name.here\"; for i in {1..300}; do ls $folder/{a,b,c}.here && exit 0; sleep 0.1; done; exit 1" >"$folder/tests/case_$name"
done
scripted beside --processes 3
[ "$code" = 0 ] || fail "exit code $code of test cases side by side: $text"
expect "$text" '^passed: 3 test cases: 3 passed; 3 cases: 3 passed'

echo 'exit 0' >"$folder/tests/case_a"
echo '[ -z "$2" ]' >"$folder/tests/case_b"  # not right where another ran before
echo '[ -z "$2" ]' >"$folder/tests/case_c"
scripted after --processes 1
[ "$code" = 1 ] || fail "exit code $code: $text"
expect "$text" '^failed case_b: right when run alone, not in a process that had run case_a$'
expect "$text" '^failed case_c: right when run alone, not in a process that had run case_b$'
expect "$text" '^FAILED: 3 test cases: 1 passed, 2 failed; 3 cases: 3 passed'

# On a terminal: how many are done, and when the rest will be.
if command -v script >/dev/null && script -qec true /dev/null </dev/null >/dev/null 2>&1; then
  for name in a b c d; do echo 'sleep 0.5' >"$folder/tests/case_$name"; done
  text=$(TERM=xterm script -qec "'$folder/host/cli/smem' selftest --quick --processes 1 --report '$folder/progress'" /dev/null </dev/null)
  rm "$folder"/tests/case_*
  expect "$text" '\[=+ *\] 2/4 .*about [0-9]+ s left; case_c'
  expect "$text" ': 4 test cases: 4 passed'
fi

echo 'sleep 4' >"$folder/tests/case_a"  # for memory, or a core
echo 'echo "{\"device\": \"waits\"}" >>"$1"; sleep 4; echo "{\"device\": \"runs\"}" >>"$1"' >"$folder/tests/case_b"
echo 'echo "{\"device\": \"runs\"}" >>"$1"; sleep 60' >"$folder/tests/case_c"
scripted waits --processes 3 --time-limit 2
[ "$code" = 1 ] || fail "exit code $code: $text"
expect "$text" '^hung case_c: nothing began or ended for 2 s'
expect "$text" '^FAILED: 3 test cases: 2 passed, 1 hung'

broken wrong 'return;'
selftest failed moving_mean pool --remember
is_told failed
expect "$text" 'expected'
expect "$text" '^plans avoid moving_mean / blocks, float32$'

# Plans avoid it, and the selftest, below, runs it.
expect "$("$smem" explain moving_mean 3000003 float --window 2000001)" 'blocks .*failed smem selftest on 20[0-9-]+, driver '
code=0; text=$("$smem" explain moving_mean 3000003 float --window 2000001 --variant blocks 2>&1) || code=$?
[ "$code" = 2 ] || fail "exit code $code: $text"
expect "$text" 'variant: .*failed smem selftest on '
refuse "$(SMEM_FAILURES=0 "$smem" explain moving_mean 3000003 float --window 2000001)" 'failed smem selftest'

"$smem" devices --json | grep -q 'Portable Computing Language' || exit 0
broken endless 'while (true) {}'
selftest hung moving_mean pool --time-limit 5
is_told hung
expect "$text" 'nothing began or ended for 5 s'
expect "$("$smem" selftest --forget)" '^plans avoid nothing any more$'
refuse "$("$smem" explain moving_mean 3000003 float --window 2000001)" 'failed smem selftest'
expect "$("$smem" selftest --forget)" '^nothing was kept$'

# An interrupt ends the children and leaves a report of what there was.
for seconds in 2 5 20; do  # a busy machine may not have begun
  code=0
  timeout --preserve-status -s INT $seconds "$smem" selftest --quick --report "$folder/cut" moving_mean >/dev/null 2>"$folder/errors" || code=$?
  [ ! -s "$folder/errors" ] || break
done
[ "$code" = 130 ] || fail "exit code $code after SIGINT: $(cat "$folder/errors")"
expect "$(cat "$folder/errors")" 'interrupted: .*0 of 1 test case'
expect "$(cat "$folder/cut.txt")" INCOMPLETE
[ "$(field "$folder/cut.json" complete)" = OFF ] || fail 'a report that is cut says that it is complete'
[ -z "$(ls -A "$TMPDIR")" ] || fail "left: $(ls "$TMPDIR")"
left=$(env -u SMEM_KERNEL_DIR grep -sl "$folder" /proc/[0-9]*/environ || true)
[ -z "$left" ] || fail "a child is left: $left"

broken wild '*(volatile global uint*)16 = 1;'
selftest crashed moving_mean pool --processes 1
is_told crashed
expect "$text" 'SIGSEGV'
