/// smem: the version of this header, by semantic versioning. CMake reads it from here.
#pragma once

#define SMEM_VERSION_MAJOR 0
#define SMEM_VERSION_MINOR 1
#define SMEM_VERSION_PATCH 0
#define SMEM_VERSION "0.1.0"
