#include "runtime/devices.hpp"
#include "formatted.hpp"
#include "plan/ballots.hpp"
#include "plan/driver_faults.hpp"
#include "plan/facts.hpp"
#include "plan/matrix_unit.hpp"
#include "plan/sizes.hpp"

#include "runtime/ballots.hpp"
#include "runtime/driver_faults.hpp"
#include "runtime/environment.hpp"
#include "runtime/failures.hpp"
#include "runtime/local_memory.hpp"
#include "runtime/matrix_unit.hpp"
#include "runtime/status.hpp"
#include "runtime/wide_vectors.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <mutex>
#include <utility>

namespace smem {
namespace runtime {

namespace {

// Vendor queries, by the numbers of their extension documents: cl_nv_device_attribute_query,
// cl_amd_device_attribute_query and cl_intel_required_subgroup_size. Debian's headers leave some of them out.
constexpr cl_device_info kNvComputeCapabilityMajor = 0x4000;
constexpr cl_device_info kNvComputeCapabilityMinor = 0x4001;
constexpr cl_device_info kNvWarpSize = 0x4003;
constexpr cl_device_info kAmdWavefrontWidth = 0x4043;
constexpr cl_device_info kAmdLocalMemBanks = 0x4048;
constexpr cl_device_info kIntelSubGroupSizes = 0x4108;
// OpenCL 3.0's, which the headers hide from a library of OpenCL 1.2.
constexpr cl_device_info kOpenClCAllVersions = 0x1066;
constexpr cl_device_info kOpenClCFeatures = 0x106f;
struct NameVersion {
  cl_uint version;  // major << 22 | minor << 12 | patch
  char name[64];
};

bool has_word(const std::string& words, const std::string& word) {
  return (" " + words + " ").find(" " + word + " ") != std::string::npos;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

Vendor vendor_of(cl_device_id id, const Device& device) {
  if (device.type == DeviceType::cpu)
    return Vendor::other;  // a CPU's maker does not identify its OpenCL driver
  switch (device_value<cl_uint>(id, CL_DEVICE_VENDOR_ID)) {  // PCI vendor numbers
    case 0x10de:
      return Vendor::nvidia;
    case 0x1002:
      return Vendor::amd;
    case 0x8086:
      return Vendor::intel;
    default:
      break;
  }
  const std::string maker = lower(device.vendor_name);
  if (contains(maker, "nvidia")) return Vendor::nvidia;
  if (contains(maker, "advanced micro") || contains(maker, "amd")) return Vendor::amd;
  if (contains(maker, "intel")) return Vendor::intel;
  return Vendor::other;
}

void add_cpu_facts(Device& device) {
  device.sub_group_width = 1;
  device.local_is_cache = true;  // whatever the driver calls it
  // A virtual machine reports all of the cache that its host shares among others. With results past 260 MiB
  // that two cores of a Xeon reported, scans of 2^24 floats had 0.97 of memcpy's rate instead of 0.75, of
  // 4000000 1.1 instead of 0.96. Cores with more than so much each are rare.
  constexpr std::size_t kMostCacheOfUnit = 16U << 20U;
  device.cache_bytes = std::min(device.cache_bytes, device.compute_units * kMostCacheOfUnit);
  device.wide_vectors = device.vector_bytes >= 64 && has_fast_wide_vectors();
  device.extended_vectors = plan::is_pocl(device);
  // 3.1, 5.0 and 6.0 were tried: functions that may use them are left as they are, not inlined into kernels.
  const bool keeps_functions = plan::is_pocl(device) && plan::version_in(device.driver) < plan::Version{7, 0};
  device.avx512_vnni = keeps_functions && has_avx512_vnni();
  device.avx_vnni = keeps_functions && has_avx_vnni();
}

void add_nvidia_facts(cl_device_id id, Device& device) {
  const cl_uint major = device_value<cl_uint>(id, kNvComputeCapabilityMajor);
  const cl_uint minor = device_value<cl_uint>(id, kNvComputeCapabilityMinor);
  if (major > 0) device.architecture = formatted("sm_{}{}", major, minor);
  device.sub_group_width = device_value<cl_uint>(id, kNvWarpSize, 32);
  // The driver reports 48 KiB but launches static arrays up to what the architecture has: 200 KiB was
  // measured to work on compute capability 9.0, whose limit is 227 KiB (CUDA C++ programming guide, technical
  // specifications). Other architectures are tried (local_memory.hpp).
  if (major == 9 && minor == 0) device.local_bytes = std::size_t{227} * 1024;
  device.retargeting = major == 9 && minor == 0;
}

void add_amd_facts(cl_device_id id, Device& device) {
  device.architecture = device.name.substr(0, device.name.find(':'));  // "gfx90a:sramecc+:xnack-"
  device.sub_group_width = device_value<cl_uint>(id, kAmdWavefrontWidth, 64);
  device.local_banks = device_value<cl_uint>(id, kAmdLocalMemBanks, 32);
}

/// The sizes of sub-groups that a kernel can require; none: unknown.
std::vector<std::size_t> required_sub_group_sizes(cl_device_id id) {
  std::array<std::size_t, 8> widths{};
  std::size_t bytes = 0;
  if (clGetDeviceInfo(id, kIntelSubGroupSizes, sizeof widths, widths.data(), &bytes) != CL_SUCCESS) return {};
  return {widths.begin(), widths.begin() + std::min(bytes, sizeof widths) / sizeof(std::size_t)};
}

/// Work-items of the narrowest sub-group; 0: unknown.
std::size_t least_intel_sub_group(cl_device_id id) {
  const std::vector<std::size_t> widths = required_sub_group_sizes(id);
  return widths.empty() ? 0 : *std::min_element(widths.begin(), widths.end());
}

void add_intel_facts(cl_device_id id, Device& device) {
  // The widest sub-group is what the compiler chooses for a kernel without register pressure.
  const std::vector<std::size_t> widths = required_sub_group_sizes(id);
  device.sub_group_width = widths.empty() ? 16 : *std::max_element(widths.begin(), widths.end());
  device.local_banks = 16;  // 4 bytes wide: Intel oneAPI GPU optimization guide, "Shared Local Memory"
}

/// Device::ballot_width.
std::size_t ballot_width_of(cl_device_id id, const std::string& extensions, const Device& device) {
  std::vector<std::size_t> sizes;
  if (has_word(extensions, "cl_intel_required_subgroup_size")) sizes = required_sub_group_sizes(id);
  return usable_ballot_width(id, device, plan::expected_ballot_width(device, extensions, sizes));
}

/// Names with versions of an OpenCL 3.0 device, e.g. of its compiler's features; none from older ones.
std::vector<NameVersion> name_versions(cl_device_id id, cl_device_info what) {
  std::size_t bytes = 0;
  if (clGetDeviceInfo(id, what, 0, nullptr, &bytes) != CL_SUCCESS) return {};
  std::vector<NameVersion> found(bytes / sizeof(NameVersion));
  if (found.empty() || clGetDeviceInfo(id, what, bytes, found.data(), nullptr) != CL_SUCCESS) return {};
  return found;
}

/// In which OpenCL C the functions of sub-groups and the waits for copies compile. A device of OpenCL 3.0
/// need not take 2.0.
void add_language_facts(cl_device_id id, const std::string& extensions, Device& device) {
  LanguageFacts facts;
  for (const NameVersion& one : name_versions(id, kOpenClCAllVersions))
    facts.versions.push_back({one.version >> 22, one.version >> 12 & 0x3ff});
  for (const NameVersion& one : name_versions(id, kOpenClCFeatures))
    facts.features += std::string(" ") + one.name;
  facts.extensions = extensions;
  set_languages(facts, device);
}

}  // namespace

void set_languages(const LanguageFacts& facts, Device& device) {
  const auto has_version = [&](plan::Version wanted) {
    if (facts.versions.empty())  // a device older than OpenCL 3.0 takes all up to its own: "OpenCL C 2.0"
      return wanted <= plan::version_in(device.opencl_c);
    return std::find(facts.versions.begin(), facts.versions.end(), wanted) != facts.versions.end();
  };
  const bool khronos = has_word(facts.extensions, "cl_khr_subgroups");
  const bool intel = has_word(facts.extensions, "cl_intel_subgroups");
  device.sub_groups = true;
  if (has_version({2, 0}) && (khronos || intel)) {
    device.sub_group_language = "CL2.0";
  } else if (has_version({3, 0}) && has_word(facts.features, "__opencl_c_subgroups")) {
    device.sub_group_language = "CL3.0";
  } else if (intel) {
    device.sub_group_language = "CL1.2";
  } else {
    device.sub_groups = false;
  }
  // PoCL 5.0 and 6.0 end the process when a kernel of OpenCL C 1.2 waits for its copies: the function is
  // there for events in generic memory only.
  if (plan::is_pocl(device) && has_version({3, 0}) &&
      has_word(facts.features, "__opencl_c_generic_address_space"))
    device.event_language = "CL3.0";
}

std::vector<FoundDevice> find_devices() {
  // A process's first query of its devices is not thread-safe in every driver: PoCL 3.1 crashes when eight
  // threads make it at once, and does not once it has been made.
  static std::mutex one_at_a_time;
  const std::scoped_lock lock(one_at_a_time);
  cl_uint platform_count = 0;
  cl_int status = clGetPlatformIDs(0, nullptr, &platform_count);
  constexpr cl_int kPlatformNotFound = -1001;  // CL_PLATFORM_NOT_FOUND_KHR of cl_khr_icd
  if (status == kPlatformNotFound || platform_count == 0) return {};
  check(status, "clGetPlatformIDs", "devices");
  std::vector<cl_platform_id> platforms(platform_count);
  check(clGetPlatformIDs(platform_count, platforms.data(), nullptr), "clGetPlatformIDs", "devices");

  std::vector<FoundDevice> found;
  std::string why_none;
  for (cl_platform_id platform : platforms) {
    const std::string fault = why_platform_aborts(platform_text(platform, CL_PLATFORM_VERSION), host_facts());
    if (!fault.empty()) {
      why_none = fault;
      continue;
    }
    cl_uint count = 0;
    status = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count);
    if (status == CL_DEVICE_NOT_FOUND || count == 0) continue;
    check(status, "clGetDeviceIDs", "devices");
    std::vector<cl_device_id> ids(count);
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, ids.data(), nullptr), "clGetDeviceIDs",
          "devices");
    for (cl_device_id id : ids)
      found.push_back({platform, id});
  }
  if (found.empty() && !why_none.empty())
    plan::refuse("devices", "platform", "one that can be asked for its devices", why_none);
  return found;
}

