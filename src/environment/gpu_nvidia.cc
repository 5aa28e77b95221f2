// NVIDIA devices, from the driver's management library, loaded late: no build depends on it.
#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <functional>

#include "environment/readers.h"

namespace headroom::environment {
namespace {

// The library's C interface, as far as it is used here: every call gives 0 for success.
using Device = void*;
enum Clock : unsigned { kSmClock = 1, kMemoryClock = 2 };
struct Memory {
  unsigned long long total, free, used;
};

class Library {
 public:
  explicit Library(const std::string& name) : handle_(::dlopen(name.c_str(), RTLD_NOW)) {
    const auto init = find<int()>("nvmlInit_v2");
    ready_ = init != nullptr && init() == 0;
  }
  ~Library() {
    const auto shutdown = find<int()>("nvmlShutdown");
    if (ready_ && shutdown != nullptr) shutdown();
    if (handle_ != nullptr) ::dlclose(handle_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  bool ready() const { return ready_; }

  /// Calls `name`; false when the library lacks it or it fails.
  template <typename... Args>
  bool call(const char* name, Args... args) const {
    const auto function = find<int(Args...)>(name);
    return function != nullptr && function(args...) == 0;
  }

 private:
  template <typename Signature>
  Signature* find(const char* name) const {
    if (handle_ == nullptr) return nullptr;
    return reinterpret_cast<Signature*>(::dlsym(handle_, name));
  }
  void* handle_;
  bool ready_ = false;
};

std::string number_from(const Library& nvml, const char* name, Device device, unsigned divisor) {
  unsigned value = 0;
  return nvml.call(name, device, &value) ? std::to_string(value / divisor) : std::string();
}

std::string clock_from(const Library& nvml, const char* name, Device device, Clock clock) {
  unsigned mhz = 0;
  return nvml.call(name, device, static_cast<unsigned>(clock), &mhz) ? std::to_string(mhz) : "";
}

/// Current mode of a pair (current, pending).
std::string mode_from(const Library& nvml, const char* name, Device device) {
  unsigned current = 0, pending = 0;
  if (!nvml.call(name, device, &current, &pending)) return {};
  return current != 0 ? "on" : "off";
}

std::optional<std::string> text_from(const Library& nvml, const char* name) {
  std::array<char, 96> text{};
  if (!nvml.call(name, text.data(), static_cast<unsigned>(text.size()))) return std::nullopt;
  return std::string(text.data());
}

std::map<std::string, std::string> describe_device(const Library& nvml, Device device) {
  std::map<std::string, std::string> facts;
  std::array<char, 96> name{};
  if (nvml.call("nvmlDeviceGetName", device, name.data(), static_cast<unsigned>(name.size())))
    facts["gpu.name"] = name.data();
  Memory memory{};
  if (nvml.call("nvmlDeviceGetMemoryInfo", device, &memory))
    facts["gpu.memory_mib"] = std::to_string(memory.total >> 20);
  facts["gpu.clock_sm_max_mhz"] = clock_from(nvml, "nvmlDeviceGetMaxClockInfo", device, kSmClock);
  facts["gpu.clock_memory_max_mhz"] =
      clock_from(nvml, "nvmlDeviceGetMaxClockInfo", device, kMemoryClock);
  facts["gpu.clock_sm_now_mhz"] = clock_from(nvml, "nvmlDeviceGetClockInfo", device, kSmClock);
  facts["gpu.clock_memory_now_mhz"] =
      clock_from(nvml, "nvmlDeviceGetClockInfo", device, kMemoryClock);
  facts["gpu.power_limit_w"] =  // mW
      number_from(nvml, "nvmlDeviceGetEnforcedPowerLimit", device, 1000);
  facts["gpu.power_default_w"] =
      number_from(nvml, "nvmlDeviceGetPowerManagementDefaultLimit", device, 1000);
  facts["gpu.ecc"] = mode_from(nvml, "nvmlDeviceGetEccMode", device);
  facts["gpu.mig"] = mode_from(nvml, "nvmlDeviceGetMigMode", device);
  facts["gpu.pcie_generation"] = number_from(nvml, "nvmlDeviceGetMaxPcieLinkGeneration", device, 1);
  facts["gpu.pcie_width"] = number_from(nvml, "nvmlDeviceGetMaxPcieLinkWidth", device, 1);
  facts["gpu.temperature_now_c"] = clock_from(nvml, "nvmlDeviceGetTemperature", device, Clock{});
  int major = 0, minor = 0;
  if (nvml.call("nvmlDeviceGetCudaComputeCapability", device, &major, &minor))
    facts["gpu.architecture"] = fmt::format("sm_{}{}", major, minor);
  return facts;
}

}  // namespace

bool read_nvidia_gpus(const std::string& library, Manifest& out) {
  const Library nvml(library);
  unsigned count = 0;
  if (!nvml.ready() || !nvml.call("nvmlDeviceGetCount_v2", &count) || count == 0) return false;
  out["gpu.count"] = std::to_string(count);
  put(out, "gpu.driver", text_from(nvml, "nvmlSystemGetDriverVersion"));
  int cuda = 0;
  if (nvml.call("nvmlSystemGetCudaDriverVersion_v2", &cuda) && cuda > 0)
    out["cuda.version"] = fmt::format("{}.{}", cuda / 1000, cuda % 1000 / 10);
  std::map<std::string, std::vector<std::string>> facts;
  for (unsigned i = 0; i < count; ++i) {
    Device device = nullptr;
    if (!nvml.call("nvmlDeviceGetHandleByIndex_v2", i, &device)) continue;
    for (const auto& [name, value] : describe_device(nvml, device)) {
      facts[name].resize(i);  // a device that does not tell keeps its place
      facts[name].push_back(value);
    }
  }
  for (auto& [name, values] : facts) {
    values.resize(count);
    put(out, name, merged(values));
  }
  return true;
}

}  // namespace headroom::environment
