// Reads and scores the held-out text.
#include "stream.h"

#include <cstdlib>

#include "base/check.h"
#include "base/file.h"
#include "golden.h"
#include "text/tokenizer.h"

namespace headroom::golden {

const std::vector<int32_t>& validation_ids() {
  static const std::vector<int32_t> kIds = [] {
    const auto tokenizer = text::Tokenizer::load(embedded_model());
    HEADROOM_CHECK(tokenizer, "{}", tokenizer.error().message);
    const auto text = base::read_file(embedded_model() + "/validation.txt");
    HEADROOM_CHECK(text, "{}", text.error().message);
    auto ids = tokenizer->encode(*text);
    HEADROOM_CHECK(ids, "{}", ids.error().message);
    ids->insert(ids->begin(), *tokenizer->bos());
    return *ids;
  }();
  return kIds;
}

std::span<const int32_t> window_ids(int window, int index) {
  const auto size = static_cast<size_t>(window);
  return std::span(validation_ids()).subspan(size * static_cast<size_t>(index), size + 1);
}

double window_nll(Runner& runner, std::span<const int32_t> ids) {
  runner.reset();
  const auto vocab = static_cast<size_t>(runner.model().vocab_size());
  const std::vector<float> logits = runner.prefill(ids.first(ids.size() - 1));
  double sum = 0;
  for (size_t i = 0; i + 1 < ids.size(); ++i)
    sum -= logprob(std::span(logits).subspan(i * vocab, vocab), ids[i + 1]);
  return sum / static_cast<double>(ids.size() - 1);
}

double validation_difference(Runner& runner, int windows) {
  const auto golden = read_golden(embedded_model() + "/golden.json");
  const Validation& validation = *golden->validation;
  windows = std::min<int>(windows, static_cast<int>(std::ssize(validation.per_window)));
  double sum = 0;
  for (int i = 0; i < windows; ++i)
    sum += window_nll(runner, window_ids(validation.window, i)) -
           validation.per_window[static_cast<size_t>(i)];
  return sum / windows;
}

bool slow() {
  const char* value = std::getenv("HEADROOM_SLOW");
  return value != nullptr && *value != '\0' && *value != '0';
}

}  // namespace headroom::golden
