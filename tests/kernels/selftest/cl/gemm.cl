// C = A * B, BM x BN tiles, BK deep, 16 x 16 work-items of TM x TN. Sizes are multiples of the tiles.
#ifndef TM
#define TM 4 // rows a work-item: 1, 2, 4
#endif
#ifndef TN
#define TN 4 // columns a work-item: 1, 2, 4
#endif
#define BM (16 * TM)
#define BN (16 * TN)
#define BK 16
__attribute__((reqd_work_group_size(256, 1, 1)))
kernel void gemm(global const float* a, global const float* b, global float* c, uint n, uint k)
{
    local float as[BK][BM + 1];
    local float bs[BK][BN + 1];
    const uint l = (uint)get_local_id(0);
    const uint y = l / 16, x = l % 16;
    const size_t r0 = (size_t)get_group_id(1) * BM, c0 = (size_t)get_group_id(0) * BN;
    float acc[TM][TN];
    #pragma unroll
    for (uint i = 0; i < TM; ++i)
        #pragma unroll
        for (uint j = 0; j < TN; ++j) acc[i][j] = 0.0f;
    for (uint p = 0; p < k; p += BK) {
        for (uint i = l; i < BM * BK; i += 256) as[i % BK][i / BK] = a[(r0 + i / BK) * k + p + i % BK];
        for (uint i = l; i < BN * BK; i += 256) bs[i / BN][i % BN] = b[(size_t)(p + i / BN) * n + c0 + i % BN];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint q = 0; q < BK; ++q) {
            float ra[TM], rb[TN];
            #pragma unroll
            for (uint i = 0; i < TM; ++i) ra[i] = as[q][y + 16 * i];
            #pragma unroll
            for (uint j = 0; j < TN; ++j) rb[j] = bs[q][x + 16 * j];
            #pragma unroll
            for (uint i = 0; i < TM; ++i)
                #pragma unroll
                for (uint j = 0; j < TN; ++j) acc[i][j] = fma(ra[i], rb[j], acc[i][j]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    #pragma unroll
    for (uint i = 0; i < TM; ++i)
        #pragma unroll
        for (uint j = 0; j < TN; ++j) c[(r0 + y + 16 * i) * n + c0 + x + 16 * j] = acc[i][j];
}
