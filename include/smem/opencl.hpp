/// smem: the OpenCL C++ header, with defaults for a program that has not chosen its own.
#pragma once

#include <smem/cplusplus.hpp>

// The same value for target and minimum is the combination that every release of the header accepts.
#ifndef CL_HPP_TARGET_OPENCL_VERSION
#define CL_HPP_TARGET_OPENCL_VERSION 120
#endif
// A program that chooses a later target alone gets the header's own minimum.
#if !defined(CL_HPP_MINIMUM_OPENCL_VERSION) && CL_HPP_TARGET_OPENCL_VERSION < 200
#define CL_HPP_MINIMUM_OPENCL_VERSION CL_HPP_TARGET_OPENCL_VERSION
#endif
#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION CL_HPP_TARGET_OPENCL_VERSION
#endif

#include <CL/opencl.hpp>
