// The channel's two sides.
#include "engine/stream.h"

#include "base/check.h"

namespace headroom::engine {

void RequestStream::drain(Batch& batch) {
  batch.tokens.clear();
  batch.finish.reset();
  batch.prompt_scores.clear();
  const std::lock_guard lock(mutex_);
  std::swap(batch.tokens, pending_.tokens);  // swapped, so that both vectors keep their capacity
  std::swap(batch.finish, pending_.finish);
  std::swap(batch.prompt_scores, pending_.prompt_scores);
}

void RequestStream::push(TokenOutput token, std::optional<Finish> finish,
                         std::vector<model::TokenScore> prompt_scores) {
  bool was_drained = false;
  {
    const std::lock_guard lock(mutex_);
    HEADROOM_CHECK(!finished_, "token {} after the finish", token.id);
    was_drained = pending_.tokens.empty();
    pending_.tokens.push_back(std::move(token));
    if (!prompt_scores.empty()) pending_.prompt_scores = std::move(prompt_scores);
    finished_ = finish.has_value();
    pending_.finish = std::move(finish);
  }
  notify(was_drained);
}

void RequestStream::finish(Finish finish, std::vector<model::TokenScore> prompt_scores) {
  bool was_drained = false;
  {
    const std::lock_guard lock(mutex_);
    HEADROOM_CHECK(!finished_, "second finish ({})", finish_reason_name(finish.reason));
    was_drained = pending_.tokens.empty();
    finished_ = true;
    pending_.finish = std::move(finish);
    if (!prompt_scores.empty()) pending_.prompt_scores = std::move(prompt_scores);
  }
  notify(was_drained);
}

}  // namespace headroom::engine
