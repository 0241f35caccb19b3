#!/usr/bin/env bash
# Whether short.sh's PoCL makes the same machine code of kernels as the installed one, byte for byte.
#   same_code.sh SMEM_TESTS FOLDER
# Exit status 77: the installed PoCL is not one that short.sh knows.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tests=$1 folder=$2
source "$here/../../host/package/packages.sh"
icd=$(OCL_ICD_VENDORS='' pocl_icd)
"$here/short.sh" --knows "$icd" || { echo "SKIPPED: $icd is not PoCL 3"; exit 77; }
run=("$tests" "--test-case=small: scan,small: pool")
"$here/short.sh" "$icd" "$folder/short" "${run[@]}"
mkdir -p "$folder/vendors"
cp "$icd" "$folder/vendors/"
export SMEM_CACHE=0

# code NAME VENDORS: writes the sums of all kernels' code to FOLDER/NAME.
code() {
  rm -rf "$folder/cache"
  mkdir -p "$folder/cache"
  OCL_ICD_VENDORS=$2 POCL_CACHE_DIR=$folder/cache "${run[@]}" >/dev/null
  find "$folder/cache" -name '*.so' -exec md5sum {} + | sed -E 's,  .*/([^/]*)$,  \1,' | sort >"$folder/$1"
}
code of_short "$folder/short/vendors/"
code of_installed "$folder/vendors/"
count=$(wc -l <"$folder/of_short")
[ "$count" -gt 8 ] || { echo "only $count kernels were compiled"; exit 1; }
diff "$folder/of_short" "$folder/of_installed" || { echo 'the code of these kernels differs'; exit 1; }
echo "$count kernels, the same code"
