#!/usr/bin/env bash
# Makes a PoCL that starts to compile sooner: the one that is installed, with a header of OpenCL C's builtin functions and a library
# of them that hold those that smem's kernels name. PoCL 3 reads 18,000 lines of the one for each program, and 22,000 functions of
# the other in each process: more than half of the tests' time. What a kernel names is there with all its overloads, so that it is
# compiled to the same code; what is missing fails the build of a program by its name.
#   short.sh ICD FOLDER PROBE...
#   short.sh --knows ICD        only says by its exit status whether it can
# ICD: the installed PoCL's file. FOLDER: where to make it; OCL_ICD_VENDORS=FOLDER/vendors/ shows it to a program. PROBE: a command
# that runs a kernel. Ends with 1 where this PoCL is not one that it knows, or the command fails: then use the other.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
only=no
[ "$1" != --knows ] || { only=yes; shift; }
icd=$1 folder=${2:-}
shift 2 || true

library=$(head -n 1 "$icd")
[[ "$library" == /* ]] || library=$(PATH="$PATH:/sbin" ldconfig -p | awk '/libpocl\.so/ && !n++ { print $NF }')
library=$(readlink -e "$library")
shared=$(readlink -e "$(dirname "$library")/../../share/pocl")  # where the library itself looks
version=$(grep -ao 'libLLVM-[0-9]*\.so' "$library" | sed -n 1p | tr -cd 0-9)
clang=$(readlink -e "/usr/lib/llvm-$version/bin/clang")
grep -aqi 'pocl 3\.[0-9.]*.*RELOC' "$library"  # one that finds its files beside itself
[ "$only" = no ] || exit 0

mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
# All words of kernels, and of other sources, which hold kernels as texts, what could be called.
without_comments() { sed 's,//.*,,' "$@"; }
words() { grep -oE "[A-Za-z_][A-Za-z_0-9]*$1" | tr -d '( ' | sort -u; }
{
  find "$root/cl" -name '*.cl*' -print0 | xargs -0 cat | without_comments | words ''
  find "$root"/{host,include,samples,tests} -type f \( -name '*.[ch]pp' -o -name '*.md' -o -name '*.sh' -o -name '*.cl*' \) -print0 |
    xargs -0 cat | without_comments | words ' *[(]'
} >"$folder/words.new"
if [ -e "$folder/ready" ] && [ "$folder/ready" -nt "$library" ] && cmp -s "$folder/words.new" "$folder/words"; then
  exit 0
fi
rm -rf "$folder/ready" "$folder/lib" "$folder/share" "$folder/vendors" "$folder/cache"
mv "$folder/words.new" "$folder/words"
mkdir -p "$folder/lib/here" "$folder/share/pocl/include" "$folder/vendors" "$folder/cache"
cp "$library" "$folder/lib/here/libpocl.so"
ln -s "$(dirname "$library")/pocl" "$folder/lib/here/pocl"
ln -s "$shared"/include/* "$folder/share/pocl/include/"
echo "$folder/lib/here/libpocl.so" >"$folder/vendors/pocl.icd"
export OCL_ICD_VENDORS="$folder/vendors/" POCL_CACHE_DIR="$folder/cache" SMEM_CACHE=0
rm "$folder/share/pocl/include/opencl-c.h"
awk -f "$here/declarations.awk" -v list="$folder/names" "$folder/words" "$shared/include/opencl-c.h" \
  >"$folder/share/pocl/include/opencl-c.h"

# PoCL names the library that it misses: each kind of processor has its own.
missing=$( ("$@" 2>&1 || true) | grep -ao 'kernel-[a-zA-Z0-9_-]*\.bc' | sed -n 1p)
module="$folder/module.ll"
"$clang" -cc1 -emit-llvm -disable-llvm-passes -x ir "$shared/$missing" -o "$module"
awk -f "$here/functions.awk" "$folder/names" "$module" >"$module.less"
"$clang" -cc1 -emit-llvm-bc -disable-llvm-passes -x ir "$module.less" -o "$folder/share/pocl/$missing"
rm "$module" "$module.less"
"$@"
touch "$folder/ready"
