#!/usr/bin/env bash
# oclgrind_finds.sh PROGRAM CL: a data race that is planted in a kernel is found, also where the program opens other contexts afterwards.
. "$(dirname "$0")/lib.sh"
need OCLGRIND oclgrind
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cp -r "$2" "$folder/cl"
sed -i '0,/barrier(CLK_LOCAL_MEM_FENCE);/s///' "$folder/cl/reduce/tree.cl"
! cmp -s "$2/reduce/tree.cl" "$folder/cl/reduce/tree.cl" || { echo 'no race was planted'; exit 1; }
export SMEM_KERNEL_DIR="$folder/cl" SMEM_CACHE=0
if "$here/with_oclgrind.sh" "$1" '--test-case=small: reduce,small: pool' > "$folder/out" 2>&1; then
    echo 'a race was not found:'
    tail -20 "$folder/out"
    exit 1
fi
grep -q 'data race at local memory' "$folder/out" || { echo 'expected a data race:'; tail -20 "$folder/out"; exit 1; }
