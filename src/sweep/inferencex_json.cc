// The matrix entry of a point, as canonical JSON: sorted keys, no spaces, ASCII alone.
#include <openssl/evp.h>

#include "base/utf8.h"
#include "sweep/inferencex_points.h"

namespace headroom::sweep {
namespace {

using Fields = std::map<std::string, std::string>;

uint32_t code_point(std::string_view bytes) {
  const auto byte = [&](size_t i) {
    return static_cast<uint32_t>(static_cast<unsigned char>(bytes[i]));
  };
  switch (bytes.size()) {
    case 2:
      return (byte(0) & 0x1F) << 6 | (byte(1) & 0x3F);
    case 3:
      return (byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
    case 4:
      return (byte(0) & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 |
             (byte(3) & 0x3F);
    default:
      return byte(0);
  }
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const size_t length = base::utf8_length(text);
    const uint32_t c = length == 0 ? 0xFFFD : code_point(text.substr(0, length));
    text.remove_prefix(length == 0 ? 1 : length);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n' || c == '\r' || c == '\t' || c == '\b' || c == '\f') {
      out += '\\';
      out += c == '\n' ? 'n' : c == '\r' ? 'r' : c == '\t' ? 't' : c == '\b' ? 'b' : 'f';
    } else if (c >= 0x20 && c < 0x7F) {
      out += static_cast<char>(c);
    } else if (c < 0x10000) {
      out += fmt::format("\\u{:04x}", c);
    } else {
      out += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + ((c - 0x10000) >> 10),
                         0xDC00 + ((c - 0x10000) & 0x3FF));
    }
  }
  return out + '"';
}

std::string flag(bool value) {
  return value ? "true" : "false";
}

std::string object(const Fields& fields) {
  std::string out = "{";
  for (const auto& [name, value] : fields)
    out += (out.size() > 1 ? "," : "") + quoted(name) + ":" + value;
  return out + "}";
}

template <typename T, typename Write>
std::string array(const std::vector<T>& values, Write write) {
  std::string out = "[";
  for (const T& value : values) out += (out.size() > 1 ? "," : "") + write(value);
  return out + "]";
}

std::string number(int64_t value) {
  return std::to_string(value);
}

std::string component(const IxComponent& part) {
  Fields out = {{"name", quoted(part.name)}};
  if (part.version) out["version"] = quoted(*part.version);
  return object(out);
}

Fields parallel(const IxWorker& worker) {
  return {{"tp", number(worker.tp)},        {"pp", number(worker.pp)},
          {"dcp-size", number(worker.dcp)}, {"pcp-size", number(worker.pcp)},
          {"ep", number(worker.ep)},        {"dp-attn", flag(worker.dp_attention)}};
}

std::string worker_json(const IxWorker& worker) {
  Fields out = parallel(worker);
  out["num-worker"] = number(worker.count);
  if (worker.hardware) out["hardware"] = quoted(*worker.hardware);
  if (worker.settings) out["additional-settings"] = array(*worker.settings, quoted);
  return object(out);
}

std::string worker_tag(const char* side, const IxWorker& worker) {
  std::string tag = fmt::format("{}{}x{}", side, worker.count, worker.tp);
  if (worker.ep != 1) tag += fmt::format("ep{}", worker.ep);
  return worker.dp_attention ? tag + "dpa" : tag;
}

/// "_kvdram-NAME".
std::string offload_suffix(const IxSearch& search) {
  return "_kv" + *search.kv_offloading + "-" + search.offload_backend->name;
}

std::string sha256(std::string_view text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  EVP_Digest(text.data(), text.size(), digest, &length, EVP_sha256(), nullptr);
  std::string hex;
  for (unsigned i = 0; i < length; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

}  // namespace

std::string IxPoint::experiment() const {
  const IxSearch& s = *search;
  if (!scenario->agentic) {
    if (scenario->osl == 1024 && (scenario->isl == 1024 || scenario->isl == 8192))
      return fmt::format("{}_{}k1k", config->model_prefix, scenario->isl / 1024);
    if (config->older_layout && scenario->isl == 1024 && scenario->osl == 8192)
      return config->model_prefix + "_1k8k";
    return fmt::format("{}_{}_{}", config->model_prefix, scenario->isl, scenario->osl);
  }
  const bool offloads = s.kv_offloading.value_or("none") != "none";
  if (multinode())
    return fmt::format("{}_{}_{}_conc{}{}", config->model_prefix, worker_tag("p", *s.prefill),
                       worker_tag("d", *s.decode), fmt::join(concurrency, "x"),
                       offloads ? offload_suffix(s) : "");
  return fmt::format("{}_tp{}_conc{}{}{}", config->model_prefix, s.single->tp, concurrency.front(),
                     offloads ? offload_suffix(s) : "_kvnone",
                     s.speculative == "none" ? "" : "_spec-" + s.speculative);
}

Fields IxPoint::fields() const {
  const IxSearch& s = *search;
  const bool agentic = scenario->agentic;
  Fields out = {{"image", quoted(config->image)},
                {"model", quoted(config->model)},
                {"model-prefix", quoted(config->model_prefix)},
                {"precision", quoted(config->precision)},
                {"framework", quoted(config->framework)},
                {"runner", quoted(config->runner)},
                {"spec-decoding", quoted(s.speculative)},
                {"exp-name", quoted(experiment())},
                {"run-eval", flag(run_eval)}};
  if (multinode()) {
    out["prefill"] = worker_json(*s.prefill);
    out["decode"] = worker_json(*s.decode);
    out["conc"] = array(concurrency, number);
  } else {
    out.merge(parallel(*s.single));
    out["conc"] = number(concurrency.front());
  }
  if (multinode() || !agentic) out["disagg"] = flag(config->disagg);
  if (agentic) {
    out["kv-offloading"] = quoted(s.kv_offloading.value_or("none"));
    out["total-cpu-dram-gb"] = number(cpu_dram_gb);
    out["duration"] = "3600";
    out["scenario-type"] = quoted("agentic-coding");
    if (s.offload_backend) out["kv-offload-backend"] = component(*s.offload_backend);
  } else {
    out["isl"] = number(scenario->isl);
    out["osl"] = number(scenario->osl);
    out["max-model-len"] = number(max_model_len());
  }
  if (const auto& router = s.router ? s.router : config->router) out["router"] = component(*router);
  if (const auto& transfer = s.kv_transfer ? s.kv_transfer : config->kv_transfer)
    out["kv-p2p-transfer"] = quoted(*transfer);
  if (eval_concurrency) out["eval-conc"] = number(*eval_concurrency);
  return out;
}

std::string IxPoint::json() const {
  return object(fields());
}

std::string IxPoint::fingerprint() const {
  Fields recipe = fields();
  for (const char* name : {"conc", "exp-name", "eval-conc", "run-eval"}) recipe.erase(name);
  // Runs for throughput are made without evals: their entries say so, agentic ones say nothing.
  if (!scenario->agentic) recipe["run-eval"] = "false";
  return sha256(object(recipe));
}

}  // namespace headroom::sweep
