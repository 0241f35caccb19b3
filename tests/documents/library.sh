#!/usr/bin/env bash
# The README's ways to build the library alone and to test in CI: the options exist, nothing but the library is made, and
# the packages are those that smem needs.
#   tests/documents/library.sh SOURCE
set -euo pipefail
source "$(dirname "$0")/../cli/lib.sh"
cd "$1"

configure=$(grep -E '^cmake -S \. -B build/library ' README.md)
read -ra words <<<"${configure/build\/library/$folder/library}"
"${words[@]}" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >"$folder/log" 2>&1 || fail "$configure: $(cat "$folder/log")"
refuse "$(cat "$folder/log")" 'not used by the project'
targets=$(cmake --build "$folder/library" --target help)
expect "$targets" '^(\.\.\. )?smem(:|$)'
refuse "$targets" '^(\.\.\. )?(smem_cli|smem_tests|sample_hello)(:|$)'
# Several files at a time: one by one they take twice as long.
expect "$(cat "$folder/library/compile_commands.json")" 'smem_plans\.dir/Unity/unity_0'
[ -e "$folder/library/cmake_install.cmake" ] || fail 'nothing can be installed'

# What a library alone needs of host/package/packages.sh: not Ninja, the samples' pictures, the tests, or the command line.
source host/package/packages.sh
needed=$(awk -F'|' '/^(samples|device)\|/ { print $4 }' <<<"$smem_needs" | grep -vxE 'ninja-build|doctest-dev|libcli11-dev|libstb-dev' | sort)
# And make, with which CMake builds where nothing else is said.
named=$(sed -n 's/^sudo apt-get install -y //p' README.md | tr ' ' '\n' | grep -vx make | sort)
[ "$named" = "$needed" ] || fail "README.md names: $named; needed: $needed"
