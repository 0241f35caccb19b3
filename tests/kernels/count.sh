#!/usr/bin/env bash
# count.sh SMEM_COUNTED: the bytes and operations that plans predict, against those that Oclgrind counts while the kernels run.
. "$(dirname "$0")/lib.sh"
need OCLGRIND oclgrind
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
SMEM_CACHE=0 "$OCLGRIND" --inst-counts "$1" > "$work/out" 2>&1 || { tail -20 "$work/out"; exit 1; }
# A block of counts a kernel, then the program's line with the prediction.
awk '
    function bytes(  b) { b = $0; sub(/.*\(/, "", b); sub(/ bytes.*/, "", b); gsub(/,/, "", b); return b }
    /^Instructions executed for kernel/ { read = written = into = out = operations = 0; kernel = $5; gsub(/[^A-Za-z0-9_]/, "", kernel) }
    /- load global/ { read += bytes() }
    /- store global/ { written += bytes() }
    /- load local/ { out += bytes() }
    /- store local/ { into += bytes() }
    / - f(add|mul|sub)/ { operations += $1 }
    / - call .*(mad|fma|fmuladd)/ { operations += 2 * $1 }
    /^PREDICTED/ {
        good = $2 == kernel && $3 == read && $4 == written && $5 == into + out && $6 == operations
        printf "%-18s predicted %9d %9d %9d %9d  counted %9d %9d %9d %9d  %s\n", $2, $3, $4, $5, $6, read, written, into + out, operations, good ? "ok" : "FAIL"
        count++
        if (!good) failed++
    }
    END { printf "count: %d plans, %d failed (bytes read, written, through local memory; operations)\n", count, failed; exit count == 0 || failed > 0 }' "$work/out"
