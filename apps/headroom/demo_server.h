// DemoServer: `headroom serve` as a child process of the demo, ready to answer.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "child_process.h"

namespace headroom::apps {

class DemoServer {
 public:
  /// Starts `headroom serve MODEL arguments…` on a free port and waits until it says that it is
  /// ready. Errors: kUnavailable with the server's own last line, kCancelled when `stop` is set.
  static base::Result<DemoServer> start(const std::filesystem::path& model,
                                        const std::vector<std::string>& arguments,
                                        const std::filesystem::path& log,
                                        const std::atomic<bool>& stop);
  const std::string& url() const { return url_; }

 private:
  DemoServer(ChildProcess child, std::string url)
      : child_(std::move(child)), url_(std::move(url)) {}
  ChildProcess child_;
  std::string url_;
};

}  // namespace headroom::apps
