// Golden files: what an independent implementation computed in double precision.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace headroom::golden {

struct Case {
  std::vector<int32_t> ids;
  std::vector<std::pair<int32_t, double>> top8;  // id, logit at the last prompt position
  double sum = 0, norm = 0;                      // of all logits there
  std::vector<double> prompt_logprobs;           // of ids[1…]
  std::vector<int32_t> greedy;
  std::vector<double> greedy_margin;  // best minus second best logit
};

struct Validation {
  int window = 0;
  double mean_nll = 0;
  std::vector<double> per_window;
};

struct Golden {
  std::string arithmetic;
  std::vector<Case> cases;
  std::optional<Validation> validation;
};

/// Empty when `file` does not exist; any other fault throws.
std::optional<Golden> read_golden(const std::string& file);

/// The embedded model, and the random ones that lie beside the repository.
std::string embedded_model();
std::string shared_model(const std::string& name);

}  // namespace headroom::golden
