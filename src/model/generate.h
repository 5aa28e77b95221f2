// generate: one sequence from prompt ids to generated ids, without an engine.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "kernels/sample/desc.h"
#include "model/step_model.h"

namespace headroom::model {

struct GenerateOptions {
  int32_t max_tokens = 0;
  kernels::SampleParams sampling{};  // position is filled in
  std::vector<int32_t> eos{};        // any of them ends; empty: none does
  bool prompt_logprobs = false;
  int32_t top_logits = 0;
};

struct Generation {
  std::vector<int32_t> ids;                           // the eos that ended it included
  bool stopped = false;                               // by an eos
  std::vector<double> prompt_logprobs;                // log p(prompt[i] | prompt[0…i-1]) for i = 1…
  std::vector<std::pair<int32_t, float>> top_logits;  // at the first generated position
  double prefill_seconds = 0, decode_seconds = 0;
};

/// Feeds `prompt` in steps of the model's limits, then one token at a time. Ends at an eos, after
/// max_tokens, or when prompt and output fill the context. `on_token` sees every generated id at
/// once; may be null. Errors: an empty prompt or an id outside the vocabulary (kInvalidArgument), a
/// prompt that leaves no room in the context (kTooLarge), logits that are not finite (kInternal).
base::Result<Generation> generate(StepModel& model, std::span<const int32_t> prompt,
                                  const GenerateOptions& options,
                                  const std::function<void(int32_t)>& on_token);

/// The `count` largest logits with their ids, largest first, ties to the lowest id.
std::vector<std::pair<int32_t, float>> top_logits(std::span<const float> logits, int32_t count);

}  // namespace headroom::model
