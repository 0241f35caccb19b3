#!/usr/bin/env bash
# smem cache: fills an empty cache, lists it, and clears it without touching anything else.
#   tests/cli/cache.sh SMEM
set -euo pipefail
source "$(dirname "$0")/lib.sh"
smem="$1"
export SMEM_CACHE_DIR="$folder/cache"
unset SMEM_CACHE SMEM_CACHE_LIMIT

expect "$("$smem" cache)" '^nothing in '
expect "$("$smem" cache stats)" '^entries +0: 0 programs'

# What is built is stored, and the next process finds it.
text=$("$smem" cache warm flip)
expect "$text" '^flip +[1-9][0-9]* built, +0 already stored'
expect "$text" '^[1-9][0-9]* programs? built, [1-9][0-9]* stored'
text=$("$smem" cache warm flip)
expect "$text" '^flip +0 built, +[1-9][0-9]* already stored'
count=$(find "$SMEM_CACHE_DIR" -name '*.smembin' | wc -l)

text=$("$smem" cache ls)
expect "$text" '^content +device +size +last use$'
expect "$text" '^(flip|transpose)[^ ]*\.cl .* just now$'
refuse "$text" $'\x1b'  # a pipe gets plain text
[ "$(printf '%s\n' "$text" | wc -l)" -eq $((count + 1)) ] || fail "not $count entries: $text"
expect "$("$smem" cache ls --verbose)" '^    driver   '
text=$("$smem" cache stats)
facts=$("$smem" cache ls | grep -c '^(fact of the device)' || true)  # what trials of the device showed
expect "$text" "^entries +$count: $((count - facts)) programs?, 0 damaged"
expect "$text" '^size .* of 256 MiB$'

# Only smem's own entries go.
echo 'of somebody else' >"$SMEM_CACHE_DIR/letter.smembin"
expect "$("$smem" cache clear --dry-run)" "^would remove $count entr"
[ "$(find "$SMEM_CACHE_DIR" -name '*.smembin' | wc -l)" -eq $((count + 1)) ] || fail 'a dry run removed something'
expect "$("$smem" cache clear)" "^removed $count entr"
[ "$(ls "$SMEM_CACHE_DIR")" = letter.smembin ] || fail "left: $(ls "$SMEM_CACHE_DIR")"
expect "$("$smem" cache ls)" '^nothing in '

expect "$(SMEM_CACHE=0 "$smem" cache ls)" '^the cache is off'
chmod 777 "$SMEM_CACHE_DIR"
expect "$(SMEM_TRACE=1 "$smem" cache ls 2>&1)" '^smem: the program cache is off: .*/cache can be written by other users$'
chmod 700 "$SMEM_CACHE_DIR"
if SMEM_CACHE_LIMIT=17592186044416 "$smem" cache ls 2>"$folder/errors"; then fail 'took a limit of 2^64 bytes'; fi
expect "$(cat "$folder/errors")" 'SMEM_CACHE_LIMIT'
if SMEM_CACHE=0 "$smem" cache warm flip 2>"$folder/errors"; then fail 'warmed a cache that is off'; fi
expect "$(cat "$folder/errors")" '^smem: .*a cache on disk'
