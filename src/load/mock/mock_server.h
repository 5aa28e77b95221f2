// MockServer: a scripted OpenAI server that knows the truth about every stream it sent.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "load/mock/mock_script.h"

namespace headroom::load {

/// What really happened to one request; CLOCK_MONOTONIC nanoseconds, stamped just before the send.
struct MockTruth {
  std::string request_id;                   // of the X-Request-Id header
  int64_t received = 0;                     // last byte of the request read
  int64_t first_token = 0, last_token = 0;  // 0: none sent
  int64_t prompt_tokens = 0, tokens = 0, chunks = 0;
  uint64_t prompt_digest = 0;
  bool whole = false;  // the response was sent to its scripted end
  bool chat = false;
};

/// Serves POST /v1/completions, POST /v1/chat/completions, GET /v1/models and GET /health on one
/// thread of its own. Every prompt token is a JSON number, or a word of a text prompt.
class MockServer {
 public:
  /// Port 0 takes a free one. Errors: kUnavailable naming the address.
  static base::Result<std::unique_ptr<MockServer>> start(MockScript script,
                                                         const std::string& host = "127.0.0.1",
                                                         int port = 0);
  ~MockServer();

  int port() const { return port_; }
  std::string url() const;
  /// Of the requests received so far, in that order.
  std::vector<MockTruth> truths() const;
  /// The most requests that were ever open at once.
  int64_t most_in_flight() const;
  /// Accepted connections so far.
  int64_t connections() const;
  /// False once the script let the server die or it was stopped.
  bool running() const;
  /// Waits until the script lets the server die or stop() is called from elsewhere.
  void wait();
  /// Closes everything. Any thread; also the destructor's job.
  void stop();

 private:
  struct Loop;
  explicit MockServer(std::unique_ptr<Loop> loop);

  std::unique_ptr<Loop> loop_;
  std::string host_;
  int port_ = 0;
  std::thread thread_;
};

}  // namespace headroom::load
