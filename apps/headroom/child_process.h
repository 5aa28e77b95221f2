// ChildProcess: a program that runs beside this one and never outlives it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace headroom::apps {

/// The child is told to stop when the object goes, and killed when it does not; the kernel kills it
/// when this process dies in whatever way.
class ChildProcess {
 public:
  /// Both outputs of the child go to `log`. kIo: the log or the process cannot be made.
  static base::Result<ChildProcess> start(const std::vector<std::string>& command,
                                          const std::filesystem::path& log);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();

  /// True while it has not ended.
  bool running();
  /// SIGTERM, then patience, then SIGKILL; waits for the end.
  void stop(std::chrono::milliseconds patience = std::chrono::seconds(2));

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}
  pid_t pid_ = -1;  // -1: ended and collected
};

/// This program's own file.
base::Result<std::filesystem::path> own_program();

}  // namespace headroom::apps