Device facts_of(cl_device_id id) {
  Device device;
  const auto platform = device_value<cl_platform_id>(id, CL_DEVICE_PLATFORM);
  device.name = device_text(id, CL_DEVICE_NAME);
  device.platform = platform_text(platform, CL_PLATFORM_NAME);
  device.platform_version = platform_text(platform, CL_PLATFORM_VERSION);
  correct_compiler(device.platform_version);
  device.vendor_name = device_text(id, CL_DEVICE_VENDOR);
  device.driver = device_text(id, CL_DRIVER_VERSION);
  device.opencl_c = device_text(id, CL_DEVICE_OPENCL_C_VERSION);
  const std::string extensions = device_text(id, CL_DEVICE_EXTENSIONS);

  const auto type = device_value<cl_device_type>(id, CL_DEVICE_TYPE, CL_DEVICE_TYPE_GPU);
  device.type = (type & CL_DEVICE_TYPE_CPU) != 0           ? DeviceType::cpu
                : (type & CL_DEVICE_TYPE_ACCELERATOR) != 0 ? DeviceType::accelerator
                                                           : DeviceType::gpu;
  device.vendor = vendor_of(id, device);

  device.compute_units = device_value<cl_uint>(id, CL_DEVICE_MAX_COMPUTE_UNITS, 1);
  device.max_work_group = device_value<std::size_t>(id, CL_DEVICE_MAX_WORK_GROUP_SIZE, 1);
  std::array<std::size_t, 8> items{};  // drivers may have more than three dimensions
  if (clGetDeviceInfo(id, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof items, items.data(), nullptr) == CL_SUCCESS) {
    std::copy_n(items.begin(), 3, device.max_work_items.begin());
  }
  device.local_bytes_reported = device_value<cl_ulong>(id, CL_DEVICE_LOCAL_MEM_SIZE);
  device.local_bytes = device.local_bytes_reported;
  device.local_is_cache = device_value<cl_device_local_mem_type>(id, CL_DEVICE_LOCAL_MEM_TYPE) != CL_LOCAL;
  device.global_bytes = device_value<cl_ulong>(id, CL_DEVICE_GLOBAL_MEM_SIZE);
  device.max_allocation = device_value<cl_ulong>(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  device.cache_bytes = device_value<cl_ulong>(id, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE);
  device.cache_line_bytes = device_value<cl_uint>(id, CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE);
  if (device.cache_line_bytes == 0) device.cache_line_bytes = 64;  // the driver does not report it
  device.clock_mhz = device_value<cl_uint>(id, CL_DEVICE_MAX_CLOCK_FREQUENCY);
  device.vector_bytes = sizeof(cl_float) * device_value<cl_uint>(id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT);
  device.timer_ns = device_value<std::size_t>(id, CL_DEVICE_PROFILING_TIMER_RESOLUTION);
  device.fp64 = has_word(extensions, "cl_khr_fp64");
  device.fp16 = has_word(extensions, "cl_khr_fp16");
  device.int64_atomics = has_word(extensions, "cl_khr_int64_base_atomics");
  add_language_facts(id, extensions, device);
  // rusticl of Mesa 22.3 reads wrong bytes where a packed struct holds a vector.
  device.packed_vectors = device.platform != "rusticl";
  device.long_loops = device.platform != "rusticl";
  // Compilers that stay in LLVM take it to the hardware; Oclgrind and the way through SPIR-V (rusticl) refuse
  // it.
  device.prefetch_builtin = contains(device.platform, "Portable Computing Language") ||
                            contains(device.platform, "Intel(R) OpenCL");

  // PoCL's work-groups run each in a thread of the system, NVIDIA's multiprocessors keep every resident group
  // going; what is not known of a device is not assumed.
  device.forward_progress =
      (device.type == DeviceType::cpu && contains(device.platform, "Portable Computing Language")) ||
      (device.type == DeviceType::gpu && device.vendor == Vendor::nvidia && device.platform != "rusticl");
  device.ordered_start = device.forward_progress && device.type == DeviceType::gpu;

  if (device.type == DeviceType::cpu) {
    add_cpu_facts(device);
  } else if (device.vendor == Vendor::nvidia) {
    add_nvidia_facts(id, device);
  } else if (device.vendor == Vendor::amd) {
    add_amd_facts(id, device);
  } else if (device.vendor == Vendor::intel) {
    add_intel_facts(id, device);
  }
  device.local_bytes = usable_local_bytes(id, device);
  const bool has_dpas = has_word(extensions, "cl_intel_subgroup_matrix_multiply_accumulate");
  device.matrix_unit = usable_matrix_unit(
      id, device, plan::expected_matrix_unit(device, has_dpas ? least_intel_sub_group(id) : 0));
  device.ballot_width = ballot_width_of(id, extensions, device);
  device.unit = unit_limits(device);
  device.broken = plan::known_faults(device);
  return with_failures(clamp(plan::within_ranges(std::move(device)), environment("SMEM_CLAMP")));
}

namespace {

struct Candidate {
  FoundDevice found;
  Device facts;
};

/// Better devices compare greater: a GPU before an accelerator before a CPU, then by how much can run at
/// once.
std::pair<int, std::size_t> rank(const Device& device) {
  static const std::map<DeviceType, int> by_type{
      {DeviceType::gpu, 2}, {DeviceType::accelerator, 1}, {DeviceType::cpu, 0}};
  return {by_type.at(device.type), device.compute_units * std::max<std::size_t>(device.clock_mhz, 1)};
}

bool matches(const Candidate& candidate, std::size_t index, const std::string& wanted) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(wanted.data(), wanted.data() + wanted.size(), number);
  if (error == std::errc() && end == wanted.data() + wanted.size()) return number == index;
  if (wanted == "gpu" || wanted == "cpu" || wanted == "accelerator")
    return name_of(candidate.facts.type) == wanted;
  return contains(lower(candidate.facts.name), wanted) || contains(lower(candidate.facts.platform), wanted);
}

std::string list_of(const std::vector<Candidate>& candidates) {
  std::string text;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Device& d = candidates[i].facts;
    text += formatted("{}{} ({}, {}, {})", i == 0 ? "" : "; ", i, d.name, d.platform, name_of(d.type));
  }
  return text;
}

}  // namespace

