// The engine thread: take requests, plan a step, run it, draw tokens, deliver them.
#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "engine/engine.h"
#include "model/logprobs.h"

namespace headroom::engine {
namespace {

double seconds(int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) * 1e-9;
}

bool contains(const std::vector<int32_t>& ids, int32_t id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

Finish finish_of(const Sequence& sequence, FinishReason reason) {
  Finish finish;
  finish.reason = reason;
  finish.prompt_tokens = sequence.prompt_length();
  finish.completion_tokens = sequence.generated;
  return finish;
}

}  // namespace

void Engine::run() {
  while (!stopping_.load()) {
    take_requests();
    drop_cancelled();
    const int32_t admitted = scheduler_.admit(base::now_ns());
    queued_.fetch_sub(admitted);
    const auto parts = scheduler_.plan();
    if (!parts.empty()) {
      step(parts);
    } else {
      HEADROOM_CHECK(scheduler_.idle(), "{} requests wait for nothing", scheduler_.waiting());
    }
  }
  // What is left gets its end; what still lies in the inbox too.
  while (auto sequence = inbox_.try_pop()) scheduler_.add(std::move(*sequence));
  scheduler_.remove_if([](const Sequence&) { return true; },
                       [&](Sequence& sequence, bool was_waiting) {
                         Finish finish = finish_of(sequence, FinishReason::kCancelled);
                         finish.error = "the server is shutting down";
                         record_finish(sequence, finish.reason, base::now_ns());
                         if (was_waiting) queued_.fetch_sub(1);
                         sequence.stream->finish(std::move(finish));
                         inside_.fetch_sub(1);
                       });
  publish();
}

void Engine::take_requests() {
  if (scheduler_.idle()) {
    publish();
    // Nothing to do until a request comes; close() wakes it too.
    if (auto sequence = inbox_.pop_for(std::chrono::seconds(1)))
      scheduler_.add(std::move(*sequence));
  }
  while (auto sequence = inbox_.try_pop()) scheduler_.add(std::move(*sequence));
}

void Engine::drop_cancelled() {
  bool dropped = false;
  scheduler_.remove_if([](const Sequence& sequence) { return sequence.stream->cancelled(); },
                       [&](Sequence& sequence, bool was_waiting) {
                         record_finish(sequence, FinishReason::kCancelled, base::now_ns());
                         if (was_waiting) queued_.fetch_sub(1);
                         Finish finish = finish_of(sequence, FinishReason::kCancelled);
                         finish.error = "the request was cancelled";
                         sequence.stream->finish(std::move(finish));
                         inside_.fetch_sub(1);
                         dropped = true;
                       });
  if (dropped) publish();
}

void Engine::step(std::span<const Scheduler::Part> parts) {
  const int64_t started_ns = base::now_ns();
  step_sequences_.clear();
  sampled_.clear();
  int32_t tokens = 0;
  for (const Scheduler::Part& part : parts) {
    Sequence& sequence = *part.sequence;
    const int32_t* ids =
        part.decode ? &sequence.last_token : sequence.request.prompt.data() + sequence.cached;
    using Logits = model::StepSequence::Logits;
    step_sequences_.push_back({.tokens = {ids, static_cast<size_t>(part.tokens)},
                               .position = sequence.cached,
                               .pages = sequence.pages.data(),
                               .decode = part.decode,
                               .logits = part.samples ? Logits::kLast : Logits::kNone});
    if (part.samples) sampled_.push_back(&sequence);
    tokens += part.tokens;
    if (!part.decode) counts_.prompt_tokens += static_cast<uint64_t>(part.tokens);
  }
  const std::span<const float> logits = model_.step(step_sequences_);
  HEADROOM_CHECK(logits.size() == sampled_.size() * static_cast<size_t>(vocab_),
                 "{} logits for {} rows of {}", logits.size(), sampled_.size(), vocab_);
  score_prompts(parts);
  for (const Scheduler::Part& part : parts) part.sequence->cached += part.tokens;
  sample(logits);

  const int64_t now_ns = base::now_ns();
  ended_.clear();
  outbox_.clear();
  for (size_t i = 0; i < sampled_.size(); ++i) {
    const auto row = logits.subspan(i * static_cast<size_t>(vocab_), static_cast<size_t>(vocab_));
    if (deliver(*sampled_[i], results_[i], row, now_ns)) ended_.push_back(sampled_[i]);
  }
  end_prompts(parts, now_ns);
  for (Sequence* sequence : ended_) scheduler_.retire(sequence);
  ++counts_.steps;
  counts_.step_tokens.observe(tokens);
  counts_.step_seconds += seconds(base::now_ns() - started_ns);
  const auto runs = model_.op_runs();
  counts_.op_runs.assign(runs.begin(), runs.end());
  // Figures first: who has seen a token finds it counted.
  publish();
  for (Outgoing& out : outbox_) {
    if (out.token)
      out.stream->push(std::move(*out.token), std::move(out.finish), std::move(out.prompt_scores));
    else
      out.stream->finish(std::move(*out.finish), std::move(out.prompt_scores));
  }
  outbox_.clear();
  inside_.fetch_sub(static_cast<int32_t>(ended_.size()));
}

/// The targets of a chunk are the tokens behind each of its own, the next chunk's first included.
void Engine::score_prompts(std::span<const Scheduler::Part> parts) {
  for (size_t i = 0; i < parts.size(); ++i) {
    Sequence& sequence = *parts[i].sequence;
    const auto& top = sequence.request.sampling.prompt_logprobs;
    if (parts[i].decode || !top) continue;
    const auto begin = static_cast<size_t>(sequence.cached) + 1;
    const size_t end =
        std::min(begin + static_cast<size_t>(parts[i].tokens), sequence.request.prompt.size());
    if (begin >= end) continue;
    sequence.prompt_scores.resize(end - 1);
    const std::span<model::TokenScore> scores(sequence.prompt_scores);
    const std::span<const int32_t> prompt(sequence.request.prompt);
    model_.score(i, 0, prompt.subspan(begin, end - begin), *top, scores.subspan(begin - 1));
    for (const model::TokenScore& score : scores.subspan(begin - 1))
      sequence.corrupt = sequence.corrupt || std::isnan(score.logprob);
  }
}

/// Sequences of which no token was drawn, but which end here.
void Engine::end_prompts(std::span<const Scheduler::Part> parts, int64_t now_ns) {
  for (const Scheduler::Part& part : parts) {
    Sequence& sequence = *part.sequence;
    if (part.decode || part.samples) continue;
    if (sequence.corrupt) {
      outbox_.push_back({sequence.stream, {}, std::nullopt, fail_corrupt(sequence, now_ns)});
    } else if (sequence.scores_only() && !sequence.prefilling()) {
      record_finish(sequence, FinishReason::kLength, now_ns);
      outbox_.push_back({sequence.stream, std::move(sequence.prompt_scores), std::nullopt,
                         finish_of(sequence, FinishReason::kLength)});
    } else {
      continue;
    }
    ended_.push_back(&sequence);
  }
}

Finish Engine::fail_corrupt(const Sequence& sequence, int64_t now_ns) {
  base::log_error("request {}: logits at position {} are not finite; the request fails",
                  sequence.request.id, sequence.cached);
  Finish finish = finish_of(sequence, FinishReason::kError);
  finish.error = "the model gave logits that are not finite";
  ++counts_.corrupted;
  record_finish(sequence, finish.reason, now_ns);
  return finish;
}

void Engine::sample(std::span<const float> logits) {
  params_.clear();
  for (const Sequence* sequence : sampled_) {
    const SamplingOptions& asked = sequence->request.sampling;
    params_.push_back({.temperature = asked.temperature,
                       .top_p = asked.top_p,
                       .top_k = asked.top_k,
                       .seed = asked.seed,
                       .position = sequence->cached});
  }
  results_.assign(sampled_.size(), {});
  if (sampled_.empty()) return;
  model_.sample(logits.data(), params_, results_);
  for (size_t i = 0; i < sampled_.size(); ++i) {
    const Sequence& sequence = *sampled_[i];
    if (results_[i].id >= 0 && sequence.generated < sequence.request.sampling.min_tokens &&
        stops_at(sequence, results_[i].id)) {
      resample_without_stops(
          sequence, logits.subspan(i * static_cast<size_t>(vocab_), static_cast<size_t>(vocab_)),
          params_[i], results_[i]);
    }
  }
}

void Engine::resample_without_stops(const Sequence& sequence, std::span<const float> row,
                                    const kernels::SampleParams& params,
                                    kernels::SampleResult& result) {
  std::copy(row.begin(), row.end(), masked_row_.begin());
  const auto mask = [&](int32_t id) {
    if (id >= 0 && id < vocab_) masked_row_[static_cast<size_t>(id)] = -INFINITY;
  };
  for (const int32_t id : sequence.request.sampling.stop_ids) mask(id);
  if (!sequence.request.sampling.ignore_eos) {
    for (const int32_t id : options_.eos_ids) mask(id);
  }
  model_.sample(masked_row_.data(), {&params, 1}, {&result, 1});
  if (result.id >= 0)
    result.logprob =
        static_cast<float>(row[static_cast<size_t>(result.id)] - model::log_sum_exp(row));
}

bool Engine::stops_at(const Sequence& sequence, int32_t id) const {
  const SamplingOptions& asked = sequence.request.sampling;
  return contains(asked.stop_ids, id) || (!asked.ignore_eos && contains(options_.eos_ids, id));
}

bool Engine::deliver(Sequence& sequence, const kernels::SampleResult& drawn,
                     std::span<const float> row, int64_t now_ns) {
  const SamplingOptions& asked = sequence.request.sampling;
  if (drawn.id < 0 || drawn.id >= vocab_ || sequence.corrupt) {
    outbox_.push_back({sequence.stream, {}, std::nullopt, fail_corrupt(sequence, now_ns)});
    return true;
  }
  if (sequence.generated == 0) {
    sequence.first_token_ns = now_ns;
    counts_.ttft.observe(seconds(now_ns - sequence.arrived_ns));
  } else {
    counts_.itl.observe(seconds(now_ns - sequence.last_token_ns));
  }
  sequence.last_token_ns = now_ns;
  sequence.last_token = drawn.id;
  ++sequence.generated;
  ++counts_.generation_tokens;

  const bool may_stop = sequence.generated > asked.min_tokens;
  const bool stop_id = may_stop && stops_at(sequence, drawn.id);
  // The stop id's own text is not part of the output.
  if (!stop_id && options_.token_bytes)
    sequence.text.append(options_.token_bytes(drawn.id), may_stop);
  const auto stop_text = sequence.text.stopped();
  const bool full = sequence.generated >= asked.max_tokens;

  std::optional<Finish> finish;
  if (stop_id || stop_text || full) {
    finish =
        finish_of(sequence, stop_id || stop_text ? FinishReason::kStop : FinishReason::kLength);
    if (stop_id) finish->stop_id = drawn.id;
    if (stop_text) finish->stop_text = sequence.text.stop_text(*stop_text);
    record_finish(sequence, finish->reason, now_ns);
  }
  TokenOutput token;
  token.id = drawn.id;
  token.logprob = drawn.logprob;
  token.text = finish ? sequence.text.flush() : sequence.text.take();
  token.held = !finish && token.text.empty() && sequence.text.holds();
  if (asked.logprobs && *asked.logprobs > 0) token.top = model::top_logprobs(row, *asked.logprobs);
  const bool ended = finish.has_value();
  outbox_.push_back(
      {sequence.stream, std::move(sequence.prompt_scores), std::move(token), std::move(finish)});
  return ended;
}

void Engine::record_finish(const Sequence& sequence, FinishReason reason, int64_t now_ns) {
  ++counts_.finished[static_cast<size_t>(reason)];
  counts_.request_prompt_tokens.observe(sequence.prompt_length());
  counts_.request_generation_tokens.observe(sequence.generated);
  counts_.request_max_tokens.observe(sequence.request.sampling.max_tokens);
  counts_.e2e.observe(seconds(now_ns - sequence.arrived_ns));
  if (sequence.admitted_ns == 0) return;
  counts_.queue_time.observe(seconds(sequence.admitted_ns - sequence.arrived_ns));
  counts_.inference_time.observe(seconds(now_ns - sequence.admitted_ns));
  if (sequence.generated == 0) return;
  const double decode = seconds(now_ns - sequence.first_token_ns);
  counts_.prefill_time.observe(seconds(sequence.first_token_ns - sequence.admitted_ns));
  counts_.decode_time.observe(decode);
  if (sequence.generated > 1) counts_.tpot.observe(decode / (sequence.generated - 1));
}

}  // namespace headroom::engine
