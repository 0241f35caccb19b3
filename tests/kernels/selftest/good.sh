#!/bin/bash
# a stand-in for smem_catalogue with kernels that must pass
t=$2
p() { printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$@"; }
p transpose/padded/4B transpose.cl transpose 256,1,1 4224 ""
p transpose/padded/8B transpose.cl transpose 256,1,1 8448 "-DT=ulong"
p transpose/e16/16B transpose.cl transpose 256 4352 "-DT=uint4 -DEDGE=16"
p transpose/e64/1B transpose.cl transpose 256,1,1 4160 "-DT=uchar -DEDGE=64"
p gemm/4x4 gemm.cl gemm 256,1,1 8320 ""
p gemm/2x2 gemm.cl gemm 256,1,1 4224 "-DTM=2 -DTN=2 -cl-mad-enable"
p reduce/static/256 reduce.cl reduce_static 256,1,1 1024 ""
p reduce/static/64 reduce.cl reduce_static 64,1,1 256 "-DWG=64"
p reduce/dynamic reduce.cl reduce_dynamic 256 1024 ""
case $t in
sm_90) p nvidia/wgmma nvidia/wgmma.cl fence 128 0 ""; p nvidia/mma nvidia/wgmma.cl mma 128 0 "" ;;
gfx*) p amd/sg subgroup.cl sg 256 0 "-cl-std=CL3.0"; p amd/sg2 subgroup.cl sg 256 0 "-cl-std=CL2.0" ;;
pvc) p intel/block intel/block.cl block 256 0 "" ;;
tgllp|dg2*) p intel/block intel/block.cl block 256 0 ""; p intel/sg subgroup.cl sg 256 0 "-cl-std=CL3.0"; p intel/sg2 subgroup.cl sg 256 0 "-cl-std=CL2.0" ;;
esac
