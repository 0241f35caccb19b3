/// Programs of a context: built once, by the first thread that asks; from memory, else disk, else source.
#pragma once

#include "runtime/disk_cache.hpp"

#include <smem/context.hpp>
#include <smem/opencl.hpp>
#include <smem/plan.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace smem::runtime {

/// What a device and its driver are called in the keys of what is kept on disk.
std::string device_key(const Device& device);

/// One built program with one kernel. Setting a kernel's arguments is not thread-safe, so each call takes a
/// kernel object of its own and gives it back.
class Program {
 public:
  Program(cl::Program program, std::string entry_point, std::string name);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// A kernel object, and the numbers that its arguments have had since they were set last.
  struct Object {
    struct Number {
      std::size_t bytes = 0;  ///< 0: not set, or no number
      std::uint64_t bits = 0;
      std::vector<std::byte> packed;  ///< of a struct of numbers; empty: not set, or none
    };
    cl_kernel kernel = nullptr;
    std::vector<Number> numbers;  ///< by the arguments' places
  };

  class Kernel {
   public:
    explicit Kernel(Program& program) : program_(program), object_(program.take()) {}
    ~Kernel() { program_.give_back(std::move(object_)); }
    Kernel(const Kernel&) = delete;
    Kernel& operator=(const Kernel&) = delete;
    cl_kernel get() const { return object_.kernel; }
    /// Whether the argument had another number before, or none. Setting an argument takes as long as a tenth
    /// of a launch on NVIDIA, and most numbers of a call are those of the call before.
    bool changes(cl_uint index, std::size_t bytes, std::uint64_t bits) {
      if (index >= object_.numbers.size()) object_.numbers.resize(index + 1);
      Object::Number& number = object_.numbers[index];
      if (number.bytes == bytes && number.bits == bits) return false;
      number = {};  // until it is set
      return true;
    }
    void has_set(cl_uint index, std::size_t bytes, std::uint64_t bits) {
      object_.numbers[index] = {bytes, bits, {}};
    }
    /// The same of a struct of numbers.
    bool changes(cl_uint index, std::span<const std::byte> packed) {
      if (index >= object_.numbers.size()) object_.numbers.resize(index + 1);
      std::vector<std::byte>& before = object_.numbers[index].packed;
      // By memcmp, and not element by element, as compilers compare ranges of bytes.
      if (before.size() == packed.size() &&
          (packed.empty() || std::memcmp(before.data(), packed.data(), packed.size()) == 0))
        return false;
      before.clear();  // until it is set
      object_.numbers[index].bytes = 0;
      return true;
    }
    void has_set(cl_uint index, std::span<const std::byte> packed) {
      object_.numbers[index].packed.assign(packed.begin(), packed.end());
    }

   private:
    Program& program_;
    Object object_;
  };

  const std::string& name() const { return name_; }
  cl_program get() const { return program_(); }

  /// Tells of a launch. The first one is remembered if the program is to be stored on disk.
  void launched(const cl::Event& event) {
    if (awaits_first_run()) remember_first_run(event);
  }
  void await_first_run() { awaits_first_run_ = true; }
  bool awaits_first_run() const { return awaits_first_run_.load(std::memory_order_relaxed); }
  /// Whether the first run has ended, with success.
  bool first_run_completed();

 private:
  void remember_first_run(const cl::Event& event);
  Object take();
  void give_back(Object object);

  cl::Program program_;
  std::string entry_point_;
  std::string name_;
  std::mutex mutex_;
  std::vector<Object> idle_;
  std::atomic<bool> awaits_first_run_{false};
  cl::Event first_run_;
};

class Programs {
 public:
  Programs(cl::Context context, cl_device_id id, const Device& device);

  /// The program that a plan launches. One build, even when many threads ask at once; a failed build is
  /// reported to all who wait for it, and tried again by the next call. \throws Error with the build log and
  /// the failing line.
  std::shared_ptr<Program> get(const Launch& plan);

  /// The same for a plan with a target of its own (Plan::target); null where the driver refuses any step on
  /// the way to it. That is remembered, on disk too, until the driver is another one.
  std::shared_ptr<Program> find(const Launch& plan);

  /// Stores on disk what was built and has run. Some drivers (PoCL) finish a kernel's compilation at its
  /// first run: asked for the binary earlier, they compile more than was asked for, and yet the run's code is
  /// not in it. So this is called where the host waits or closes anyway, and never waits itself.
  void store_what_has_run();

  /// 32-bit registers of a work-item of the plan's kernel; 0: not reported by the compiler. Compiles anew.
  std::size_t registers(const Launch& plan);

  /// The place for whatever else is to be kept for this device and driver, and their part of its key.
  const DiskCache& disk() const { return disk_; }
  const std::string& device_key() const { return device_key_; }

  CacheStatistics statistics() const;

 private:
  struct Entry {
    std::mutex building;
    std::shared_ptr<Program> program;
    bool is_refused = false;  ///< the plan's target
  };

  std::shared_ptr<Program> make(const Launch& plan, const std::string& options);
  cl::Program load(const std::string& key, const std::string& options, bool& is_refused);
  cl::Program build(const Launch& plan, const std::string& source, const std::string& options);
  cl::Program build_for_target(const Launch& plan, const std::string& source, const std::string& options);
  bool builds_anything();
  cl::Program from_binary(const unsigned char* content, std::size_t bytes, const std::string& options);
  std::vector<unsigned char> binary_of(cl_program program) const;
  void store(const std::string& key, const Program& program);

  cl::Context context_;
  cl_device_id id_;
  std::string device_name_;
  Vendor vendor_;
  std::size_t register_lot_;
  std::string quiet_;  ///< options by which the compiler prints nothing itself
  std::string device_key_;
  DiskCache disk_;
  struct Unstored {
    std::string key;
    std::shared_ptr<Program> program;
  };

  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Entry>> entries_;
  std::mutex unstored_mutex_;
  std::vector<Unstored> unstored_;
  std::atomic<std::size_t> built_{0}, loaded_{0}, found_{0}, stored_{0}, failures_{0};
};

}  // namespace smem::runtime
