#!/usr/bin/env bash
# smem ladder and roofline, and files of results: what they print and write, and what two files say of each other.
#   tests/cli/results.sh SMEM
set -euo pipefail
source "$(dirname "$0")/lib.sh"
smem="$1"
export SMEM_CACHE=0

# Every variant of every operation says what it does.
text=$("$smem" ladder)
for operation in transpose reduce scan histogram select gemm stencil separable conv2d pool moving_mean heat; do
  expect "$text" "^$operation\$"
done
refuse "$text" '^  [a-z_0-9]+ *$'

# What is fixed is measured, with a tile or without.
expect "$(SMEM_TRACE=1 "$smem" bench reduce 70001 --variant several --work-items 64 --quick 2>&1)" ' -DGROUP=64 '

# A bar for each variant, and a picture that is well-formed.
text=$("$smem" ladder pool --small --plot "$folder/ladder.svg" --json "$folder/pool.json")
expect "$text" '^windows .* one result after the other'
expect "$text" '^vector .* x [0-9.]+ +several results'
text=$("$smem" roofline pool rotate transpose --small --plot "$folder/roof.svg")
expect "$text" '^max_pool2d +max 2 x 2'
expect "$text" '^transpose .*333 x 333.* none '
expect "$text" '^rotate .*by 90 .* none '
expect "$text" '^copy [0-9.]+ GB/s, fp32 [0-9.]+ GFLOP/s'
refuse "$text" '^scan'
expect "$text" '^Results are not compared here'
text=$("$smem" roofline pool --small --all-variants)  # the fastest, compared
expect "$text" '^max_pool2d +max 2 x 2'
refuse "$text" 'not compared'
for picture in ladder roof; do
  expect "$(head -1 "$folder/$picture.svg")" '^<svg xmlns='
  if command -v python3 >/dev/null; then
    python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$folder/$picture.svg" ||
      fail "$picture.svg is not well-formed"
  fi
done
expect "$(cat "$folder/ladder.svg")" 'The ladder of pool'
# What does no arithmetic has a bar, and no point.
expect "$(cat "$folder/roof.svg")" 'Operations without arithmetic'
for name in transpose rotate; do expect "$(cat "$folder/roof.svg")" "text-anchor=\"end\" >$name</text>"; done
refuse "$(cat "$folder/roof.svg")" '>transpose [a-z]+</text>'
expect "$(cat "$folder/roof.svg")" '>max_pool2d [a-z]+</text>'
if "$smem" ladder pool --small --plot /nonexistent/x.svg >"$folder/out" 2>&1; then fail 'wrote into nothing'; fi
expect "$(cat "$folder/out")" '^smem: .*--plot'

# A file compared with itself is noise; half the speed is slower, and a wrong result is never good.
text=$("$smem" bench transpose 65x33 --json "$folder/a.json" --markdown)
expect "$text" "driver .*, $(date -u +%F): \`smem bench transpose 65x33 --json .* --markdown\`\$"
expect "$text" '^\| transpose \| 65 x 33, 4 B \| \*\*'
expect "$text" ' \| [0-9]+ \| [0-9.]+ \|$'  # what the first call compiled, and a call's time on the host
expect "$(cat "$folder/a.json")" '"build_s": [0-9.]*[1-9]'
expect "$("$smem" bench --compare "$folder/a.json" "$folder/a.json")" 'x 1\.000 .*inside the noise'
sed -E '/"(build|host)_s"/d' "$folder/a.json" >"$folder/old.json"  # of a version that had them not
expect "$("$smem" bench --compare "$folder/old.json" "$folder/a.json")" 'inside the noise'
sed -E 's/"median_s": [0-9.e-]+/"median_s": 2.0/; s/"low_s": [0-9.e-]+/"low_s": 1.9/; s/"high_s": [0-9.e-]+/"high_s": 2.1/' \
  "$folder/a.json" >"$folder/slow.json"
if text=$("$smem" bench --compare "$folder/a.json" "$folder/slow.json"); then fail "not slower: $text"; fi
expect "$text" 'SLOWER'
expect "$text" '^1 compared, 1 slower, 0 wrong, 0 in one file alone'
expect "$("$smem" bench --compare "$folder/slow.json" "$folder/a.json")" ' faster$'
sed 's/"wrong": ""/"wrong": "element 3"/' "$folder/a.json" >"$folder/wrong.json"
if text=$("$smem" bench --compare "$folder/a.json" "$folder/wrong.json"); then fail "not wrong: $text"; fi
expect "$text" 'WRONG'
if text=$("$smem" bench --compare "$folder/a.json" "$folder/pool.json"); then fail "nothing to compare: $text"; fi
expect "$text" '^0 compared'
echo '{"rows": 3}' >"$folder/broken.json"
if "$smem" bench --compare "$folder/a.json" "$folder/broken.json" 2>"$folder/out"; then fail 'read a broken file'; fi
expect "$(cat "$folder/out")" '^smem: .*--compare'

# A table for each operation, with its source above it.
"$smem" bench flip 64x64 scan 3001 --report "$folder/report.md" >/dev/null
[ "$(grep -cE "driver .*, $(date -u +%F): \`smem bench flip 64x64 scan 3001 --report .*\`\$" "$folder/report.md")" = 2 ] ||
  fail "not above each table: $(cat "$folder/report.md")"
expect "$(cat "$folder/report.md")" '^## flip$'
expect "$(cat "$folder/report.md")" '^## scan$'

# Quickly: the same rows, and no plain loop.
expect "$("$smem" bench flip 64x64 gemm 33x35x37 --quick)" '^Results are not compared with a plain loop'
refuse "$("$smem" bench flip 64x64)" 'not compared'

# Several operations and sizes make one file; the worst of them is the exit code.
text=$("$smem" bench scan 3001,5003 pool 64x64 --json "$folder/several.json")
[ "$(grep -c '"case"' "$folder/several.json")" = 3 ] || fail "not three rows: $(cat "$folder/several.json")"
code=0
text=$("$smem" bench reduce 9 --variant shuffle pool 64x64) || code=$?
expect "$text" 'skipped: '
expect "$text" '^max 2 x 2 '
[ "$code" = 1 ] || fail "exit code $code after a row that cannot be"

# What cannot be written is no success.
if [ -e /dev/full ]; then
  for command in devices --version --help ladder; do
    code=0
    "$smem" "$command" >/dev/full 2>"$folder/errors" || code=$?
    [ "$code" = 1 ] || fail "exit code $code of $command on a full disk"
    expect "$(cat "$folder/errors")" '^smem: .*(No space left|cannot write)'
  done
fi
