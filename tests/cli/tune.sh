#!/usr/bin/env bash
# smem tune: finds or says that it found nothing, goes on where it ended, survives plans that are wrong, hang or
# crash, and what it keeps is used.
#   tests/cli/tune.sh SMEM KERNELS
set -euo pipefail
source "$(dirname "$0")/lib.sh"
smem="$1" kernels="$2"
export SMEM_TUNING_DIR="$folder/tuning" SMEM_CACHE_DIR="$folder/cache"
unset SMEM_TUNING SMEM_CACHE SMEM_KERNEL_DIR

if "$smem" tune --export 2>"$folder/errors"; then fail 'exported nothing'; fi
expect "$(cat "$folder/errors")" '^smem: nothing to export'

# The first run measures, the second one has all of that, and goes on where the first had no time left; both keep a file if
# something is gained, and else say so.
text=$("$smem" tune flip --small --case horizontal --minutes 0.5 --json "$folder/first.json")
expect "$text" '^operation +case +shipped'
expect "$text" '^flip +512 x 512, 4 B, horizontal .*(x [0-9]+\.|the shipped plan is the best of [0-9]+)'
expect "$text" '^[1-9][0-9]* plans tried, 0 of them in an earlier run'
refuse "$text" $'\x1b'
measured=$(sed -n 's/^\([0-9]*\) plans tried.*/\1/p' <<<"$text")
if grep -q '"best": {' "$folder/first.json"; then
  expect "$text" '^1 of 1 faster than shipped'
  expect "$("$smem" tune --export)" '^PlanOverrides\{\.variant = '
else
  expect "$text" '^Nothing was gained over the shipped plans'
fi
# Both times are there, and what was gained.
expect "$text" '^flip .* [0-9.]+ +[0-9.]+ +(.*: x [0-9]+\.[0-9]|nothing: the shipped plan is the best of ([2-9]|[1-9][0-9]+)\b)'
refuse "$text" 'not measured'
text=$("$smem" tune flip --small --case horizontal --minutes 0.5)
expect "$text" "^[0-9]+ plans tried, $measured of them in an earlier run"

# What others could have written is neither read nor written.
chmod 777 "$SMEM_TUNING_DIR"
if "$smem" tune flip --small --case horizontal 2>"$folder/errors"; then fail 'tuned in a folder of others'; fi
expect "$(cat "$folder/errors")" '/tuning can be written by other users'
chmod 700 "$SMEM_TUNING_DIR"
chmod 666 "$SMEM_TUNING_DIR"/*.measured
text=$("$smem" tune flip --small --case horizontal --minutes 0.1)
expect "$text" '^[0-9]+ plans tried, 0 of them in an earlier run'

# Operations that share a plan have names of their own.
text=$("$smem" tune vecmat --small --minutes 0.1)
expect "$text" '^vecmat +512 x 512 float32 '

# Plans that are wrong, hang or crash are dropped and named; the others are measured.
cp -r "$kernels" "$folder/cl"
sed -i 's/\[j \* out_pitch + i\] = from\[i \* in_pitch + j\]/[j * out_pitch + i] = from[i * in_pitch]/' "$folder/cl/transpose/naive.cl"
sed -i 's/^  const tile_place place/  volatile int spin = 1; while (spin) { }\n&/' "$folder/cl/transpose/skewed.cl"
sed -i 's/get_group_id(0)/((*(global volatile int*)16 = 1), get_group_id(0))/' "$folder/cl/transpose/vector.cl"
for kernel in naive skewed vector; do
  ! cmp -s "$kernels/transpose/$kernel.cl" "$folder/cl/transpose/$kernel.cl" || fail "$kernel was not broken"
done
text=$(SMEM_KERNEL_DIR="$folder/cl" "$smem" tune transpose --small --case '2048 x 2048, 4 B' --minutes 0.05 --limit 4)
expect "$text" 'dropped: naive: wrong: element [0-9]+ of out is'
expect "$text" 'dropped: skewed: hung, or far too slow: no end within 4 s'
expect "$text" 'dropped: vector.*: (crashed: SIG|failed)'

# Where nothing could be measured, the row says so.
code=0
for file in "$folder"/cl/flip/*.cl; do echo "#error broken" >>"$file"; done
text=$(SMEM_KERNEL_DIR="$folder/cl" "$smem" tune flip --small --case vertical --minutes 0.05 2>&1) || code=$?
[ "$code" = 1 ] || fail "exit code $code where no plan runs: $text"
expect "$text" '^flip .* not measured +not measured( |$)'
expect "$text" '(^| )nothing: smem::tune: '

# An interrupt ends it with 130, and what was measured stays.
code=0
timeout --preserve-status -s INT 2 "$smem" tune transpose --small >"$folder/output" 2>&1 || code=$?
[ "$code" = 130 ] || fail "exit code $code after SIGINT: $(cat "$folder/output")"
[ -z "$(find "$SMEM_TUNING_DIR" -name '*.part-*')" ] || fail 'a half written file'

