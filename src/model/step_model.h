// StepModel: what the engine asks of a model: run one step of new tokens, give logits, say its
// sizes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "kernels/kv_cache.h"
#include "kernels/plan/kernel.h"
#include "kernels/sample/desc.h"
#include "model/logprobs.h"

namespace headroom::model {

/// One sequence's part of a step.
struct StepSequence {
  std::span<const int32_t> tokens;  // new token ids, ≥ 1
  int32_t position = 0;             // of tokens[0]; rows before it are in the cache
  const int32_t* pages = nullptr;   // page ids that cover position + tokens.size() rows
  bool decode = false;              // generated tokens (absorbed form); prompt tokens otherwise
  enum class Logits : uint8_t { kNone, kLast, kAll } logits = Logits::kNone;
};

struct StepLimits {
  int32_t max_tokens = 0;       // new tokens of one step
  int32_t max_sequences = 0;    // sequences of one step
  int32_t max_logits_rows = 0;  // logits rows of one step
  int32_t max_context = 0;      // tokens of one sequence, prompt and output
};

/// Engine thread only, except the const getters. Everything is allocated before the first step, but
/// for the kernels' scratch, which grows to its largest use.
class StepModel {
 public:
  virtual ~StepModel() = default;

  virtual int32_t vocab_size() const = 0;
  virtual const StepLimits& limits() const = 0;
  virtual int32_t page_size() const = 0;
  virtual int32_t page_count() const = 0;  // pages of the cache; ids 0 … page_count - 1
  virtual const std::vector<kernels::OpChoice>& plan() const = 0;
  /// Runs so far of plan()[i].
  virtual std::span<const uint64_t> op_runs() const = 0;

  /// Runs the step; the result's rows are in the order of `sequences` (kNone gives none), each
  /// vocab_size() floats, valid until the next step. Sequences that share a page must not both
  /// write it.
  virtual std::span<const float> step(std::span<const StepSequence> sequences) = 0;

  /// Scores prompt tokens: scores[i] is how likely `targets[i]` was to follow token `first + i` of
  /// sequences[sequence] of the last step, whatever logits that step gave, with the `top` best
  /// beside it. Logits are made in blocks that were sized at start, so any number of targets will
  /// do; the result of step() stays valid.
  virtual void score(size_t sequence, int32_t first, std::span<const int32_t> targets, int32_t top,
                     std::span<TokenScore> scores) = 0;

  /// Samples `rows` logits rows.
  virtual void sample(const float* logits, std::span<const kernels::SampleParams> params,
                      std::span<kernels::SampleResult> results) = 0;
};

}  // namespace headroom::model
