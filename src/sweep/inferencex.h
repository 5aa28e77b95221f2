// InferenceX's recipes: its master YAML and its table of runners, read as strictly as it does.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace headroom::sweep {

/// A part with a version of its own; `version` may be absent for KV offload backends alone.
struct IxComponent {
  std::string name;
  std::optional<std::string> version;
};

/// Prefill or decode workers; `tp` × `pp` × `pcp` devices each. `dcp` divides tp and adds none.
struct IxWorker {
  int64_t count = 1, tp = 1, pp = 1, dcp = 1, pcp = 1, ep = 1;
  bool dp_attention = false;
  std::optional<std::string> hardware;
  std::optional<std::vector<std::string>> settings;  // "NAME=value": environment variables
};

/// One line of a search space: a layout and its concurrencies.
struct IxSearch {
  std::optional<IxWorker> single, prefill, decode;  // single (count 1), or both others
  std::string speculative = "none";                 // "mtp" | "draft_model" | "none"
  std::optional<IxComponent> router, offload_backend;
  std::optional<std::string> kv_transfer;
  std::optional<std::string> kv_offloading;  // agentic: "none" | "dram"
  std::vector<int64_t> list;                 // given one by one, or
  int64_t start = 0, end = 0;                // a ladder
  std::string where;                         // FILE:LINE
};

struct IxScenario {
  bool agentic = false;
  int64_t isl = 0, osl = 0;                     // fixed lengths
  std::optional<std::string> dram_utilization;  // agentic; decimal as written, in (0, 1]
  std::vector<IxSearch> search;
};

struct IxConfig {
  std::string key, where;
  std::string image, model, model_prefix, runner, precision, framework;
  bool multinode = false, disagg = false;
  bool older_layout = false;  // `seq-len-configs` on top, as until spring 2026
  std::optional<IxComponent> router;
  std::optional<std::string> kv_transfer;
  std::vector<IxScenario> fixed, agentic;
};

struct IxRunners {
  struct Hardware {
    int64_t cpu_dram_mib = 0, gpus_per_node = 0;
  };
  std::map<std::string, std::vector<std::string>> labels;
  std::map<std::string, Hardware> hardware;
};

/// Configurations in the order of the file. Errors (kInvalidArgument): FILE:LINE, the path, and
/// what is wrong: unknown, missing or double keys, wrong types, and every rule that ties keys
/// together (range or list of concurrencies, dcp divides tp, hardware on both sides or neither,
/// router and transfer in one place, disagg needs a transfer, agentic runs need a cluster …). Files
/// in the older layout knew no transfers: there the rule about them does not hold.
base::Result<std::vector<IxConfig>> parse_inferencex(std::string_view text,
                                                     const std::string& file);
base::Result<IxRunners> parse_inferencex_runners(std::string_view text, const std::string& file);

}  // namespace headroom::sweep
