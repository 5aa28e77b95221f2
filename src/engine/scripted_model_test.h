// A StepModel for tests whose next token is a hash of every token in the sequence's cache rows.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <thread>

#include "base/check.h"
#include "base/rng.h"
#include "model/step_model.h"

namespace headroom::engine {

/// It keeps token ids in pages the way a real model keeps latents, so a wrong page, position or
/// chunk changes the output. Drawing is by temperature 0 or by a hash of (seed, position).
class ScriptedModel : public model::StepModel {
 public:
  static constexpr int32_t kVocab = 64;
  ScriptedModel(model::StepLimits limits, int32_t page_size, int32_t pages)
      : limits_(limits),
        page_size_(page_size),
        cache_(static_cast<size_t>(page_size) * static_cast<size_t>(pages), -1),
        pages_(pages),
        logits_(static_cast<size_t>(limits.max_logits_rows) * kVocab) {}

  int32_t vocab_size() const override { return kVocab; }
  const model::StepLimits& limits() const override { return limits_; }
  int32_t page_size() const override { return page_size_; }
  int32_t page_count() const override { return pages_; }
  const std::vector<kernels::OpChoice>& plan() const override { return plan_; }
  std::span<const uint64_t> op_runs() const override { return {&runs_, 1}; }

  std::span<const float> step(std::span<const model::StepSequence> sequences) override {
    ++runs_;
    if (gate) gate();
    seen_.clear();
    int32_t tokens = 0, rows = 0;
    for (const model::StepSequence& s : sequences) {
      tokens += static_cast<int32_t>(s.tokens.size());
      seen_.push_back({s.position, static_cast<int32_t>(s.tokens.size()), s.pages});
      for (size_t i = 0; i < s.tokens.size(); ++i)
        row(s, s.position + static_cast<int>(i)) = s.tokens[i];
      const auto length = s.position + static_cast<int32_t>(s.tokens.size());
      HEADROOM_CHECK(length <= limits_.max_context, "{} rows", length);
      if (s.logits == model::StepSequence::Logits::kNone) continue;
      fill(s, length, std::span(logits_).subspan(static_cast<size_t>(rows) * kVocab, kVocab));
      ++rows;
    }
    HEADROOM_CHECK(tokens <= limits_.max_tokens, "{} tokens in a step", tokens);
    largest_step = std::max(largest_step.load(), tokens);
    if (observe) observe(sequences);
    return std::span(logits_).first(static_cast<size_t>(rows) * kVocab);
  }

  void score(size_t sequence, int32_t first, std::span<const int32_t> targets, int32_t top,
             std::span<model::TokenScore> scores) override {
    const Seen& s = seen_.at(sequence);
    HEADROOM_CHECK(first + std::ssize(targets) <= s.count, "{} targets", targets.size());
    std::vector<float> out(kVocab);
    for (size_t i = 0; i < targets.size(); ++i) {
      const int32_t length = s.position + first + static_cast<int32_t>(i) + 1;
      model::StepSequence part;
      part.pages = s.pages;
      fill(part, length, out);
      scores[i] = model::score_token(out, targets[i], top);
    }
  }

  void sample(const float* logits, std::span<const kernels::SampleParams> params,
              std::span<kernels::SampleResult> results) override {
    for (size_t i = 0; i < params.size(); ++i) {
      const float* row = logits + i * kVocab;
      if (std::isnan(row[0])) {
        results[i] = {};
        continue;
      }
      auto id = static_cast<int32_t>(std::max_element(row, row + kVocab) - row);
      if (params[i].temperature > 0) {
        uint64_t state = params[i].seed * 1000003 + static_cast<uint64_t>(params[i].position);
        for (int shift = 0; shift < kVocab; ++shift) {
          id = static_cast<int32_t>((base::splitmix64(state) + static_cast<uint64_t>(id)) % kVocab);
          if (std::isfinite(row[id])) break;
        }
      }
      results[i] = {id, row[id]};
    }
  }

  /// Token that follows `prompt` greedily, computed without cache or engine.
  static int32_t next(const std::vector<int32_t>& tokens) {
    uint64_t hash = 7;
    for (const int32_t token : tokens) hash = hash * 31 + static_cast<uint64_t>(token) + 1;
    return static_cast<int32_t>(base::splitmix64(hash) % kVocab);
  }

  std::function<void()> gate;  // called at the start of a step
  std::function<void(std::span<const model::StepSequence>)> observe;
  std::atomic<int32_t> poison{-1};  // a sequence that holds this token gets NaN logits
  std::atomic<int32_t> largest_step{0};

 private:
  int32_t& row(const model::StepSequence& s, int32_t position) {
    const int32_t page = s.pages[position / page_size_];
    HEADROOM_CHECK(page >= 0 && page < pages_, "page {}", page);
    return cache_[static_cast<size_t>(page * page_size_ + position % page_size_)];
  }
  void fill(const model::StepSequence& s, int32_t length, std::span<float> out) {
    std::vector<int32_t> tokens;
    for (int32_t i = 0; i < length; ++i) tokens.push_back(row(s, i));
    for (size_t v = 0; v < out.size(); ++v) out[v] = -static_cast<float>(v) * 0.01f - 1;
    out[static_cast<size_t>(next(tokens))] = 5;
    if (std::count(tokens.begin(), tokens.end(), poison.load()) > 0)
      std::fill(out.begin(), out.end(), NAN);
  }

  struct Seen {
    int32_t position, count;
    const int32_t* pages;
  };
  std::vector<Seen> seen_;  // of the last step
  model::StepLimits limits_;
  int32_t page_size_;
  std::vector<int32_t> cache_;
  int32_t pages_;
  std::vector<float> logits_;
  std::vector<kernels::OpChoice> plan_;
  uint64_t runs_ = 0;
};

}  // namespace headroom::engine
