// Asker: POSTs many bodies to one path, a number of them at a time, on the calling thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/url.h"

namespace headroom::eval {

struct Answer {
  int status = 0;  // 0: none came
  std::string body;
  std::string failure;  // kind: "", "http 500", "timeout", "cut", …
  std::string why;      // one line
  double seconds = 0;
};

struct Asker {
  http::Url url;
  std::string path;
  std::vector<std::string> headers;
  double timeout_s = 600;
  size_t concurrency = 1;

  /// `body` is called right before each request, `done` once for each, in the order of the answers.
  /// After `stop` nothing more is sent and what is under way is left.
  base::Result<> ask(size_t count, const std::function<std::string(size_t)>& body,
                     const std::function<void(size_t, Answer)>& done,
                     const std::atomic<bool>* stop) const;
  base::Result<Answer> ask_one(std::string body) const;
};

/// One line of what the server said, for messages.
std::string excerpt(std::string_view body);

}  // namespace headroom::eval
