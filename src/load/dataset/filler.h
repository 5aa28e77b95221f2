// Filler: random prompt material of a wanted length: token ids, or words.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "load/dataset/dataset.h"
#include "text/tokenizer.h"

namespace headroom::load {

/// The same seed and length give the same material, and a longer one begins like a shorter one.
class Filler {
 public:
  /// Errors: those of loading options.tokenizer; kInvalidArgument for a token range without a
  /// token.
  static base::Result<Filler> create(const WorkloadOptions& options, bool ids);

  /// Appends `tokens` tokens to `ask`: exactly so many as ids, about so many as words.
  void add(Ask& ask, uint64_t seed, int64_t tokens) const;
  /// Ends the words of ask.text so that a tokenizer's count is `tokens`, where that can be; sets
  /// ask.tokens to what it is. Without a tokenizer nothing changes.
  void fit(Ask& ask, uint64_t seed, int64_t tokens) const;

  bool ids() const { return ids_; }

 private:
  int64_t count(const std::string& text) const;

  bool ids_ = true;
  int64_t low_ = 0, high_ = 0;
  double words_per_token_ = 1;
  std::vector<int32_t> allowed_;  // with a tokenizer: the ids that can be drawn
  std::shared_ptr<const text::Tokenizer> tokenizer_;
  int64_t bos_ = 0;  // tokens the server puts in front
  bool chat_ = false;
};

/// A seed of its own for each purpose and number.
uint64_t mix_seed(uint64_t seed, uint64_t purpose, uint64_t number);
/// Seed of everything that must differ from run to run.
uint64_t salted_seed(const WorkloadOptions& options);

/// A length drawn about `nominal`; `purpose` keeps input and output apart.
int64_t draw_length(const LengthSpread& spread, int64_t nominal, uint64_t seed, uint64_t purpose,
                    uint64_t index);
/// The shortest that can be drawn.
int64_t least_length(const LengthSpread& spread, int64_t nominal);
/// "fixed", "uniform 0.8-1", "normal 0.2".
std::string lengths_for_record(const LengthSpread& spread);

}  // namespace headroom::load
