// DemoServer: `headroom serve` as a child process of the demo, ready to answer.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "sweep/server.h"

namespace headroom::apps {

class DemoServer {
 public:
  /// Starts `headroom serve MODEL arguments…` on a free port and waits until it is
  /// healthy. Errors: kUnavailable with the server's own last line, kCancelled when `stop` is set.
  static base::Result<DemoServer> start(const std::filesystem::path& model,
                                        const std::vector<std::string>& arguments,
                                        const std::filesystem::path& log,
                                        const std::atomic<bool>& stop);
  const std::string& url() const { return server_.url(); }

 private:
  explicit DemoServer(sweep::Server server) : server_(std::move(server)) {}
  sweep::Server server_;
};

}  // namespace headroom::apps
