#!/usr/bin/env bash
# Proves that check_target.sh and lint.sh pass good kernels and fail each kind of bad one for the right reason, on one target of each vendor.
. "$(dirname "$0")/lib.sh"
need CLANG clang; need PTXAS ptxas; need AMD_CLANG 'clang for AMD'; need OCLOC ocloc
out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT
bad=0
wrong() { echo "WRONG: $*"; bad=1; }
for target in sm_90 gfx1100 dg2-g10; do
    "$here/check_target.sh" --cl "$here/selftest/cl" $target "$here/selftest/good.sh" > "$out" 2>&1 || { wrong "$target: a good kernel failed"; cat "$out"; }
    "$here/check_target.sh" --cl "$here/selftest/cl" $target "$here/selftest/bad.sh" > "$out" 2>&1
    [ $? = 1 ] || wrong "$target: exit status with bad kernels"
    while read -r name reason; do
        grep -qE "^FAIL $target $name: .*($reason)" "$out" || { wrong "$target $name: expected '$reason'"; grep "^FAIL $target $name:" "$out"; }
    done << 'EOF'
syntax does not compile: .*undeclared identifier
link does not compile|not inlined or not there
spill spills registers
scratch private memory that is not in registers
biglocal/256K too much shared data|exceeds limit|more local memory than the target
plan/over-limit more local memory than the target
plan/understated 4224 bytes of local memory, the plan said 4096
group/differs work-group 128, the source demands 256,1,1
group/2048 work-group of 2048, the target has 1024 at most
entry/absent no kernel transposed
entry/prefix no kernel reduce_stat
unit/none matrix units make 0 products a step, not 16384
file/absent no file nosuch.cl
EOF
    for empty in true 'printf a\tb\n' false; do
        printf '#!/bin/sh\n%s\n' "$empty" > "$out.sh" && chmod +x "$out.sh"
        "$here/check_target.sh" --cl "$here/selftest/cl" $target "$out.sh" > "$out" 2>&1 && wrong "$target: passed a catalogue that is empty, malformed or failed ($empty)"
        rm -f "$out.sh"
    done
done
"$here/lint.sh" "$here/selftest/cl" > "$out" 2>&1 || { wrong 'lint: a good kernel failed'; cat "$out"; }
"$here/lint.sh" "$here/selftest/bad" > "$out" 2>&1
for f in double syntax; do grep -q "^FAIL $f.cl" "$out" || wrong "lint passed bad/$f.cl"; done
[ $bad = 0 ] && echo 'selftest: all as it should be'
exit $bad
