// Control groups: the CPU and memory that this process may use, versions 2 and 1.
#include <fmt/format.h>

#include "environment/readers.h"

namespace headroom::environment {
namespace {

struct Limits {
  std::optional<double> cpus;
  std::optional<int64_t> memory;  // bytes
};

void lower(auto& limit, auto seen) {
  if (!limit || seen < *limit) limit = seen;
}

/// Every folder from `path` up to the root may limit; the lowest counts.
template <typename Visit>
void upwards(const std::string& base, std::string path, const Visit& visit) {
  while (true) {
    visit(base + path);
    if (path.empty()) return;
    path.erase(path.rfind('/'));
  }
}

/// "max 100000" or "150000 100000".
std::optional<double> cpus_of(const std::string& text) {
  const size_t space = text.find(' ');
  if (space == std::string::npos) return std::nullopt;
  const auto quota = to_number(std::string_view(text).substr(0, space));
  const auto period = to_number(std::string_view(text).substr(space + 1));
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

std::string path_in(std::string_view groups, std::string_view controller) {
  for (const std::string_view line : lines_of(groups)) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string names = "," + std::string(line.substr(first + 1, second - first - 1)) + ",";
    if (names != "," + std::string(controller) + "," &&
        (controller.empty() ||
         names.find("," + std::string(controller) + ",") == std::string::npos))
      continue;
    std::string path(trimmed(line.substr(second + 1)));
    while (!path.empty() && path.back() == '/') path.pop_back();
    // Outside our own mount ("/../…") only the mount's root can be read.
    return path.starts_with("/") && !path.starts_with("/..") ? path : std::string();
  }
  return {};
}

}  // namespace

void read_cgroup(const Tree& tree, Manifest& out) {
  const std::string groups = tree.read("proc/self/cgroup").value_or("");
  Limits limits;
  const auto memory = [&](const std::string& file) {
    // Version 1 writes "no limit" as the largest multiple of a page.
    if (const auto bytes = tree.number(file); bytes && *bytes < int64_t{1} << 60)
      lower(limits.memory, *bytes);
  };
  if (tree.exists("sys/fs/cgroup/cgroup.controllers")) {
    out["cgroup.version"] = "2";
    upwards("sys/fs/cgroup", path_in(groups, ""), [&](const std::string& folder) {
      if (const auto text = tree.read(folder + "/cpu.max"))
        if (const auto cpus = cpus_of(*text)) lower(limits.cpus, *cpus);
      memory(folder + "/memory.max");
    });
  } else if (tree.exists("sys/fs/cgroup/memory") || tree.exists("sys/fs/cgroup/cpu")) {
    out["cgroup.version"] = "1";
    upwards("sys/fs/cgroup/cpu", path_in(groups, "cpu"), [&](const std::string& folder) {
      const auto quota = tree.number(folder + "/cpu.cfs_quota_us");
      const auto period = tree.number(folder + "/cpu.cfs_period_us");
      if (quota && period && *quota > 0 && *period > 0)
        lower(limits.cpus, static_cast<double>(*quota) / static_cast<double>(*period));
    });
    upwards("sys/fs/cgroup/memory", path_in(groups, "memory"),
            [&](const std::string& folder) { memory(folder + "/memory.limit_in_bytes"); });
  }
  if (limits.cpus) out["cgroup.cpus"] = fmt::format("{:.6g}", *limits.cpus);
  if (limits.memory) put(out, "cgroup.memory_mib", *limits.memory >> 20);
}

}  // namespace headroom::environment
