// MockStream: one scripted response as a sequence of timed writes.
#pragma once

#include <cstdint>
#include <string>

#include "load/mock/mock_request.h"
#include "load/mock/mock_script.h"
#include "load/mock/mock_server.h"

namespace headroom::load {

/// What the server is to do with the bytes of a step, and when the next step is due.
struct MockStep {
  std::string bytes;
  int64_t tokens = 0;  // content tokens in them
  int64_t next_due = 0;
  enum class After { kMore, kKeep, kClose, kReset, kHang } after = After::kMore;
  bool whole = false;  // the script's end was reached
};

class MockStream {
 public:
  MockStream(const MockScript& script, MockCall call, bool chat, int64_t received_ns);

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
  MockStep finish();
  MockStep whole_answer();

  const MockScript& script_;
  MockCall call_;
  bool chat_;
  int64_t received_;
  int64_t total_;     // tokens to send
  int64_t sent_ = 0;  // tokens
  int64_t chunks_ = 0;
  bool usage_due_ = false;
};

}  // namespace headroom::load
