#!/usr/bin/env bash
# with_oclgrind.sh PROGRAM ARGS...: runs a program on Oclgrind, an OpenCL 1.2 device that checks every access.
# Fails when the program fails and when Oclgrind found anything (its own exit status does not say): accesses out of bounds, data races,
# work-items of a group at different barriers, API calls that return errors.
# Kernels are not optimised: what LLVM leaves behind where it inlines a function that returns a struct, Oclgrind 21.10 does not run.
#   SMEM_OCLGRIND=strict   also reads of uninitialised memory and overruns inside private and local arrays: some times slower,
#                          one false alarm known (async_work_group_strided_copy)
#   SMEM_OCLGRIND_ALLOW="clBuildProgram clSetKernelArg"   API calls that this program lets fail on purpose
# The device's limits can be set with Oclgrind's own variables, e.g. OCLGRIND_LOCAL_MEM_SIZE=65536 (default 32768), OCLGRIND_MAX_WGSIZE (1024).
. "$(dirname "$0")/lib.sh"
need OCLGRIND oclgrind
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
options=(--data-races --check-api --build-options -cl-opt-disable)
[ "${SMEM_OCLGRIND:-}" != strict ] || options+=(--uninitialized)
# Findings in kernels go to a file of their own: nothing that the program prints can hide one. By a pipe, which this shell keeps open:
# Oclgrind opens its log once more for each context, and empties a file. Those about API calls come on stderr, whatever the options, three
# lines each. A query that the device does not know is how a program finds out: those are no errors.
mkfifo "$work/pipe" || exit 1
exec 9<> "$work/pipe"
cat "$work/pipe" > "$work/all" 9>&- &
reader=$!
{ "$OCLGRIND" "${options[@]}" --max-errors 20000 --log "$work/pipe" "$@" 2>&1 >&3 9>&- | tee "$work/err" >&2; status=${PIPESTATUS[0]}; } 3>&1 9>&-
exec 9>&-
wait "$reader"
# A volatile load is OpenCL C 1.2's only atomic one: beside atomics it is no race.
awk 'function end() { if (text ~ /[^ \t\n]/ && !(text ~ /^[^\n]* data race/ && text ~ /load volatile/ && text ~ /atomic_/)) printf "%s", text; text = "" }
    /^[^ \t]/ { end() } { text = text $0 "\n" } END { end() }' "$work/all" > "$work/log"
awk -v allow=" clGetDeviceInfo clGetPlatformInfo clGetDeviceIDs ${SMEM_OCLGRIND_ALLOW:-} " '
    /OpenCL runtime error detected/ { on = 1; next }
    on && $1 == "Function:" { f = $2 }
    on && $1 == "Error:" { if (!index(allow, " " f " ")) print f " returned " $2; on = 0 }' "$work/err" > "$work/api"
if [ -s "$work/log" ]; then
    echo "with_oclgrind: findings (the program's exit status: $status), by kernel:"
    awk '/^[^ \t]/ { kind = $0; sub(/ at (local|global|private) memory address.*/, "", kind) } $1 == "Kernel:" { print kind ": " $2 }' "$work/log" |
        sort | uniq -c | sort -rn | head -40
    echo 'the first 60 lines:'
    grep . "$work/log" | head -60
fi
if [ -s "$work/api" ]; then
    echo "with_oclgrind: API calls that failed:"
    sort "$work/api" | uniq -c | sort -rn | head -20
fi
[ ! -s "$work/log" ] && [ ! -s "$work/api" ] || exit 1
exit "$status"
