// Questions to the server before the run.
#include "load/server_facts.h"

#include <simdjson.h>

#include "http/client.h"
#include "load/openai_chunk.h"

namespace headroom::load {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace dom = simdjson::dom;

namespace {

std::string text_of(dom::object object, std::string_view name) {
  std::string_view text;
  return object.at_key(name).get(text) == simdjson::SUCCESS ? std::string(text) : "";
}

std::optional<int64_t> integer_of(dom::object object, std::string_view name) {
  int64_t value = 0;
  if (object.at_key(name).get(value) != simdjson::SUCCESS) return std::nullopt;
  return value;
}

results::PlanLine read_op(dom::object op) {
  results::PlanLine line;
  line.op = text_of(op, "op");
  line.descriptor = text_of(op, "descriptor");
  line.chosen = text_of(op, "chosen");
  line.count = integer_of(op, "count");
  dom::object rows;  // null where the op has no heads
  if (op.at_key("rows").get(rows) == simdjson::SUCCESS) {
    line.logical_rows = integer_of(rows, "logical");
    line.kernel_rows = integer_of(rows, "kernel");
  }
  dom::array refused;
  if (op.at_key("refused").get(refused) == simdjson::SUCCESS)
    for (const dom::element element : refused) {
      dom::object entry;
      if (element.get(entry) == simdjson::SUCCESS)
        line.refused.push_back({text_of(entry, "kernel"), text_of(entry, "reason")});
    }
  return line;
}

void read_machine(dom::object machine, ServerFacts& facts) {
  const std::string cpu = text_of(machine, "cpu");
  for (const char* name : {"isa", "cores", "memory_bytes"}) {
    dom::element value;
    if (machine.at_key(name).get(value) == simdjson::SUCCESS) {
      std::string_view text;
      facts.server.environment[fmt::format("machine.{}", name)] =
          value.get(text) == simdjson::SUCCESS ? std::string(text) : simdjson::minify(value);
    }
  }
  // A server that runs on accelerators says so; how many of them serve is then the user's to state.
  const std::string device = text_of(machine, "device");
  if (cpu.empty() || (!device.empty() && device != "cpu")) return;
  facts.hardware.name = cpu;
  facts.hardware.devices = 1;
  facts.hardware.devices_source = results::kDevicesDetected;
}

/// Who made the server, by what it says of its models: "vllm", "sglang", "llamacpp", …
Result<std::string> check_models(const http::Response& response, const http::Url& url,
                                 const std::string& model) {
  if (response.head.status != 200) return std::string();
  dom::parser parser;
  dom::array models;
  if (parser.parse(response.body)["data"].get(models) != simdjson::SUCCESS) return std::string();
  std::string names;
  for (const dom::element element : models) {
    dom::object entry;
    if (element.get(entry) != simdjson::SUCCESS) continue;
    const std::string id = text_of(entry, "id");
    if (id == model) return text_of(entry, "owned_by");
    names += (names.empty() ? "" : ", ") + id;
  }
  if (names.empty()) return std::string();
  return fail(ErrorCode::kNotFound, "{} does not serve the model \"{}\"; it serves: {}",
              url.address(), model, names);
}

}  // namespace

Result<ServerFacts> parse_plan(std::string_view json) {
  dom::parser parser;
  dom::object root;
  dom::array ops;
  if (parser.parse(json.data(), json.size()).get(root) != simdjson::SUCCESS ||
      root.at_key("ops").get(ops) != simdjson::SUCCESS)
    return fail(ErrorCode::kDataLoss, "/headroom/plan: not an object with \"ops\"");
  ServerFacts facts;
  facts.server.framework = text_of(root, "framework");
  facts.server.framework_version = text_of(root, "version");
  facts.server.checkpoint_digest = text_of(root, "checkpoint_digest");
  facts.server.precision = text_of(root, "precision");
  facts.server.kv = text_of(root, "kv");
  facts.server.attention = text_of(root, "attention");
  facts.server.command = text_of(root, "command");
  facts.vocabulary = integer_of(root, "vocab_size");
  facts.server.layout.tp = integer_of(root, "tp");
  dom::object machine, settings;
  if (root.at_key("machine").get(machine) == simdjson::SUCCESS) read_machine(machine, facts);
  if (root.at_key("settings").get(settings) == simdjson::SUCCESS)
    for (const auto& [name, value] : settings) {
      std::string_view text;
      facts.server.flags[std::string(name)] =
          value.get(text) == simdjson::SUCCESS ? std::string(text) : simdjson::minify(value);
    }
  for (const dom::element element : ops) {
    dom::object op;
    if (element.get(op) != simdjson::SUCCESS)
      return fail(ErrorCode::kDataLoss, "/headroom/plan: an op is not an object");
    facts.plan.push_back(read_op(op));
  }
  return facts;
}

Result<ServerFacts> ask_server(const http::Url& url, const std::vector<std::string>& headers,
                               const std::string& model, const std::atomic<bool>* stop) {
  http::ClientOptions options;
  options.headers = headers;
  options.stop = stop;
  HEADROOM_TRY(const auto models, http::get(url, "/v1/models", options));
  if (models.head.status == 401 || models.head.status == 403)
    return fail(ErrorCode::kUnauthorized, "{} refuses the key (HTTP {}): pass --api-key",
                url.address(), models.head.status);
  HEADROOM_TRY(const std::string owner, check_models(models, url, model));
  ServerFacts facts;
  const auto plan = http::get(url, "/headroom/plan", options);
  if (plan && plan->head.status == 200)
    if (auto parsed = parse_plan(plan->body)) facts = std::move(*parsed);
  if (facts.server.framework.empty()) {
    facts.server.framework = owner;
    dom::parser parser;
    std::string_view version;
    const auto answer = http::get(url, "/version", options);
    if (answer && answer->head.status == 200 &&
        parser.parse(answer->body)["version"].get(version) == simdjson::SUCCESS)
      facts.server.framework_version = version;
  }
  facts.server.model = model;
  return facts;
}

std::optional<int64_t> count_prompt_tokens(const http::Url& url, std::string_view path,
                                           const std::vector<std::string>& headers,
                                           const std::string& body, const std::atomic<bool>* stop) {
  http::ClientOptions options;
  options.headers = headers;
  options.timeout_ns = 120'000'000'000;
  options.stop = stop;
  const auto response = http::post(url, path, body, options);
  if (!response || response->head.status != 200) return std::nullopt;
  ChunkReader reader;
  const auto chunk = reader.read(response->body);
  if (!chunk || !chunk->prompt_tokens || *chunk->prompt_tokens < 1) return std::nullopt;
  return *chunk->prompt_tokens;
}

}  // namespace headroom::load
