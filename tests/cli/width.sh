#!/usr/bin/env bash
# Lines fit the terminal, or COLUMNS, or 80 columns.
#   tests/cli/width.sh SMEM
set -euo pipefail
source "$(dirname "$0")/lib.sh"
smem="$1"
facts="$(dirname "$0")/gfx90a.json"

# fits COLUMNS ARGUMENTS...: no line of the output is longer.
fits() {
  local width=$1 text
  shift
  text=$(COLUMNS=$width "$smem" "$@")
  [ "$(awk -v width="$width" 'length > width' <<<"$text" | wc -l)" = 0 ] || fail "longer than $width columns: smem $*: $text"
}

for width in 60 80 133; do
  for command in explain ladder roofline bench selftest tune cache completion devices; do fits "$width" "$command" --help; done
  fits "$width" explain gemm 333x77x512 half --like "$facts"
  fits "$width" explain sort 100000 --like "$facts"
done
# Where StarPU and MPI were found; a parser of its own, which does not wrap.
for command in bench explain; do
  if "$smem" "$command" distributed --help >/dev/null 2>&1; then fits 80 "$command" distributed --help; fi
done
# Help says what an option takes in words, not in the parser's.
for command in bench explain tune 'bench sort' 'explain attention' ladder; do
  read -ra words <<<"$command"
  refuse "$("$smem" "${words[@]}" --help)" 'TEXT|UINT|FLOAT|Excludes|Needs'
done
for width in 80 100 133; do
  fits "$width" devices
  fits "$width" bench transpose 64x64
  fits "$width" ladder flip --small
done
text=$(COLUMNS=79 "$smem" bench flip 64x64)
expect "$text" '^64 x 64'
expect "$text" '^  auto: '
expect "$(COLUMNS=200 "$smem" bench flip 64x64)" '^64 x 64.* auto: '
expect "$(COLUMNS=nonsense "$smem" ladder --help)" '^  gained$'  # of 80 columns
