/// smem: all of smem::distributed.
#pragma once

#include <smem/distributed/attention.hpp>
#include <smem/distributed/data.hpp>
#include <smem/distributed/gemm.hpp>
#include <smem/distributed/histogram.hpp>
#include <smem/distributed/plan.hpp>
#include <smem/distributed/reduce.hpp>
#include <smem/distributed/scan.hpp>
#include <smem/distributed/session.hpp>
#include <smem/distributed/sort.hpp>
#include <smem/distributed/stencil.hpp>
#include <smem/distributed/transpose.hpp>
