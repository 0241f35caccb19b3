#!/usr/bin/env bash
# halves.sh [--cl FOLDER] CATALOGUE: on CPUs halves are converted many at a time. No compiler for CPUs makes vectors of vload_half and
# vstore_half_rte of single ones, which take ten times as long: they are for edges, tails and single results alone.
#
# Compiles what plans choose for halves on CPUs (`CATALOGUE --target cpu --halves`, lines as check_target.sh has them) and counts the
# conversions of single halves that are left in the program. More than the table below has fail: a loop over elements has become one of
# them, or an edge that was not there before is to be added. SMEM_CHECK_JOBS: compilers at once. SMEM_CHECK_TURNS=N with SMEM_TEST_TURN=T:
# only every N-th program, from the T-th on.
. "$(dirname "$0")/lib.sh"
need CLANG clang
folder=$here/../../cl
[ "${1:-}" != --cl ] || { folder=$2; shift 2; }
list=$("$1" --target cpu --halves) || exit 1
cd "$folder" || exit 1

# Single conversions, as programs have them (loops of fixed length are unrolled), and why.
allowed() {
    case $1 in
    attention/cpu.cl) echo 4 ;;       # strips of few keys, tails of heads, values and biases
    blur/box_cpu.cl) echo 14 ;;       # rows' ends
    blur/window.cl) echo 4 ;;         # windows that reach beyond a row's ends
    conv2d/cpu.cl) echo 3 ;;          # a filter's bias; weights that may be infinite, of which each is looked at once
    conv2d/columns.cl) echo 1 ;;
    conv2d/depthwise_cells.cl) echo 6 ;;  # weights on their way to local memory, those of filters that are not finite, biases
    heat/cpu.cl) echo 52 ;;           # cells at walls
    histogram/cpu.cl) echo 7 ;;       # tails, edges of bins
    moving_mean/*) echo 3 ;;          # a block's first window, ends of rows
    norm_columns/cpu.cl) echo 2 ;;    # a column's weight and bias
    norm_columns/cpu_narrow.cl) echo 3 ;;  # ends of runs of rows
    pool/cpu_lines.cl) echo 2 ;;      # ends of rows, results at edges
    reduce/cpu.cl) echo 6 ;;          # results; rows of one element, of both factors; vectors of two, which PoCL has as eight
    reduce*/*) echo 1 ;;              # results
    scan/columns.cl) echo 2 ;;        # the last rows of few columns
    scan/cpu.cl) echo 1 ;;            # tails
    select/cpu.cl) echo 2 ;;          # neighbours of a piece
    separable/cpu.cl) echo 5 ;;       # cells beyond a row's ends
    stencil/cpu.cl) echo 7 ;;
    softmax*/cpu.cl | pool/whole.cl) echo 1 ;;  # single rows' ends, results of planes
    *) echo 0 ;;
    esac
}

check_one() {
    local name file options words ir single most
    IFS=$'\t' read -r name file _ _ _ options <<< "$1"
    eval "words=($options)"
    # Neither unrolled by the compiler's own choice nor vectorised: as many as the source has.
    ir=$("$CLANG" -x cl -cl-std=CL1.2 -target spir64 -Xclang -finclude-default-header -O2 -fno-vectorize -fno-slp-vectorize -fno-unroll-loops -w \
        -I . "${words[@]}" "$file" -S -emit-llvm -o -) || { echo "FAIL $name ($file) does not compile"; return 1; }
    single=$(grep -cE 'call .*@_Z[0-9]+v(load_half|store_half(_rte)?)[a-z]*P' <<< "$ir")
    most=$(allowed "$file")
    [ "$single" -gt "$most" ] || return 0
    echo "FAIL $name ($file): $single conversions of single halves, $most are known"
    return 1
}
export -f check_one allowed
export CLANG
work=$(mktemp) || exit 1
trap 'rm -f "$work"' EXIT
grep -- '-D[A-Z_]*HALF=1' <<< "$list" | awk -v n="${SMEM_CHECK_TURNS:-1}" -v t="${SMEM_TEST_TURN:-0}" 'NR % n == t % n' > "$work"
count=$(wc -l < "$work")
# shellcheck disable=SC2016
xargs -d '\n' -P "${SMEM_CHECK_JOBS:-$(nproc)}" -I{} bash -c 'check_one "$1"' _ {} < "$work"
failed=$?
echo "halves: $count programs"
[ "$count" -gt 0 ] && [ "$failed" = 0 ]
