// MockServer: a scripted OpenAI server that knows the truth about every stream it sent.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/histogram.h"
#include "base/result.h"
#include "http/url.h"
#include "load/mock/mock_script.h"
#include "load/mock/mock_truth.h"

namespace headroom::load {

/// Serves POST /v1/completions, POST /v1/chat/completions, GET /v1/models and GET /health on one
/// thread of its own. Every prompt token is a JSON number, or a word of a text prompt.
class MockServer {
 public:
  /// Port 0 takes a free one; a host of "unix:/file" listens on that socket. Errors: kUnavailable
  /// naming the address.
  static base::Result<std::unique_ptr<MockServer>> start(MockScript script,
                                                         const std::string& host = "127.0.0.1",
                                                         int port = 0);
  ~MockServer();

  int port() const { return url_.port; }
  std::string url() const;
  /// Of the requests received so far, in that order.
  std::vector<MockTruth> truths() const;
  /// The most requests that were ever open at once.
  int64_t most_in_flight() const;
  /// From when a write was due to just before it, nanoseconds: not the client's error, since the
  /// truth has what was sent.
  base::Histogram lateness() const;
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
  http::Url url_;
  std::thread thread_;
};

}  // namespace headroom::load
