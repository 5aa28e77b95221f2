// Prefill in chunks, then decode token by token.
#include "model/generate.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/clock.h"

namespace headroom::model {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

double log_softmax_at(std::span<const float> logits, int32_t id) {
  const double top = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - top);
  return logits[static_cast<size_t>(id)] - top - std::log(sum);
}

Result<> check_prompt(const StepModel& model, std::span<const int32_t> prompt, int32_t max_tokens) {
  if (prompt.empty()) return fail(ErrorCode::kInvalidArgument, "prompt: holds no token");
  for (size_t i = 0; i < prompt.size(); ++i)
    if (prompt[i] < 0 || prompt[i] >= model.vocab_size())
      return fail(ErrorCode::kInvalidArgument,
                  "prompt: id {} at place {} is outside the vocabulary (0 to {})", prompt[i], i,
                  model.vocab_size() - 1);
  const auto length = static_cast<int64_t>(prompt.size());
  const int64_t context = model.limits().max_context;
  if (length > context || (length == context && max_tokens > 0))
    return fail(ErrorCode::kTooLarge,
                "prompt: {} tokens leave no room for output in a context of {}", length, context);
  return {};
}

class Run {
 public:
  Run(StepModel& model, const GenerateOptions& options) : model_(model), options_(options) {
    const int64_t rows = model.limits().max_context;
    pages_.resize(static_cast<size_t>((rows + model.page_size() - 1) / model.page_size()));
    std::iota(pages_.begin(), pages_.end(), 0);
  }

  /// Logits of the last prompt token.
  std::span<const float> prefill(std::span<const int32_t> prompt, Generation& out) {
    using Logits = StepSequence::Logits;
    const auto vocab = static_cast<size_t>(model_.vocab_size());
    size_t chunk = static_cast<size_t>(model_.limits().max_tokens);
    if (options_.prompt_logprobs)
      chunk = std::min(chunk, static_cast<size_t>(model_.limits().max_logits_rows));
    std::span<const float> logits;
    for (size_t begin = 0; begin < prompt.size(); begin += chunk) {
      const auto tokens = prompt.subspan(begin, std::min(chunk, prompt.size() - begin));
      const bool last = begin + tokens.size() == prompt.size();
      const Logits wanted =
          options_.prompt_logprobs ? Logits::kAll : (last ? Logits::kLast : Logits::kNone);
      logits = step(tokens, static_cast<int32_t>(begin), false, wanted);
      for (size_t i = 0; options_.prompt_logprobs && i < tokens.size(); ++i)
        if (begin + i + 1 < prompt.size())
          out.prompt_logprobs.push_back(
              log_softmax_at(logits.subspan(i * vocab, vocab), prompt[begin + i + 1]));
    }
    return logits.last(vocab);
  }

  std::span<const float> step(std::span<const int32_t> tokens, int32_t position, bool decode,
                              StepSequence::Logits logits) {
    const StepSequence sequence{.tokens = tokens,
                                .position = position,
                                .pages = pages_.data(),
                                .decode = decode,
                                .logits = logits};
    return model_.step({&sequence, 1});
  }

 private:
  StepModel& model_;
  const GenerateOptions& options_;
  std::vector<int32_t> pages_;
};

}  // namespace

std::vector<std::pair<int32_t, float>> top_logits(std::span<const float> logits, int32_t count) {
  std::vector<int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto most = std::min<std::ptrdiff_t>(std::max(count, 0), std::ssize(order));
  std::partial_sort(order.begin(), order.begin() + most, order.end(), [&](int32_t a, int32_t b) {
    const float x = logits[static_cast<size_t>(a)], y = logits[static_cast<size_t>(b)];
    return x > y || (x == y && a < b);
  });
  std::vector<std::pair<int32_t, float>> top;
  for (std::ptrdiff_t i = 0; i < most; ++i)
    top.emplace_back(order[static_cast<size_t>(i)],
                     logits[static_cast<size_t>(order[static_cast<size_t>(i)])]);
  return top;
}

Result<Generation> generate(StepModel& model, std::span<const int32_t> prompt,
                            const GenerateOptions& options,
                            const std::function<void(int32_t)>& on_token) {
  HEADROOM_TRY_VOID(check_prompt(model, prompt, options.max_tokens));
  Generation out;
  Run run(model, options);
  const int64_t started = base::now_ns();
  std::span<const float> logits = run.prefill(prompt, out);
  out.top_logits = top_logits(logits, options.top_logits);
  const int64_t prefilled = base::now_ns();
  out.prefill_seconds = static_cast<double>(prefilled - started) * 1e-9;

  const auto length = static_cast<int32_t>(prompt.size());
  const int32_t most = std::min(options.max_tokens, model.limits().max_context - length);
  for (int32_t i = 0; i < most; ++i) {
    kernels::SampleParams params = options.sampling;
    params.position = length + i;
    kernels::SampleResult result;
    model.sample(logits.data(), {&params, 1}, {&result, 1});
    if (result.id < 0)
      return fail(ErrorCode::kInternal, "logits of position {} are not finite", length + i);
    out.ids.push_back(result.id);
    if (on_token) on_token(result.id);
    out.stopped = std::ranges::find(options.eos, result.id) != options.eos.end();
    if (out.stopped || i + 1 == most) break;
    logits = run.step({&result.id, 1}, length + i, true, StepSequence::Logits::kLast);
  }
  out.decode_seconds = static_cast<double>(base::now_ns() - prefilled) * 1e-9;
  return out;
}

}  // namespace headroom::model
