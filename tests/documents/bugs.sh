#!/usr/bin/env bash
# The guide's part on bugs: Oclgrind says of each fault of the kernel what the guide says.
#   tests/documents/bugs.sh GUIDE GUIDE_FILES
set -euo pipefail
. "$(dirname "$0")/../kernels/lib.sh"
kernel=$(command -v oclgrind-kernel) || kernel="$(dirname "$(command -v "${OCLGRIND:-oclgrind}" || echo .)")/oclgrind-kernel"
[ -x "$kernel" ] || missing oclgrind-kernel
guide="$1"
cd "$2"
set -f

# The guide's command, as it stands there, for another fault.
command=$(grep -E '^oclgrind-kernel .*FAULT=1' "$guide")
run() {
  local text="${command/FAULT=1/FAULT=$1}"
  eval "${text/oclgrind-kernel/"'$kernel'"}" 2>&1
}
found() {
  local said
  said=$(run "$1")
  if ! grep -qF "$2" <<<"$said"; then
    echo "FAILED: FAULT=$1: no \"$2\" in: $said" >&2
    exit 1
  fi
  grep -qF "$2" "$guide" || { echo "FAILED: the guide does not say \"$2\"" >&2; exit 1; }
}

said=$(run 0)
if grep -qE 'race|divergence|Invalid|Uninitialized' <<<"$said"; then
  echo "FAILED: the right kernel: $said" >&2
  exit 1
fi
found 1 'Read-write data race'
found 2 'Work-group divergence detected (barrier)'
found 3 'Invalid read'
found 4 'Uninitialized value'
