// Times calls of CUB and cuBLAS: each argument is a case; a line of output is a case and its milliseconds.
//   sort, merge_sort, sum, scan, copy_if, partition   OPERATION:TYPE:ELEMENTS
//   run_lengths, reduce_by_key                        OPERATION:TYPE:ELEMENTS:RUN, runs of RUN elements
//   pairs                                             pairs:KEY,VALUE:ELEMENTS
//   empty                                             an empty kernel in a queue
//   gemm                                              gemm:TYPE:MxNxK[:TRANSPOSES[:BATCH[:queue]]]
// Products are row-major; TRANSPOSES is nn, nt, tn or tt. Built and run by measure.py.
//
// Calls of at least 32 MiB: the median of calls that are timed by events. Shorter ones, and those that ask
// for it: calls in a queue. Those of CUB take turns among arrays that the second-level cache does not hold.
// All as smem bench does it.
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cub/cub.cuh>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

void check(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}
void check(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(cublasGetStatusString(status));
}

__device__ std::uint64_t random_bits(std::uint64_t i) {  // splitmix64
  std::uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

template <class T>
__device__ T number_of(std::uint64_t bits) {
  return static_cast<T>(bits);
}
template <>
__device__ float number_of<float>(std::uint64_t bits) {
  return static_cast<float>(bits >> 40) * 0x1p-24f;
}
template <>
__device__ double number_of<double>(std::uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}
template <>
__device__ __half number_of<__half>(std::uint64_t bits) {
  return __float2half(static_cast<float>(bits >> 40) * 0x1p-24f);
}

/// Random numbers; or, with a length, runs of equal ones.
template <class T>
__global__ void fill(T* to, std::size_t elements, std::size_t run) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < elements;
       i += step)
    to[i] = run == 0 ? number_of<T>(random_bits(i)) : static_cast<T>(static_cast<unsigned>(i / run % 2048));
}

/// Numbers with all their bits from -1 to 1, or all bytes: by whole numbers a device takes less power, and is
/// faster.
template <class T>
__global__ void fill_signed(T* to, std::size_t elements) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < elements;
       i += step) {
    const auto bits = static_cast<std::int64_t>(random_bits(i));
    if constexpr (sizeof(T) == 1) {
      to[i] = static_cast<T>(bits >> 56);
    } else {
      to[i] = static_cast<T>(static_cast<double>(bits) * 0x1p-63);
    }
  }
}

/// Arrays of device memory, released at the end of a case.
class Memory {
 public:
  ~Memory() {
    for (void* one : all_)
      cudaFree(one);
  }
  template <class T>
  T* make(std::size_t elements) {
    void* one = nullptr;
    check(cudaMalloc(&one, std::max<std::size_t>(elements * sizeof(T), 1)));
    all_.push_back(one);
    return static_cast<T*>(one);
  }
  template <class T>
  T* filled(std::size_t elements, std::size_t run = 0) {
    T* const one = make<T>(elements);
    fill<<<2048, 256>>>(one, elements, run);
    check(cudaGetLastError());
    return one;
  }
  template <class T>
  T* filled_signed(std::size_t elements) {
    T* const one = make<T>(elements);
    fill_signed<<<2048, 256>>>(one, elements);
    check(cudaGetLastError());
    return one;
  }

 private:
  std::vector<void*> all_;
};

/// A call on one set of arrays; with no memory it says how many bytes of temporary memory it needs.
using Call = std::function<cudaError_t(void* memory, std::size_t& bytes)>;

