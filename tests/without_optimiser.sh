#!/bin/sh
# without_optimiser.sh SMEM COMMAND...: runs a command in a run of a turn (SMEM_TEST_TURN) so that PoCL 3 compiles kernels without
# its optimiser, in a third of the time. Newer versions crash on some kernels that are not optimised.
smem=$1
shift
if [ -n "${SMEM_TEST_TURN:-}" ] && "$smem" devices --json 2>/dev/null | grep -q '"platform_version": ".*P[oO]CL 3\.'; then
  export POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable
fi
exec "$@"
