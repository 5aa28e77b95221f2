// Writes recipes as text, with the layout's flags in each framework's words.
#include "sweep/inferencex_recipe.h"

#include <algorithm>

namespace headroom::sweep {
namespace {

size_t points_of(const IxSearch& search) {
  return search.list.empty() ? ix_ladder(search.start, search.end).size() : search.list.size();
}

/// A double-quoted YAML scalar; `$` doubled, as recipes have templates.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '$') out += '$';
    if (static_cast<unsigned char>(c) < ' ')
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out + '"';
}

/// Empty: there is an equivalent.
std::string gap_of(const IxConfig& config, const IxScenario& scenario, const IxSearch& search) {
  if (scenario.agentic) return "replays of agentic traces are their own client's";
  if (search.prefill) return "several nodes with prefill and decode workers are started by scripts";
  if (config.framework != "vllm" && config.framework != "sglang")
    return fmt::format("framework {} has no known command line here", config.framework);
  if (search.speculative != "none")
    return fmt::format("the draft model and its flags for {} are in a script", search.speculative);
  if (config.router || search.router) return "a router stands before the server";
  if (config.framework == "sglang" && (search.single->dcp > 1 || search.single->pcp > 1))
    return "context parallel sizes have no flag of sglang here";
  return {};
}

using Words = std::vector<std::string>;

Words layout_flags(const std::string& framework, const IxWorker& w) {
  Words out;
  const auto add = [&](const char* flag, int64_t value) {
    out.push_back(flag);
    out.push_back(std::to_string(value));
  };
  if (framework == "vllm") {
    // Attention by data: each device holds all heads, the experts are spread.
    add("--tensor-parallel-size", w.dp_attention ? 1 : w.tp);
    if (w.dp_attention) add("--data-parallel-size", w.tp);
    if (w.pp > 1) add("--pipeline-parallel-size", w.pp);
    if (w.dcp > 1) add("--decode-context-parallel-size", w.dcp);
    if (w.pcp > 1) add("--prefill-context-parallel-size", w.pcp);
    if (w.ep > 1) out.push_back("--enable-expert-parallel");
    return out;
  }
  add("--tp-size", w.tp);
  if (w.pp > 1) add("--pp-size", w.pp);
  if (w.ep > 1) add("--ep-size", w.ep);
  if (w.dp_attention) {
    out.push_back("--enable-dp-attention");
    add("--dp-size", w.tp);
  }
  return out;
}

Words server_args(const IxConfig& config, int64_t context) {
  const std::string length = std::to_string(context);
  if (config.framework == "vllm")
    return {"serve",  "${model}", "--host",          "0.0.0.0",
            "--port", "${port}",  "--max-model-len", length};
  return {
      "-m",      "sglang.launch_server", "--model-path", "${model}", "--host", "0.0.0.0", "--port",
      "${port}", "--context-length",     length};
}

std::string list_of(const Words& words) {
  std::string out = "[";
  for (const std::string& word : words)
    out += (out.size() > 1 ? ", " : "") +
           (word.find('$') != std::string::npos ? "\"" + word + "\"" : quoted(word));
  return out + "]";
}

/// "cluster:h200-nb" → "h200".
std::string hardware_of(const std::string& runner) {
  const size_t colon = runner.find(':');
  const std::string label = colon == std::string::npos ? runner : runner.substr(colon + 1);
  return label.substr(0, label.find('-'));
}

std::string workload_of(const IxScenario& scenario) {
  for (const auto& [name, isl, osl] :
       {std::tuple("1k1k", 1024, 1024), std::tuple("1k8k", 1024, 8192),
        std::tuple("8k1k", 8192, 1024)})
    if (scenario.isl == isl && scenario.osl == osl)
      return fmt::format("  preset: inferencex-{}\n", name);
  return fmt::format(
      "  input: {}\n  output: {}\n  input_lengths: uniform:0.8\n  output_lengths: uniform:0.8\n"
      "  requests_per_stream: 10\n  warmup_per_stream: 2\n",
      scenario.isl, scenario.osl);
}

std::string levels_text(const IxSearch& search) {
  std::vector<int64_t> levels =
      search.list.empty() ? ix_ladder(search.start, search.end) : search.list;
  std::sort(levels.begin(), levels.end());
  levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
  return fmt::format("[{}]", fmt::join(levels, ", "));
}

std::string recipe_text(const IxConfig& config, const IxScenario& scenario, const std::string& name,
                        const std::vector<const IxSearch*>& searches) {
  std::string image = config.image;
  std::replace(image.begin(), image.end(), '#', '/');  // enroot's way of writing a registry
  const std::string hardware = hardware_of(config.runner);
  const bool amd = hardware.starts_with("mi");
  Words options = {config.framework == "vllm" ? "--entrypoint=vllm" : "--entrypoint=python3",
                   "--network=host", "--ipc=host"};
  if (amd)
    options.insert(options.end(), {"--device=/dev/kfd", "--device=/dev/dri"});
  else
    options.push_back("--gpus=all");
  const IxPoint first{&config, &scenario, searches.front(), {}, 0, false, std::nullopt};
  std::string text = fmt::format(
      "# Taken from InferenceX's configuration {} ({}).\n"
      "# Layouts, lengths and concurrencies are theirs; the flags that its launch scripts set\n"
      "# beyond the layout are not in that file: add those that matter.\n"
      "name: {}\nmodel: {}\nserver:\n  container:\n    image: {}\n    options: {}\n    args: {}\n"
      "  facts: {{framework: {}, precision: {}}}\n"
      "hardware: {{name: {}, devices: \"${{gpus}}\"}}\nworkload:\n{}search:\n",
      config.key, config.where, quoted(name), quoted(config.model), quoted(image), list_of(options),
      list_of(server_args(config, first.max_model_len())), quoted(config.framework),
      quoted(config.precision), quoted(hardware), workload_of(scenario));
  for (const IxSearch* search : searches) {
    const IxWorker& w = *search->single;
    text += fmt::format("  - tp: {}\n", w.tp);
    if (w.pp > 1) text += fmt::format("    pp: {}\n", w.pp);
    if (w.ep > 1) text += fmt::format("    ep: {}\n", w.ep);
    text += fmt::format("    set: {{gpus: {}, dp_attention: \"{}\", dcp: {}, pcp: {}}}\n",
                        w.tp * w.pp * w.pcp, w.dp_attention, w.dcp, w.pcp);
    text += fmt::format("    args: {}\n    concurrency: {}\n",
                        list_of(layout_flags(config.framework, w)), levels_text(*search));
  }
  return text;
}

std::string safe_name(std::string name) {
  for (char& c : name)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
          c == '_' || c == '.'))
      c = '-';
  return name;
}

}  // namespace

IxConversion ix_recipes(const std::vector<IxConfig>& configs) {
  IxConversion out;
  for (const IxConfig& config : configs)
    for (const auto* group : {&config.fixed, &config.agentic})
      for (const IxScenario& scenario : *group) {
        std::vector<const IxSearch*> taken;
        IxRecipe recipe;
        for (const IxSearch& search : scenario.search) {
          const std::string reason = gap_of(config, scenario, search);
          if (!reason.empty()) {
            out.gaps.push_back({config.key, search.where, reason, points_of(search)});
            continue;
          }
          taken.push_back(&search);
          recipe.points += points_of(search);
        }
        if (taken.empty()) continue;
        const IxPoint first{&config, &scenario, taken.front(), {}, 0, false, std::nullopt};
        const std::string lengths = first.experiment().substr(config.model_prefix.size() + 1);
        recipe.name = safe_name(config.key + "-" + lengths);
        recipe.text = recipe_text(config, scenario, recipe.name, taken);
        out.recipes.push_back(std::move(recipe));
      }
  return out;
}

}  // namespace headroom::sweep
