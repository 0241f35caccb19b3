#!/usr/bin/env bash
# with_rusticl.sh PROGRAM ARGS...: runs a program on Mesa's rusticl with llvmpipe, a second OpenCL 1.2 implementation on the CPU that
# runs 8 work-items in lockstep and thus shows races that PoCL hides (a missing barrier at a tile loop's end).
. "$(dirname "$0")/lib.sh"
need RUSTICL_ICD rusticl
export RUSTICL_ENABLE=llvmpipe OCL_ICD_VENDORS=$RUSTICL_ICD GALLIUM_PIPE_SEARCH_DIR=$RUSTICL_LIBS/gallium-pipe
export LD_LIBRARY_PATH=$RUSTICL_LIBS${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
only_platform rusticl
exec "$@"
