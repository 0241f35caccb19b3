/// smem: OpenCL kernels around local memory. This header includes all the others.
#pragma once

#include <smem/array.hpp>
#include <smem/boundary.hpp>
#include <smem/cache.hpp>
#include <smem/context.hpp>
#include <smem/device.hpp>
#include <smem/error.hpp>
#include <smem/explain.hpp>
#include <smem/grid.hpp>
#include <smem/kernel.hpp>
#include <smem/layout.hpp>
#include <smem/options.hpp>
#include <smem/plan.hpp>
#include <smem/rates.hpp>
#include <smem/scalar.hpp>
#include <smem/version.hpp>
#include <smem/view.hpp>

// operations
#include <smem/gemm.hpp>
#include <smem/gemm_plan.hpp>
#include <smem/histogram.hpp>
#include <smem/histogram_plan.hpp>
#include <smem/matvec.hpp>
#include <smem/reduce.hpp>
#include <smem/reduce_plan.hpp>
#include <smem/rotate.hpp>
#include <smem/scan.hpp>
#include <smem/scan_plan.hpp>
#include <smem/select.hpp>
#include <smem/select_plan.hpp>
#include <smem/transpose.hpp>
