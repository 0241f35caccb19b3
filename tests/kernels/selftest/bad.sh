#!/bin/bash
# a stand-in for smem_catalogue: all of these must fail
p() { printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$@"; }
p syntax ../bad/syntax.cl f 64 0 ""
p link ../bad/link.cl f 64 0 ""
p spill gemm.cl gemm 256 32896 "-DTM=16 -DTN=16"
p scratch ../bad/scratch.cl f 64 0 ""
p biglocal/256K ../bad/biglocal.cl f 256 262144 "-DN=65536"
p plan/over-limit ../bad/biglocal.cl f 256 262144 "-DN=64"
p plan/understated transpose.cl transpose 256 4096 ""
p group/differs transpose.cl transpose 128 4224 ""
p group/2048 reduce.cl reduce_dynamic 2048 8192 ""
p entry/absent transpose.cl transposed 256 4224 ""
p entry/prefix reduce.cl reduce_stat 256 1024 ""
p unit/none gemm.cl gemm 256,1,1 8320 "-DEMULATED_UNIT=0 -DSUB_M=32 -DSUB_N=32 -DTILE_K=16"
p file/absent nosuch.cl f 256 4224 ""
