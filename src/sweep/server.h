// Server: a launched server that answers, and what is known of it when it does not.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "sweep/child_process.h"

namespace headroom::sweep {

/// What a launcher makes of a server's description: a local process, and where it will answer.
struct Launch {
  std::optional<ChildOptions> process;  // absent: up already
  std::string url;                      // may hold ${node}
  std::filesystem::path node_file;      // holds the node's name once it is known; empty: no need
  std::string health = "/health";       // path, or a whole URL
};

struct ServerTimeouts {
  double start_s = 600;   // until the launcher has it running (queue, connection)
  double health_s = 900;  // from there until it is healthy
};

class Server {
 public:
  /// Starts and waits until GET `health` answers 200. `progress` hears of the wait, about once a
  /// second. Errors: kUnavailable with the reason and the log's last lines, kCancelled on `stop`.
  static base::Result<Server> start(const Launch& launch, const ServerTimeouts& timeouts,
                                    const std::atomic<bool>* stop,
                                    const std::function<void(const std::string&)>& progress = {});
  const std::string& url() const { return url_; }
  double start_seconds() const { return start_seconds_; }
  /// A server that was up already always runs.
  bool running();
  /// "the server was ended by signal 9 (SIGKILL); log FILE: …"; empty while it runs.
  std::string end_text();
  void stop();

 private:
  std::optional<ChildProcess> child_;
  std::string url_;
  std::filesystem::path log_;
  double start_seconds_ = 0;
};

/// A TCP port of this machine that was free a moment ago.
base::Result<int> free_port();

}  // namespace headroom::sweep