FoundDevice choose_device(std::string wanted) {
  std::string argument = "device";
  if (wanted.empty()) {
    wanted = environment("SMEM_DEVICE");
    argument = "SMEM_DEVICE";
  }
  std::vector<Candidate> candidates;
  for (const FoundDevice& found : find_devices())
    candidates.push_back({found, facts_of(found.id)});
  if (candidates.empty()) {
    cl_uint platforms = 0;
    clGetPlatformIDs(0, nullptr, &platforms);
    plan::refuse("Context", "device", "an OpenCL device",
                 platforms == 0 ? "no OpenCL platform: install the GPU's OpenCL driver, or PoCL for the CPU "
                                  "(Debian package pocl-opencl-icd)"
                                : formatted("{} OpenCL platform(s) without any device", platforms));
  }
  const Candidate* best = nullptr;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!wanted.empty() && !matches(candidates[i], i, lower(wanted))) continue;
    if (best == nullptr || rank(best->facts) < rank(candidates[i].facts)) best = &candidates[i];
  }
  if (best == nullptr) {
    plan::refuse("Context", argument,
                 "an index, a part of a name, or gpu, cpu or accelerator, of one of: " + list_of(candidates),
                 formatted("\"{}\"", wanted));
  }
  return best->found;
}

}  // namespace runtime

std::vector<Device> devices() {
  std::vector<Device> facts;
  for (const runtime::FoundDevice& found : runtime::find_devices())
    facts.push_back(runtime::facts_of(found.id));
  return facts;
}

}  // namespace smem
