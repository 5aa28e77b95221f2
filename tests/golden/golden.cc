// Reads golden files.
#include "golden.h"

#include <simdjson.h>

#include <filesystem>

namespace headroom::golden {

namespace {

template <typename T, typename Json>
std::vector<T> numbers(simdjson::dom::element value) {
  std::vector<T> out;
  for (const simdjson::dom::element entry : value.get_array())
    out.push_back(static_cast<T>(Json(entry)));
  return out;
}

}  // namespace

std::optional<Golden> read_golden(const std::string& file) {
  if (!std::filesystem::exists(file)) return std::nullopt;
  simdjson::dom::parser parser;
  const simdjson::dom::element root = parser.load(file);
  Golden golden;
  golden.arithmetic = std::string(std::string_view(root["arithmetic"]));
  for (const simdjson::dom::element entry : root["cases"].get_array()) {
    Case& c = golden.cases.emplace_back();
    c.ids = numbers<int32_t, int64_t>(entry["ids"]);
    for (const simdjson::dom::element pair : entry["last_logits_top8"].get_array())
      c.top8.emplace_back(static_cast<int32_t>(int64_t(pair.at(0))), double(pair.at(1)));
    c.sum = double(entry["last_logits_sum"]);
    c.norm = double(entry["last_logits_norm"]);
    c.prompt_logprobs = numbers<double, double>(entry["logprobs_of_prompt"]);
    c.greedy = numbers<int32_t, int64_t>(entry["greedy"]);
    c.greedy_margin = numbers<double, double>(entry["greedy_margin"]);
  }
  simdjson::dom::element validation;
  if (!root["validation"].get(validation)) {
    golden.validation =
        Validation{static_cast<int>(int64_t(validation["window"])), double(validation["mean_nll"]),
                   numbers<double, double>(validation["mean_nll_per_window"])};
  }
  return golden;
}

std::string embedded_model() {
  return std::string(HEADROOM_SOURCE_DIR) + "/models/tiny-mla";
}

std::string shared_model(const std::string& name) {
  return std::string(HEADROOM_SOURCE_DIR) + "/../shared/models/" + name;
}

}  // namespace headroom::golden
