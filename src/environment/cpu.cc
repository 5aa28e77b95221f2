// Processor: model, topology, instruction sets, clocks, NUMA.
#include <algorithm>
#include <array>
#include <set>

#include "environment/readers.h"

namespace headroom::environment {
namespace {

/// Flags that choose kernels, in the words of /proc/cpuinfo (x86 "flags", Arm "Features").
constexpr std::array kFlags = {
    "sse4_2",      "avx",      "f16c",     "fma",      "bmi2",        "avx2",        "avx_vnni",
    "avx512f",     "avx512bw", "avx512dq", "avx512vl", "avx512_vnni", "avx512_bf16", "avx512_fp16",
    "avx512_vbmi", "amx_tile", "amx_bf16", "amx_int8", "asimd",       "asimdhp",     "asimddp",
    "sve",         "sve2",     "bf16",     "svebf16",  "i8mm",        "svei8mm"};

std::optional<std::string> isa(std::string_view cpuinfo) {
  auto text = value_of(cpuinfo, "flags", ':');
  if (!text) text = value_of(cpuinfo, "Features", ':');
  if (!text) return std::nullopt;
  std::set<std::string_view> have;
  for (std::string_view rest = *text; !rest.empty();) {
    const size_t end = std::min(rest.find(' '), rest.size());
    have.insert(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  std::string found;
  for (const char* flag : kFlags)
    if (have.contains(flag)) found += (found.empty() ? "" : " ") + std::string(flag);
  return found;
}

std::vector<std::string> cpu_folders(const Tree& tree) {
  std::vector<std::string> folders;
  for (const std::string& name : tree.list("sys/devices/system/cpu"))
    if (name.starts_with("cpu") && to_number(name.substr(3)))
      folders.push_back("sys/devices/system/cpu/" + name);
  return folders;
}

void read_topology(const Tree& tree, Manifest& out) {
  std::set<std::string> sockets;
  std::set<std::pair<std::string, std::string>> cores;
  int64_t threads = 0;
  for (const std::string& cpu : cpu_folders(tree)) {
    const auto socket = tree.read(cpu + "/topology/physical_package_id");
    const auto core = tree.read(cpu + "/topology/core_id");
    if (!socket || !core) continue;  // offline
    ++threads;
    sockets.insert(*socket);
    cores.insert({*socket, *core});
  }
  if (threads == 0) return;
  put(out, "cpu.sockets", static_cast<int64_t>(sockets.size()));
  put(out, "cpu.cores", static_cast<int64_t>(cores.size()));
  put(out, "cpu.threads", threads);
}

/// kHz as whole MHz.
std::string mhz(std::optional<int64_t> khz) {
  return khz ? std::to_string((*khz + 500) / 1000) : std::string();
}

void read_clocks(const Tree& tree, std::string_view cpuinfo, Manifest& out) {
  std::vector<std::string> governors, drivers, highest, bias;
  int64_t now = 0, counted = 0;
  for (const std::string& cpu : cpu_folders(tree)) {
    const std::string folder = cpu + "/cpufreq/";
    if (!tree.exists(folder)) continue;
    governors.push_back(tree.read(folder + "scaling_governor").value_or(""));
    drivers.push_back(tree.read(folder + "scaling_driver").value_or(""));
    bias.push_back(tree.read(folder + "energy_performance_preference").value_or(""));
    highest.push_back(mhz(tree.number(folder + "scaling_max_freq")));
    if (const auto khz = tree.number(folder + "scaling_cur_freq")) {
      now += *khz;
      ++counted;
    }
  }
  put(out, "cpu.governor", distinct(governors));
  put(out, "cpu.clock_driver", distinct(drivers));
  put(out, "cpu.energy_preference", distinct(bias));
  put(out, "cpu.clock_max_mhz", distinct(highest));
  if (counted > 0) {
    put(out, "cpu.clock_now_mhz", std::optional(mhz(now / counted)));
  } else if (const auto text = value_of(cpuinfo, "cpu MHz", ':')) {
    put(out, "cpu.clock_now_mhz", text->substr(0, text->find('.')));
  }
  const auto no_turbo = tree.number("sys/devices/system/cpu/intel_pstate/no_turbo");
  const auto boost = tree.number("sys/devices/system/cpu/cpufreq/boost");
  if (no_turbo)
    out["cpu.turbo"] = *no_turbo == 0 ? "on" : "off";
  else if (boost)
    out["cpu.turbo"] = *boost != 0 ? "on" : "off";
}

}  // namespace

void read_cpu(const Tree& tree, Manifest& out) {
  const std::string cpuinfo = tree.read("proc/cpuinfo").value_or("");
  put(out, "cpu.model", value_of(cpuinfo, "model name", ':'));
  put(out, "cpu.microcode", value_of(cpuinfo, "microcode", ':'));
  put(out, "cpu.isa", isa(cpuinfo));
  read_topology(tree, out);
  read_clocks(tree, cpuinfo, out);
  if (const auto smt = tree.number("sys/devices/system/cpu/smt/active"))
    out["cpu.smt"] = *smt != 0 ? "on" : "off";
  put(out, "cpu.isolated", tree.read("sys/devices/system/cpu/isolated"));
  if (const auto status = tree.read("proc/self/status"))
    if (const auto allowed = value_of(*status, "Cpus_allowed_list", ':'))
      put(out, "cpu.usable", count_of_list(*allowed));
  if (const auto nodes = tree.read("sys/devices/system/node/online"))
    put(out, "numa.nodes", count_of_list(*nodes));
  put(out, "numa.balancing", tree.number("proc/sys/kernel/numa_balancing"));
}

}  // namespace headroom::environment
