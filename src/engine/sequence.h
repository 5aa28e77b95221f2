// Sequence: a request on its way through the engine, with its pages and its progress.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/request.h"
#include "engine/stream.h"
#include "engine/text_stream.h"
#include "model/logprobs.h"

namespace headroom::engine {

/// Made by the submitting thread, then owned by the scheduler on the engine thread.
struct Sequence {
  Sequence(Request asked, std::shared_ptr<RequestStream> out)
      : request(std::move(asked)),
        stream(std::move(out)),
        text(request.sampling.stop, request.sampling.include_stop) {}

  Request request;
  std::shared_ptr<RequestStream> stream;
  TextStream text;

  std::vector<int32_t> pages;  // reserved at admission for the longest it can become
  int32_t cached = 0;          // rows in the cache
  std::vector<model::TokenScore> prompt_scores;  // of prompt[1…]; leave with the first token
  bool corrupt = false;                          // a score was not finite
  int32_t generated = 0;                         // tokens drawn
  int32_t last_token = -1;                       // drawn, not in the cache yet

  // base::now_ns(); 0 until it happens.
  int64_t arrived_ns = 0, admitted_ns = 0, first_token_ns = 0, last_token_ns = 0;

  int32_t prompt_length() const { return static_cast<int32_t>(request.prompt.size()); }
  bool prefilling() const { return cached < prompt_length(); }
  /// Rows that it needs at most. The last token drawn is never written to the cache.
  int64_t longest() const {
    return int64_t{prompt_length()} + std::max(request.sampling.max_tokens - 1, 0);
  }
  /// Nothing is drawn: the prompt alone is wanted.
  bool scores_only() const { return request.sampling.max_tokens == 0; }
};

}  // namespace headroom::engine
