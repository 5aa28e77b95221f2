// AMD devices, from the amdgpu driver's files.
#include <fmt/format.h>

#include "environment/readers.h"

namespace headroom::environment {
namespace {

/// The starred line of a clock table, or its last: "1: 2100Mhz *" → "2100".
std::string clock_mhz(const std::optional<std::string>& table, bool highest) {
  std::string found;
  if (!table) return found;
  for (const std::string_view line : lines_of(*table)) {
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view value = trimmed(line.substr(colon + 1));
    if (!highest && !value.ends_with('*')) continue;
    found = value.substr(0, value.find_first_not_of("0123456789"));
  }
  return found;
}

/// 90402 → "gfx942": major, minor, step, the last two in hexadecimal.
std::string gfx_name(int64_t version) {
  return fmt::format("gfx{}{:x}{:x}", version / 10000, version / 100 % 100, version % 100);
}

std::vector<std::string> gfx_names(const Tree& tree) {
  std::vector<std::string> names;
  const std::string nodes = "sys/class/kfd/kfd/topology/nodes";
  for (const std::string& node : tree.list(nodes)) {
    const auto properties = tree.read(nodes + "/" + node + "/properties").value_or("");
    const auto version = value_of(properties, "gfx_target_version", ' ');
    const auto number = version ? to_number(*version) : std::nullopt;
    if (number && *number > 0) names.push_back(gfx_name(*number));
  }
  return names;
}

}  // namespace

void read_amd_gpus(const Tree& tree, Manifest& out) {
  std::map<std::string, std::vector<std::string>> facts;
  size_t count = 0;
  for (const std::string& card : tree.list("sys/class/drm")) {
    if (!card.starts_with("card") || !to_number(card.substr(4))) continue;  // not card0-DP-1
    const std::string device = "sys/class/drm/" + card + "/device/";
    if (tree.read(device + "vendor") != "0x1002" || !tree.exists(device + "mem_info_vram_total"))
      continue;
    ++count;
    const auto add = [&](const char* name, std::optional<std::string> value) {
      facts[name].push_back(value.value_or(""));
    };
    add("gpu.name", tree.read(device + "product_name"));
    add("gpu.device_id", tree.read(device + "device"));
    const auto memory = tree.number(device + "mem_info_vram_total");
    add("gpu.memory_mib", memory ? std::optional(std::to_string(*memory >> 20)) : std::nullopt);
    add("gpu.clock_sm_max_mhz", clock_mhz(tree.read(device + "pp_dpm_sclk"), true));
    add("gpu.clock_memory_max_mhz", clock_mhz(tree.read(device + "pp_dpm_mclk"), true));
    add("gpu.clock_sm_now_mhz", clock_mhz(tree.read(device + "pp_dpm_sclk"), false));
    add("gpu.performance_level", tree.read(device + "power_dpm_force_performance_level"));
    add("gpu.compute_partition", tree.read(device + "current_compute_partition"));
    add("gpu.memory_partition", tree.read(device + "current_memory_partition"));
    add("gpu.vbios", tree.read(device + "vbios_version"));
    std::optional<std::string> watts;
    for (const std::string& monitor : tree.list(device + "hwmon"))
      if (const auto cap = tree.number(device + "hwmon/" + monitor + "/power1_cap"))
        watts = std::to_string(*cap / 1'000'000);  // µW
    add("gpu.power_limit_w", watts);
  }
  if (count == 0) return;
  put(out, "gpu.count", static_cast<int64_t>(count));
  for (const auto& [name, values] : facts) put(out, name, merged(values));
  const auto names = gfx_names(tree);
  put(out, "gpu.architecture", merged(names));
  put(out, "gpu.driver", tree.read("sys/module/amdgpu/version"));
  put(out, "rocm.version", tree.read("opt/rocm/.info/version"));
}

}  // namespace headroom::environment