/// Of a call among others, without events between them.
template <class F>
double milliseconds_in_queue(const F& call) {
  using Clock = std::chrono::steady_clock;
  const auto of = [&](int calls) {
    const auto start = Clock::now();
    for (int i = 0; i < calls; ++i)
      call();
    check(cudaDeviceSynchronize());
    return std::chrono::duration<double>(Clock::now() - start).count() * 1e3 / calls;
  };
  of(1);
  const int calls = static_cast<int>(std::clamp(4 / of(2), 1.0, 500.0));
  std::vector<double> times;
  for (int repetition = 0; repetition < 9; ++repetition)
    times.push_back(of(calls));
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

/// Of a call that waits for nothing, by events.
template <class F>
double milliseconds_by_events(const F& call) {
  call();
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin));
  check(cudaEventCreate(&end));
  std::vector<double> times;
  for (int repetition = 0; repetition < 21; ++repetition) {
    check(cudaEventRecord(begin));
    call();
    check(cudaEventRecord(end));
    check(cudaEventSynchronize(end));
    float time = 0;
    check(cudaEventElapsedTime(&time, begin, end));
    times.push_back(time);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

/// `bytes`: of the inputs or of the results, the larger. As smem bench has it.
template <class F>
double milliseconds(std::size_t bytes, const F& call) {
  return bytes < std::size_t{32} << 20 ? milliseconds_in_queue(call) : milliseconds_by_events(call);
}

/// Calls on arrays in turns, of which `bytes` in each call.
double milliseconds_in_turns(Memory& memory, std::size_t bytes, const std::function<Call()>& make_call) {
  constexpr std::size_t kBeyondCache = std::size_t{512} << 20;
  const std::size_t sets =
      std::clamp<std::size_t>(kBeyondCache / std::max<std::size_t>(2 * bytes, 1) + 1, 1, 64);
  std::vector<Call> calls;
  for (std::size_t i = 0; i < sets; ++i)
    calls.push_back(make_call());
  std::size_t temporary_bytes = 0;
  check(calls[0](nullptr, temporary_bytes));
  char* const temporary = memory.make<char>(temporary_bytes);
  std::size_t turn = 0;
  return milliseconds(bytes, [&] { check(calls[turn++ % sets](temporary, temporary_bytes)); });
}

struct Less {
  template <class T>
  __device__ bool operator()(const T& a, const T& b) const {
    return a < b;
  }
};

struct BelowHalf {
  __device__ bool operator()(float x) const { return x < 0.5f; }
};

struct Sum {
  template <class T>
  __device__ T operator()(const T& a, const T& b) const {
    return a + b;
  }
};

template <class Key>
double sort(std::size_t n) {
  Memory memory;
  return milliseconds_in_turns(memory, n * sizeof(Key), [&]() -> Call {
    return [in = memory.filled<Key>(n), out = memory.make<Key>(n), n](void* m, std::size_t& bytes) {
      return cub::DeviceRadixSort::SortKeys(m, bytes, in, out, n);
    };
  });
}

template <class Key, class Value>
double pairs(std::size_t n) {
  Memory memory;
  return milliseconds_in_turns(memory, n * (sizeof(Key) + sizeof(Value)), [&]() -> Call {
    return [keys = memory.filled<Key>(n), out = memory.make<Key>(n), values = memory.filled<Value>(n),
            moved = memory.make<Value>(n), n](void* m, std::size_t& bytes) {
      return cub::DeviceRadixSort::SortPairs(m, bytes, keys, out, values, moved, n);
    };
  });
}

template <class Key>
double merge_sort(std::size_t n) {
  Memory memory;
  return milliseconds_in_turns(memory, n * sizeof(Key), [&]() -> Call {
    return [in = memory.filled<Key>(n), out = memory.make<Key>(n), n](void* m, std::size_t& bytes) {
      return cub::DeviceMergeSort::SortKeysCopy(m, bytes, in, out, n, Less());
    };
  });
}

double on_floats(const std::string& name, std::size_t n, std::size_t parameter) {
  Memory memory;
  return milliseconds_in_turns(memory, n * sizeof(float), [&]() -> Call {
    float* const in = memory.filled<float>(n, name == "run_lengths" ? parameter : 0);
    float* const out = memory.make<float>(name == "sum" ? 1 : n);
    auto* const count = memory.make<std::uint64_t>(1);
    if (name == "sum")
      return [=](void* m, std::size_t& bytes) { return cub::DeviceReduce::Sum(m, bytes, in, out, n); };
    if (name == "scan")
      return [=](void* m, std::size_t& bytes) { return cub::DeviceScan::InclusiveSum(m, bytes, in, out, n); };
    if (name == "copy_if") {
      return [=](void* m, std::size_t& bytes) {
        return cub::DeviceSelect::If(m, bytes, in, out, count, n, BelowHalf());
      };
    }
    if (name == "partition") {
      return [=](void* m, std::size_t& bytes) {
        return cub::DevicePartition::If(m, bytes, in, out, count, n, BelowHalf());
      };
    }
    if (name == "run_lengths") {
      auto* const lengths = memory.make<std::uint32_t>(n);
      return [=](void* m, std::size_t& bytes) {
        return cub::DeviceRunLengthEncode::Encode(m, bytes, in, out, lengths, count, n);
      };
    }
    if (name == "reduce_by_key") {
      auto* const keys = memory.filled<std::uint32_t>(n, parameter);
      auto* const unique = memory.make<std::uint32_t>(n);
      return [=](void* m, std::size_t& bytes) {
        return cub::DeviceReduce::ReduceByKey(m, bytes, keys, unique, in, out, count, Sum(), n);
      };
    }
    throw std::runtime_error("no such operation: " + name);
  });
}

/// What cuBLAS calls a type.
struct Kind {
  cudaDataType in, out;
  cublasComputeType_t compute;
};

/// `T`: a number, or the real part of one; `Factor`: of alpha and beta.
template <class T, class Out, class Factor>
double gemm(const Kind& kind, std::size_t parts, const std::vector<std::string>& sizes,
            const std::string& turns, int batch, bool in_queue) {
  static const cublasHandle_t handle = [] {
    cublasHandle_t made = nullptr;
    check(cublasCreate(&made));
    return made;
  }();
  const int m = std::stoi(sizes.at(0)), n = std::stoi(sizes.at(1)), k = std::stoi(sizes.at(2));
  const bool a_turned = turns[0] == 't', b_turned = turns[1] == 't';
  const std::size_t a_size = std::size_t(m) * k, b_size = std::size_t(k) * n, c_size = std::size_t(m) * n;
  static const Factor one[2] = {1, 0}, zero[2] = {0, 0};
  Memory memory;
  // One set of arrays, as a program that computes with what stays in the cache; smem bench does so, too.
  const T* const a = memory.filled_signed<T>(parts * batch * a_size);
  const T* const b = memory.filled_signed<T>(parts * batch * b_size);
  Out* const c = memory.make<Out>(parts * batch * c_size);
  const auto call = [&] {
    check(cublasGemmStridedBatchedEx(handle, b_turned ? CUBLAS_OP_T : CUBLAS_OP_N,
                                     a_turned ? CUBLAS_OP_T : CUBLAS_OP_N, n, m, k, one, b, kind.in,
                                     b_turned ? k : n, b_size, a, kind.in, a_turned ? m : k, a_size, zero, c,
                                     kind.out, n, c_size, batch, kind.compute, CUBLAS_GEMM_DEFAULT));
  };
  // Random shapes are measured in a queue on both sides.
  const std::size_t bytes = parts * batch * std::max((a_size + b_size) * sizeof(T), c_size * sizeof(Out));
  return in_queue ? milliseconds_in_queue(call) : milliseconds(bytes, call);
}

double gemm(const std::string& type, const std::vector<std::string>& sizes, const std::string& turns,
            int batch, bool in_queue) {
  const auto of = [&](auto number, auto out, auto factor, const Kind& kind, std::size_t parts = 1) {
    return gemm<decltype(number), decltype(out), decltype(factor)>(kind, parts, sizes, turns, batch,
                                                                   in_queue);
  };
  if (type == "float") return of(0.f, 0.f, 0.f, {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F});
  if (type == "tf32") return of(0.f, 0.f, 0.f, {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32});
  if (type == "double") return of(0., 0., 0., {CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F});
  if (type == "half") return of(__half(), __half(), 0.f, {CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F});
  if (type == "bfloat16")
    return of(__nv_bfloat16(), __nv_bfloat16(), 0.f, {CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F});
  if (type == "int8")
    return of(std::int8_t(), std::int32_t(), std::int32_t(), {CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I});
  if (type == "complex_float") return of(0.f, 0.f, 0.f, {CUDA_C_32F, CUDA_C_32F, CUBLAS_COMPUTE_32F}, 2);
  if (type == "complex_double") return of(0., 0., 0., {CUDA_C_64F, CUDA_C_64F, CUBLAS_COMPUTE_64F}, 2);
  throw std::runtime_error("no such type: " + type);
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts{""};
  for (const char c : text) {
    if (c == at) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

__global__ void empty() {}

double measure(const std::string& text) {
  if (text == "empty") {
    return milliseconds_in_queue([] {
      empty<<<1, 32>>>();
      check(cudaGetLastError());
    });
  }
  const std::vector<std::string> parts = split(text, ':');
  const std::string name = parts.at(0), type = parts.at(1);
  if (name == "gemm")
    return gemm(type, split(parts.at(2), 'x'), parts.size() > 3 ? parts[3] : "nn",
                parts.size() > 4 ? std::stoi(parts[4]) : 1, parts.size() > 5 && parts[5] == "queue");
  const std::size_t n = std::stoull(parts.at(2)), parameter = parts.size() > 3 ? std::stoull(parts[3]) : 0;
  if (name == "sort" && type == "uint32") return sort<std::uint32_t>(n);
  if (name == "sort" && type == "uint64") return sort<std::uint64_t>(n);
  if (name == "sort" && type == "float") return sort<float>(n);
  if (name == "sort" && type == "double") return sort<double>(n);
  if (name == "sort" && type == "half") return sort<__half>(n);
  if (name == "merge_sort" && type == "uint32") return merge_sort<std::uint32_t>(n);
  if (name == "pairs" && type == "uint32,uint32") return pairs<std::uint32_t, std::uint32_t>(n);
  if (name == "pairs" && type == "uint32,uint64") return pairs<std::uint32_t, std::uint64_t>(n);
  if (name == "pairs" && type == "uint64,uint32") return pairs<std::uint64_t, std::uint32_t>(n);
  if (name == "pairs" && type == "uint64,uint64") return pairs<std::uint64_t, std::uint64_t>(n);
  if (type == "float") return on_floats(name, n, parameter);
  throw std::runtime_error("no such case: " + text);
}

}  // namespace

int main(int count, char** arguments) {
  int status = 0;
  for (int i = 1; i < count; ++i) {
    try {
      std::printf("%s %.6f\n", arguments[i], measure(arguments[i]));
      std::fflush(stdout);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s: %s\n", arguments[i], error.what());
      status = 1;
    }
  }
  return status;
}
