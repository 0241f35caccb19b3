#!/usr/bin/env bash
# lint.sh [FOLDER]: the strict front end over every .cl file below FOLDER (default: the repository's cl/), each alone, with the defines it
# gives itself. Refuses warnings, what OpenCL C 1.2 lacks, double and half arithmetic by accident, unused things, constant indices out of bounds.
# A file that needs more than OpenCL C 1.2 says so in its first 10 lines: -cl-std=CL3.0. Files that must use double or half
# arithmetic enable it: #pragma OPENCL EXTENSION cl_khr_fp64 : enable. Folders
# nvidia/ and amd/ are checked as that target (inline assembly), intel/ with Intel's sub-group functions declared.
. "$(dirname "$0")/lib.sh"
need CLANG clang
cd "${1:-$here/../../cl}" || exit 1

lint_one() {
    local std target=(-target spir64) drop=
    std=$(head -10 "$1" | grep -oE -e '-cl-std=CL[0-9.]+' | head -1)
    case /$1 in
    */intel/*) target+=(-cl-no-stdinc -Dcl_intel_subgroups -Dcl_intel_subgroups_short -Dcl_intel_required_subgroup_size) ;;
    */nvidia/*) target=(-target nvptx64--nvidiacl -march=sm_80) ;;
    */amd/*) target=(-target amdgcn-amd-amdhsa -mcpu=gfx90a -nogpulib) ;;
    esac
    grep -qE 'EXTENSION +cl_khr_fp64' "$1" || drop=-cl_khr_fp64,-__opencl_c_fp64
    grep -qE 'EXTENSION +cl_khr_fp16' "$1" || drop=${drop:+$drop,}-cl_khr_fp16
    "$CLANG" -x cl "${std:--cl-std=CL1.2}" "${target[@]}" -fsyntax-only -Wall -Wextra -Wdouble-promotion -pedantic-errors -Werror \
        -Xclang -finclude-default-header ${drop:+-Xclang -cl-ext=$drop} -I . "$1"
}
count=0 failed=0
while IFS= read -r f; do
    count=$((count + 1))
    lint_one "$f" || { echo "FAIL $f"; failed=$((failed + 1)); }
done < <(find . -name '*.cl' | sed 's,^\./,,' | sort)
echo "lint: $count files, $failed failed"
[ "$count" -gt 0 ] && [ "$failed" = 0 ]
