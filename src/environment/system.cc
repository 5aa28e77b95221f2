// System: kernel, distribution, virtual or not, time.
#include <array>

#include "environment/readers.h"

namespace headroom::environment {
namespace {

/// Kernel parameters that change speed; the others may name hosts and disks.
constexpr std::array kKernelParameters = {"mitigations",
                                          "isolcpus",
                                          "nohz_full",
                                          "rcu_nocbs",
                                          "intel_pstate",
                                          "amd_pstate",
                                          "intel_iommu",
                                          "amd_iommu",
                                          "iommu",
                                          "hugepages",
                                          "hugepagesz",
                                          "idle",
                                          "nosmt",
                                          "intel_idle.max_cstate",
                                          "processor.max_cstate",
                                          "transparent_hugepage",
                                          "preempt",
                                          "pci"};

void read_kernel(const Tree& tree, Manifest& out) {
  put(out, "kernel.release", tree.read("proc/sys/kernel/osrelease"));
  put(out, "kernel.build", tree.read("proc/sys/kernel/version"));
  put(out, "host", tree.read("proc/sys/kernel/hostname"));
  std::string parameters;
  const std::string line = tree.read("proc/cmdline").value_or("");
  for (std::string_view rest = line; !rest.empty();) {
    const size_t end = std::min(rest.find(' '), rest.size());
    const std::string_view word = rest.substr(0, end);
    for (const char* name : kKernelParameters)
      if (word.substr(0, word.find('=')) == name)
        parameters += (parameters.empty() ? "" : " ") + std::string(word);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  put(out, "kernel.parameters", std::optional(parameters));
}

std::string unquoted(std::string text) {
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"')
    return text.substr(1, text.size() - 2);
  return text;
}

void read_distribution(const Tree& tree, Manifest& out) {
  auto release = tree.read("etc/os-release");
  if (!release) release = tree.read("usr/lib/os-release");
  if (!release) return;
  if (const auto name = value_of(*release, "PRETTY_NAME", '=')) out["os.release"] = unquoted(*name);
}

void read_machine(const Tree& tree, Manifest& out) {
  std::string product = tree.read("sys/class/dmi/id/sys_vendor").value_or("");
  if (const auto name = tree.read("sys/class/dmi/id/product_name"))
    product += (product.empty() ? "" : " ") + *name;
  put(out, "system.product", std::optional(product));
  put(out, "system.bios", tree.read("sys/class/dmi/id/bios_version"));
  if (const auto type = tree.read("sys/hypervisor/type")) {
    out["system.virtual"] = *type;
  } else if (const auto cpuinfo = tree.read("proc/cpuinfo")) {
    // Only x86 tells; the flag is set by every hypervisor that does not hide itself.
    if (const auto flags = value_of(*cpuinfo, "flags", ':'))
      out["system.virtual"] =
          (" " + *flags + " ").find(" hypervisor ") == std::string::npos ? "no" : "yes";
  }
}

}  // namespace

void read_system(const Tree& tree, Manifest& out) {
  read_kernel(tree, out);
  read_distribution(tree, out);
  read_machine(tree, out);
  put(out, "clock.source",
      tree.read("sys/devices/system/clocksource/clocksource0/current_clocksource"));
  put(out, "clock.zone", tree.read("etc/timezone"));
  if (const auto load = tree.read("proc/loadavg"))
    out["load.now"] = load->substr(0, load->find(' '));
}

}  // namespace headroom::environment
