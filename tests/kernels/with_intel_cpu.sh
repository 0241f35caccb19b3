#!/usr/bin/env bash
# with_intel_cpu.sh PROGRAM ARGS...: runs a program on Intel's CPU runtime for OpenCL (AMD's CPUs too): OpenCL C 1.2 to 3.0 with
# sub-groups, fp16, fp64 and 64-bit atomics, 256 KiB of local memory: the one CPU device where kernels with these run.
. "$(dirname "$0")/lib.sh"
need INTEL_CPU_ICD "Intel's CPU runtime"
export OCL_ICD_VENDORS=$INTEL_CPU_ICD LD_LIBRARY_PATH=$INTEL_CPU_LIBS${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
only_platform 'Intel(R) OpenCL'
exec "$@"
