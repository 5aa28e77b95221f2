// environment: the manifest of this machine, every fact that can change a measured figure.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::environment {

/// Name → value; names are dotted and lower case ("cpu.model", "gpu.clock_sm_max_mhz"), units are
/// the name's last part. What cannot be read is absent, never empty or zero. Names that end in
/// `_now` or hold `_now_` are readings that move by themselves (a clock, the load); all others
/// describe how the machine is set up. Where devices differ, a value lists them: "700; 700; 500".
using Manifest = std::map<std::string, std::string>;

struct Options {
  /// Where /proc, /sys, /etc, /run and /opt are found; tests give recorded trees.
  std::filesystem::path root = "/";
  /// "NAME=value" each; absent: the process's own.
  std::optional<std::vector<std::string>> variables;
  /// NVIDIA's management library as given to dlopen(); empty: it is not asked.
  std::string nvml = "libnvidia-ml.so.1";
};

/// Never fails and never waits for anything but files and the driver. Names of variables that look
/// like secrets (KEY, TOKEN, SECRET, PASSWORD …) and values with credentials in a URL are left out.
Manifest describe(const Options& options = {});

/// Does the variable look like a secret, by its name or by credentials in its value?
bool is_secret(std::string_view name, std::string_view value);

}  // namespace headroom::environment
