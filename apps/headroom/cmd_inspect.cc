// headroom inspect: what a model is made of: shapes, parameters, stored bytes, cache cost.
#include <cstdio>
#include <map>

#include "base/json_writer.h"
#include "base/table.h"
#include "commands.h"
#include "kernels/kv_cache.h"
#include "limit/catalog.h"
#include "model/weight_map.h"
#include "tensor/safetensors.h"

namespace headroom::apps {
namespace {

struct Group {
  int64_t tensors = 0, parameters = 0, stored_bytes = 0;
};

struct Inspection {
  model::Config config;
  model::ParameterCount parameters;
  std::map<std::string, Group> kinds;                  // by what the tensors are for
  std::map<std::string, Group> dtypes;                 // stored ones
  bool stored = false;                                 // a checkpoint was there
  std::vector<std::pair<std::string, int64_t>> cache;  // bytes of a token over all layers
};

base::Result<Inspection> inspect(const std::string& path) {
  Inspection out;
  HEADROOM_TRY(out.config, limit::find_config(path));
  out.parameters = model::count_parameters(out.config);
  std::map<std::string, std::string> kind_of;
  for (const model::TensorSpec& spec : model::tensor_specs(out.config)) {
    const std::string kind(model::tensor_kind_name(spec.kind));
    ++out.kinds[kind].tensors;
    out.kinds[kind].parameters += spec.elements();
    kind_of.emplace(spec.name, kind);
  }
  for (const auto type : {kernels::KvType::kFp32, kernels::KvType::kBf16, kernels::KvType::kFp8})
    if (type != kernels::KvType::kFp8 || out.config.latent % 128 == 0)
      out.cache.emplace_back(
          kernels::kv_type_name(type),
          out.config.layers * kernels::kv_row_bytes(type, out.config.latent, out.config.rope));
  if (!std::filesystem::is_directory(path)) return out;

  HEADROOM_TRY(const tensor::Checkpoint checkpoint, tensor::Checkpoint::open(path));
  out.stored = true;
  for (const tensor::Tensor& tensor : checkpoint.tensors()) {
    const auto it = kind_of.find(tensor.name);
    const char* other =
        model::is_mtp_tensor(out.config, tensor.name) ? "next-token layer (not used)" : "other";
    Group& kind = out.kinds[it == kind_of.end() ? other : it->second];
    Group& type = out.dtypes[std::string(tensor::dtype_name(tensor.dtype))];
    const auto bytes = static_cast<int64_t>(tensor.data.size());
    kind.stored_bytes += bytes;
    if (it == kind_of.end()) {
      ++kind.tensors;
      kind.parameters += tensor.elements();
    }
    ++type.tensors;
    type.parameters += tensor.elements();
    type.stored_bytes += bytes;
  }
  return out;
}

/// 18.9 M, 1.03 T.
std::string amount(int64_t number) {
  constexpr std::pair<double, const char*> kUnits[] = {
      {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
  const auto value = static_cast<double>(number);
  for (const auto& [unit, name] : kUnits)
    if (value >= unit) return fmt::format("{:.4g} {}", value / unit, name);
  return std::to_string(number);
}

void print_json(const Inspection& in) {
  const model::Config& c = in.config;
  base::JsonWriter json;
  json.begin_object().field("model", c.name).field("model_type", c.model_type);
  json.field("vocab", c.vocab).field("hidden", c.hidden).field("layers", c.layers);
  json.field("dense_layers", c.layers - c.moe_layers()).field("heads", c.heads);
  json.field("q_lora", c.q_lora).field("latent", c.latent).field("nope", c.nope);
  json.field("rope", c.rope).field("value", c.value).field("context", c.max_positions);
  json.field("dense_inter", c.dense_inter).field("experts", c.experts).field("top_k", c.top_k);
  json.field("expert_inter", c.expert_inter).field("shared_experts", c.shared_experts);
  json.field("groups", c.groups).field("top_groups", c.top_groups);
  json.field("mtp_layers", c.mtp_layers).field("quantization", c.quantization);
  json.key("parameters").begin_object().field("total", in.parameters.total);
  json.field("active", in.parameters.active).end_object();
  const auto groups = [&](const char* key, const std::map<std::string, Group>& list) {
    json.key(key).begin_array();
    for (const auto& [name, g] : list)
      json.begin_object()
          .field("name", name)
          .field("tensors", g.tensors)
          .field("parameters", g.parameters)
          .field("bytes", in.stored ? std::optional(g.stored_bytes) : std::nullopt)
          .end_object();
    json.end_array();
  };
  groups("kinds", in.kinds);
  groups("dtypes", in.dtypes);
  json.key("cache_bytes_per_token").begin_object();
  for (const auto& [name, bytes] : in.cache) json.field(name, bytes);
  json.end_object().end_object();
  fmt::print("{}\n", json.text());
}

void print_summary(const Inspection& in) {
  const model::Config& c = in.config;
  fmt::print("{} ({})\n", c.name, c.model_type);
  fmt::print("  {} parameters, {} active per token; vocabulary {}, context {}\n",
             amount(in.parameters.total), amount(in.parameters.active), c.vocab, c.max_positions);
  fmt::print("  {} layers ({} dense), hidden {}\n", c.layers, c.layers - c.moe_layers(), c.hidden);
  fmt::print("  attention: {} heads, latent {}, nope {}, rope {}, value {}, {}\n", c.heads,
             c.latent, c.nope, c.rope, c.value,
             c.q_lora > 0 ? fmt::format("query rank {}", c.q_lora) : "full query projection");
  if (c.moe_layers() > 0)
    fmt::print("  experts: {} of {} wide, {} chosen{}; {} shared\n", c.experts, c.expert_inter,
               c.top_k,
               c.groups > 1 ? fmt::format(" from {} of {} groups", c.top_groups, c.groups) : "",
               c.shared_experts);
  if (c.yarn)
    fmt::print("  positions: YaRN factor {} over {}, theta {}\n", c.yarn->factor,
               c.yarn->original_positions, c.rope_theta);
  if (!c.quantization.empty()) fmt::print("  quantised: {}\n", c.quantization);
}

void print_groups(const char* title, const std::map<std::string, Group>& groups, bool stored) {
  base::Table table;
  table.columns = {{title, base::Table::Align::kLeft}, {"tensors"}, {"parameters"}};
  if (stored) table.columns.push_back({"MB stored"});
  for (const auto& [name, g] : groups) {
    table.rows.push_back({name, std::to_string(g.tensors), amount(g.parameters)});
    if (stored)
      table.rows.back().push_back(fmt::format("{:.2f}", static_cast<double>(g.stored_bytes) / 1e6));
  }
  fmt::print("\n{}", table.terminal());
}

}  // namespace

void add_inspect(CLI::App& app, std::function<CommandResult()>& run) {
  auto path = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  CLI::App* c = app.add_subcommand("inspect", "Show a model's shapes, parameters and bytes");
  c->add_option("model", *path, "Model folder, shape file or name (`headroom limit --list`)")
      ->required();
  c->add_flag("--json", *json, "One JSON object");
  c->footer("Example: headroom inspect models/tiny-mla");
  c->callback([&run, path, json] {
    run = [path, json]() -> CommandResult {
      HEADROOM_TRY(const Inspection in, inspect(*path));
      if (*json) {
        print_json(in);
        return 0;
      }
      print_summary(in);
      print_groups("part", in.kinds, in.stored);
      if (in.stored) print_groups("type", in.dtypes, true);
      base::Table cache;
      cache.columns = {{"cache rows", base::Table::Align::kLeft}, {"bytes a token"}};
      for (const auto& [name, bytes] : in.cache)
        cache.rows.push_back({name, std::to_string(bytes)});
      fmt::print("\n{}", cache.terminal());
      return 0;
    };
  });
}

}  // namespace headroom::apps
