// Datasets "random" and "text": token ids of exact length, or random words.
#include "load/dataset/filler.h"

namespace headroom::load {

namespace {

using base::ErrorCode;
using base::fail;

enum Purpose : uint64_t { kInput = 1, kOutput, kPrefix, kBody, kFit };

class Synthetic final : public Dataset {
 public:
  Synthetic(const WorkloadOptions& options, Filler filler)
      : o_(options), filler_(std::move(filler)), seed_(salted_seed(options)) {}

  int64_t turns(uint64_t index) const override { return o_.turns; }

  Ask ask(uint64_t index, int64_t turn) const override {
    Ask ask;
    const uint64_t number = index * static_cast<uint64_t>(o_.turns) + static_cast<uint64_t>(turn);
    const int64_t length = draw_length(o_.input_spread, o_.input_tokens, o_.seed, kInput, number);
    const int64_t prefix = turn == 0 ? o_.prefix_tokens : 0;
    if (prefix > 0)
      filler_.add(ask, mix_seed(seed_, kPrefix, index % static_cast<uint64_t>(o_.prefixes)),
                  prefix);
    const double overhead = filler_.ids() || turn > 0 ? 0 : o_.template_tokens;
    const auto body =
        std::max<int64_t>(1, length - prefix - static_cast<int64_t>(std::llround(overhead)));
    filler_.add(ask, mix_seed(seed_, kBody, number), body);
    filler_.fit(ask, mix_seed(seed_, kFit, number), length);
    ask.output_tokens = draw_length(o_.output_spread, o_.output_tokens, o_.seed, kOutput, number);
    return ask;
  }

  std::string input_lengths() const override {
    const bool exact = filler_.ids() || !o_.tokenizer.empty();
    return (exact ? "" : "about ") + lengths_for_record(o_.input_spread);
  }
  std::string output_lengths() const override { return lengths_for_record(o_.output_spread); }

 private:
  WorkloadOptions o_;
  Filler filler_;
  uint64_t seed_;
};

base::Result<std::unique_ptr<const Dataset>> open(const WorkloadOptions& options, bool ids) {
  if (options.prefix_tokens > 0 &&
      options.prefix_tokens >= least_length(options.input_spread, options.input_tokens))
    return fail(ErrorCode::kInvalidArgument,
                "prefix of {} tokens: prompts may be as short as {} tokens, prefix included",
                options.prefix_tokens, least_length(options.input_spread, options.input_tokens));
  HEADROOM_TRY(Filler filler, Filler::create(options, ids));
  auto dataset = std::make_unique<Synthetic>(options, std::move(filler));
  if (!ids && !options.tokenizer.empty() && options.endpoint != Endpoint::kChat) {
    WorkloadOptions shortest = options;
    shortest.input_tokens = least_length(options.input_spread, options.input_tokens);
    shortest.input_spread = {};
    HEADROOM_TRY(Filler words, Filler::create(shortest, ids));
    const Ask ask = Synthetic(shortest, std::move(words)).ask(0, 0);
    if (ask.tokens != shortest.input_tokens)
      return fail(ErrorCode::kInvalidArgument,
                  "input of {} tokens: no text of random words has so few, the shortest has {}",
                  shortest.input_tokens, ask.tokens.value_or(0));
  }
  return dataset;
}

}  // namespace

base::Result<std::unique_ptr<const Dataset>> open_random(const WorkloadOptions& options,
                                                         const std::string&) {
  if (options.endpoint == Endpoint::kChat)
    return fail(ErrorCode::kInvalidArgument,
                "the chat endpoint takes no token ids: use --dataset text or a file");
  return open(options, true);
}

base::Result<std::unique_ptr<const Dataset>> open_text(const WorkloadOptions& options,
                                                       const std::string&) {
  return open(options, false);
}

}  // namespace headroom::load
