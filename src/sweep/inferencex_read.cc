// Reads the master files; each mapping has its own function, the rules between keys follow it.
#include <charconv>

#include "sweep/inferencex.h"
#include "sweep/yaml_reader.h"

namespace headroom::sweep {
namespace {

using base::Result;
using Keys = std::vector<std::string_view>;

[[nodiscard]] auto wrong(const YamlNode& node, std::string message) {
  return tl::unexpected(node.error(std::move(message)));
}

/// A whole number of at least `low`; digits may be grouped by `_`, as YAML 1.1 allows.
Result<int64_t> whole(const YamlNode& node, int64_t low) {
  if (node.is_scalar()) {
    HEADROOM_TRY(std::string text, node.text());
    if (text.find('_') != std::string::npos && text.front() != '_') {
      std::erase(text, '_');
      int64_t value = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (error == std::errc() && end == text.data() + text.size() && value >= low) return value;
    }
  }
  return node.integer(low);
}

Result<> read_whole(const YamlMap& map, std::string_view key, int64_t low, int64_t& out) {
  if (const auto node = map.find(key)) {
    HEADROOM_TRY(out, whole(*node, low));
  }
  return {};
}

Result<std::string> some_text(const YamlNode& node) {
  HEADROOM_TRY(std::string text, node.text());
  if (text.empty()) return wrong(node, "is empty");
  return text;
}

Result<std::string> need_text(const YamlMap& map, std::string_view key) {
  HEADROOM_TRY(const YamlNode node, map.need(key));
  return node.text();
}

Result<std::optional<std::string>> maybe_text(const YamlMap& map, std::string_view key) {
  const auto node = map.find(key);
  if (!node) return std::nullopt;
  HEADROOM_TRY(std::string text, some_text(*node));
  return text;
}

Result<std::optional<IxComponent>> component(const YamlMap& map, std::string_view key,
                                             bool needs_version) {
  const auto node = map.find(key);
  if (!node) return std::nullopt;
  HEADROOM_TRY(const YamlMap inner, node->map({"name", "version"}));
  IxComponent out;
  HEADROOM_TRY(const YamlNode name, inner.need("name"));
  HEADROOM_TRY(out.name, some_text(name));
  if (needs_version) HEADROOM_TRY_VOID(inner.need("version").map([](const auto&) {}));
  HEADROOM_TRY(out.version, maybe_text(inner, "version"));
  if (out.version && out.version->starts_with("image:"))
    return wrong(*inner.find("version"),
                 "must be a release, a package version or a commit, not an image");
  return out;
}

Result<> check_dcp(const IxWorker& worker, const YamlNode& node) {
  if (worker.tp % worker.dcp != 0)
    return wrong(node, fmt::format("tp {} is not divisible by dcp-size {}", worker.tp, worker.dcp));
  return {};
}

/// tp, pp, dcp-size, pcp-size, ep and dp-attn of a worker or of a single node.
Result<> read_parallel(const YamlMap& map, IxWorker& out) {
  HEADROOM_TRY_VOID(read_whole(map, "tp", 1, out.tp));
  HEADROOM_TRY_VOID(read_whole(map, "pp", 1, out.pp));
  HEADROOM_TRY_VOID(read_whole(map, "dcp-size", 1, out.dcp));
  HEADROOM_TRY_VOID(read_whole(map, "pcp-size", 1, out.pcp));
  HEADROOM_TRY_VOID(read_whole(map, "ep", 1, out.ep));
  HEADROOM_TRY(out.dp_attention, map.boolean_or("dp-attn", false));
  return check_dcp(out, map.node());
}

Result<IxWorker> worker(const YamlNode& node) {
  HEADROOM_TRY(const YamlMap map, node.map({"num-worker", "tp", "pp", "dcp-size", "pcp-size", "ep",
                                            "dp-attn", "hardware", "additional-settings"}));
  for (const char* key : {"num-worker", "tp", "ep", "dp-attn"})
    HEADROOM_TRY_VOID(map.need(key).map([](const auto&) {}));
  IxWorker out;
  // A prefill side of no worker stands for a server that is not split.
  HEADROOM_TRY_VOID(read_whole(map, "num-worker", 0, out.count));
  HEADROOM_TRY_VOID(read_parallel(map, out));
  HEADROOM_TRY(out.hardware, maybe_text(map, "hardware"));
  if (const auto settings = map.find("additional-settings")) {
    HEADROOM_TRY(const auto list, settings->list());
    out.settings.emplace();
    for (const YamlNode& entry : list) {
      HEADROOM_TRY(std::string text, entry.text());
      out.settings->push_back(std::move(text));
    }
  }
  return out;
}

Result<> read_concurrencies(const YamlMap& map, IxSearch& out) {
  const auto list = map.find("conc-list"), start = map.find("conc-start"),
             end = map.find("conc-end");
  if (start.has_value() != end.has_value())
    return wrong(map.node(),
                 fmt::format("{} is there without {}", start ? "conc-start" : "conc-end",
                             start ? "conc-end" : "conc-start"));
  if (list) {
    HEADROOM_TRY(const auto values, list->list());
    for (const YamlNode& value : values) {
      HEADROOM_TRY(const int64_t concurrency, whole(value, 1));
      out.list.push_back(concurrency);
    }
  }
  if (start && !out.list.empty())
    return wrong(map.node(), "has conc-list and conc-start with conc-end; only one may be there");
  if (!start && out.list.empty())
    return wrong(map.node(), "needs conc-list, or conc-start and conc-end");
  if (!start) return {};
  HEADROOM_TRY(out.start, whole(*start, 1));
  HEADROOM_TRY(out.end, whole(*end, 1));
  if (out.start > out.end)
    return wrong(*start, fmt::format("{} is above conc-end, {}", out.start, out.end));
  return {};
}

Result<> read_offload(const YamlMap& map, bool single, IxSearch& out) {
  if (const auto node = map.find("kv-offloading")) {
    HEADROOM_TRY(out.kv_offloading, node->one_of({"none", "dram"}));
  } else if (single) {
    return wrong(map.node(), "key \"kv-offloading\" is missing");
  }
  HEADROOM_TRY(out.offload_backend, component(map, "kv-offload-backend", false));
  const bool offloads = out.kv_offloading && *out.kv_offloading != "none";
  if (out.offload_backend && !offloads)
    return wrong(map.node(), "kv-offload-backend is only for a kv-offloading other than none");
  if (offloads && !out.offload_backend)
    return wrong(map.node(),
                 fmt::format("kv-offloading {} needs kv-offload-backend", *out.kv_offloading));
  return {};
}

/// The keys that an entry may have follow from what it is.
Keys search_keys(bool agentic, bool multinode) {
  Keys keys = {"spec-decoding", "router", "conc-start", "conc-end", "conc-list"};
  const auto add = [&](const Keys& more) { keys.insert(keys.end(), more.begin(), more.end()); };
  if (agentic || !multinode) add({"tp", "pp", "dcp-size", "pcp-size", "ep", "dp-attn"});
  if (agentic || multinode) add({"prefill", "decode", "kv-p2p-transfer"});
  if (agentic) add({"kv-offloading", "kv-offload-backend"});
  return keys;
}

Result<IxSearch> search(const YamlNode& node, bool agentic, bool multinode) {
  HEADROOM_TRY(const YamlMap map, node.map(search_keys(agentic, multinode)));
  IxSearch out;
  out.where = node.where();
  if (const auto speculative = map.find("spec-decoding")) {
    HEADROOM_TRY(out.speculative, speculative->one_of({"mtp", "draft_model", "none"}));
  }
  HEADROOM_TRY(out.router, component(map, "router", true));
  HEADROOM_TRY(out.kv_transfer, maybe_text(map, "kv-p2p-transfer"));
  HEADROOM_TRY_VOID(read_concurrencies(map, out));
  const auto tp = map.find("tp"), prefill = map.find("prefill"), decode = map.find("decode");
  if (multinode ? (tp || !prefill || !decode) : (!tp || prefill || decode))
    return wrong(node, multinode ? "needs prefill and decode, without tp, as multinode is true"
                                 : "needs tp, without prefill and decode, as multinode is false");
  if (multinode) {
    for (const char* key : {"pp", "dcp-size", "pcp-size", "ep", "dp-attn"})
      if (const auto stray = map.find(key))
        return wrong(*stray, "belongs to prefill and decode here");
    HEADROOM_TRY(out.prefill, worker(*prefill));
    HEADROOM_TRY(out.decode, worker(*decode));
    if (out.prefill->hardware.has_value() != out.decode->hardware.has_value())
      return wrong(node, "hardware must be told for both of prefill and decode, or for neither");
  } else {
    out.single.emplace();
    HEADROOM_TRY_VOID(read_parallel(map, *out.single));
  }
  if (agentic) HEADROOM_TRY_VOID(read_offload(map, !multinode, out));
  return out;
}

Result<std::string> utilization(const YamlNode& node) {
  HEADROOM_TRY(const double value, node.number(0, 1));
  HEADROOM_TRY(std::string text, node.text());
  const bool plain = text.find_first_not_of("0123456789.") == std::string::npos;
  if (value <= 0 || !plain || text.size() > 12)
    return wrong(node, fmt::format("value {} must be a decimal above 0 and at most 1", text));
  return text;
}

Result<IxScenario> scenario(const YamlNode& node, bool agentic, bool multinode) {
  IxScenario out;
  out.agentic = agentic;
  HEADROOM_TRY(const YamlMap map, node.map(agentic ? Keys{"search-space", "dram-utilization"}
                                                   : Keys{"search-space", "isl", "osl"}));
  if (!agentic) {
    for (const char* key : {"isl", "osl"}) HEADROOM_TRY_VOID(map.need(key).map([](const auto&) {}));
    HEADROOM_TRY_VOID(read_whole(map, "isl", 1, out.isl));
    HEADROOM_TRY_VOID(read_whole(map, "osl", 1, out.osl));
  }
  if (const auto share = map.find("dram-utilization")) {
    HEADROOM_TRY(out.dram_utilization, utilization(*share));
  }
  HEADROOM_TRY(const YamlNode space, map.need("search-space"));
  HEADROOM_TRY(const auto entries, space.list());
  for (const YamlNode& entry : entries) {
    HEADROOM_TRY(IxSearch one, search(entry, agentic, multinode));
    if (one.kv_offloading == "dram" && !out.dram_utilization)
      return wrong(entry, "kv-offloading dram needs dram-utilization beside search-space");
    out.search.push_back(std::move(one));
  }
  return out;
}

Result<std::vector<IxScenario>> scenarios(const YamlMap& map, std::string_view key, bool agentic,
                                          bool multinode) {
  std::vector<IxScenario> out;
  if (const auto node = map.find(key)) {
    HEADROOM_TRY(const auto list, node->list());
    for (const YamlNode& entry : list) {
      HEADROOM_TRY(IxScenario one, scenario(entry, agentic, multinode));
      out.push_back(std::move(one));
    }
  }
  return out;
}

/// Router and transfer stand on top or in the entries, and a split server has a transfer.
Result<> check_components(const IxConfig& config, const YamlNode& node) {
  bool router = false, transfer = false, all_transfer = true, any = false;
  for (const auto* group : {&config.fixed, &config.agentic})
    for (const IxScenario& scenario : *group)
      for (const IxSearch& entry : scenario.search) {
        any = true;
        router = router || entry.router;
        transfer = transfer || entry.kv_transfer;
        all_transfer = all_transfer && entry.kv_transfer;
      }
  if (config.router && router)
    return wrong(node, "router stands on top and in search-space entries; one place is right");
  if (config.kv_transfer && transfer)
    return wrong(node,
                 "kv-p2p-transfer stands on top and in search-space entries; one place is right");
  if (!config.multinode && transfer)
    return wrong(node, "kv-p2p-transfer is only for multinode: true");
  if (config.disagg && !config.older_layout && !config.kv_transfer && !(any && all_transfer))
    return wrong(node, "disagg: true needs kv-p2p-transfer on top or in every search-space entry");
  return {};
}

Result<IxConfig> config(const std::string& key, const YamlNode& node) {
  IxConfig out;
  out.key = key;
  out.where = node.where();
  if (key.find('*') != std::string::npos)
    return wrong(node, "the key holds `*`, which is a wildcard elsewhere");
  HEADROOM_TRY(const YamlMap map, node.map({"image", "model", "model-prefix", "runner", "precision",
                                            "framework", "multinode", "disagg", "router",
                                            "kv-p2p-transfer", "scenarios", "seq-len-configs"}));
  HEADROOM_TRY(out.image, need_text(map, "image"));
  HEADROOM_TRY(out.model, need_text(map, "model"));
  HEADROOM_TRY(out.model_prefix, need_text(map, "model-prefix"));
  HEADROOM_TRY(out.runner, need_text(map, "runner"));
  HEADROOM_TRY(out.precision, need_text(map, "precision"));
  HEADROOM_TRY(out.framework, need_text(map, "framework"));
  HEADROOM_TRY(const YamlNode multinode, map.need("multinode"));
  HEADROOM_TRY(out.multinode, multinode.boolean());
  HEADROOM_TRY(out.disagg, map.boolean_or("disagg", false));
  if (out.disagg && !out.multinode)
    return wrong(*map.find("disagg"), "true is only for multinode: true");
  HEADROOM_TRY(out.router, component(map, "router", true));
  HEADROOM_TRY(out.kv_transfer, maybe_text(map, "kv-p2p-transfer"));
  if (out.kv_transfer && !out.multinode)
    return wrong(*map.find("kv-p2p-transfer"), "is only for multinode: true");
  const auto newer = map.find("scenarios");
  out.older_layout = map.has("seq-len-configs");
  if (newer.has_value() == out.older_layout)
    return wrong(node, newer ? "has scenarios and seq-len-configs; only one may be there"
                             : "key \"scenarios\" is missing");
  if (newer) {
    HEADROOM_TRY(const YamlMap inner, newer->map({"fixed-seq-len", "agentic-coding"}));
    HEADROOM_TRY(out.fixed, scenarios(inner, "fixed-seq-len", false, out.multinode));
    HEADROOM_TRY(out.agentic, scenarios(inner, "agentic-coding", true, out.multinode));
  } else {
    HEADROOM_TRY(out.fixed, scenarios(map, "seq-len-configs", false, out.multinode));
  }
  if (out.fixed.empty() && out.agentic.empty())
    return wrong(node, "holds no scenario; fixed-seq-len or agentic-coding must");
  if (!out.agentic.empty() && !out.runner.starts_with("cluster:"))
    return wrong(*map.find("runner"), fmt::format("value \"{}\" must be cluster:NAME, as the "
                                                  "configuration has agentic scenarios",
                                                  out.runner));
  HEADROOM_TRY_VOID(check_components(out, node));
  return out;
}

}  // namespace

Result<std::vector<IxConfig>> parse_inferencex(std::string_view text, const std::string& file) {
  HEADROOM_TRY(const YamlNode root, read_yaml(text, file));
  HEADROOM_TRY(const YamlMap map, root.any_map());
  std::vector<IxConfig> out;
  for (const auto& [key, node] : map.entries()) {
    HEADROOM_TRY(IxConfig one, config(key, node));
    out.push_back(std::move(one));
  }
  return out;
}

Result<IxRunners> parse_inferencex_runners(std::string_view text, const std::string& file) {
  HEADROOM_TRY(const YamlNode root, read_yaml(text, file));
  HEADROOM_TRY(const YamlMap map, root.map({"labels", "hardware"}));
  IxRunners out;
  HEADROOM_TRY(const YamlNode labels, map.need("labels"));
  HEADROOM_TRY(const YamlMap by_label, labels.any_map());
  for (const auto& [label, node] : by_label.entries()) {
    HEADROOM_TRY(const auto hosts, node.list());
    if (hosts.empty()) return wrong(node, "must name at least one runner");
    for (const YamlNode& host : hosts) {
      HEADROOM_TRY(std::string name, host.text());
      out.labels[label].push_back(std::move(name));
    }
  }
  if (const auto hardware = map.find("hardware")) {
    HEADROOM_TRY(const YamlMap by_name, hardware->any_map());
    for (const auto& [name, node] : by_name.entries()) {
      HEADROOM_TRY(const YamlMap entry, node.map({"available-cpu-dram-mib", "gpus-per-node"}));
      for (const char* key : {"available-cpu-dram-mib", "gpus-per-node"})
        HEADROOM_TRY_VOID(entry.need(key).map([](const auto&) {}));
      IxRunners::Hardware& h = out.hardware[name];
      HEADROOM_TRY_VOID(read_whole(entry, "available-cpu-dram-mib", 1, h.cpu_dram_mib));
      HEADROOM_TRY_VOID(read_whole(entry, "gpus-per-node", 1, h.gpus_per_node));
    }
  }
  return out;
}

}  // namespace headroom::sweep
