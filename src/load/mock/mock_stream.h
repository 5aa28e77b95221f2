// MockStream: one scripted response as a sequence of timed writes.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "load/mock/mock_request.h"
#include "load/mock/mock_script.h"

namespace headroom::load {

/// What the server is to do with the bytes of a step, and when the next step is due.
struct MockStep {
  std::string bytes;
  std::string_view shared;  // instead of bytes: a text that the script keeps
  int64_t tokens = 0;       // content tokens in them
  int64_t next_due = 0;
  enum class After { kMore, kKeep, kClose, kReset, kHang } after = After::kMore;
  bool whole = false;  // the script's end was reached
};

/// Events that all streams of a script have in common, made once: at tens of thousands of events a
/// second formatting would cost as much as sending.
class MockTexts {
 public:
  /// The text made by `make` the first time that `key` is asked for. Keys are small.
  template <typename Make>
  std::string_view get(size_t key, const Make& make) {
    if (key >= texts_.size()) texts_.resize(key + 1);
    if (texts_[key].empty()) texts_[key] = make();
    return texts_[key];
  }

 private:
  std::deque<std::string> texts_;  // never moves
};

class MockStream {
 public:
  /// `number` counts requests; it draws the length. The script and the texts outlive the stream.
  MockStream(const MockScript& script, MockTexts& texts, MockCall call, bool chat,
             int64_t received_ns, uint64_t number);

  /// The head and what comes with it at once.
  MockStep open();
  /// The next writes; call at next_due.
  MockStep next();

  /// A complete answer with a JSON body.
  static std::string json_response(int status, const std::string& json, bool keep_alive = true);

 private:
  std::string event(const std::string& json) const;
  std::string framed(const std::string& text) const;
  std::string content_json(int64_t tokens, bool last) const;
  std::string usage_json(int64_t output) const;
  /// When chunk i is due.
  int64_t due(int64_t i) const;
  bool thinking() const;
  MockStep finish();
  MockStep whole_answer();

  const MockScript& script_;
  MockTexts& texts_;
  MockCall call_;
  bool chat_;
  int64_t received_;
  int64_t total_;     // tokens to send
  int64_t sent_ = 0;  // tokens
  int64_t chunks_ = 0;
  bool usage_due_ = false;
};

}  // namespace headroom::load
