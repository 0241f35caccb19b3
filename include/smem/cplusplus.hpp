/// smem: the C++ standard that the headers need.
#pragma once

#if __cplusplus < 202002L && (!defined(_MSVC_LANG) || _MSVC_LANG < 202002L)
#error "smem needs C++20: compile with -std=c++20"
#include <smem/needs -std=c++20>  // no such file: the compiler stops here, before the errors that would follow
#endif
