// ChildProcess: a program that runs beside this one and never outlives it, nor do its own children.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace headroom::sweep {

struct ChildOptions {
  std::vector<std::string> command;                // a program of PATH, or a path
  std::map<std::string, std::string> environment;  // beside our own
  std::filesystem::path directory;                 // empty: ours
  std::filesystem::path log;                       // both outputs go there
  bool hold_stdin = false;                         // stdin stays open and silent, else /dev/null
  bool append = false;                             // to the log
  double grace_s = 10;                             // from SIGTERM to SIGKILL
};

/// A guardian process stands between: it ends the child's process group, and whatever the child
/// started that left the group, when stop() asks, when the child ends, or when this process dies in
/// whatever way, SIGKILL included.
class ChildProcess {
 public:
  /// kNotFound: no such program; kIo: the log or the process cannot be made.
  static base::Result<ChildProcess> start(const ChildOptions& options);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();

  /// True while it has not ended.
  bool running();
  /// SIGTERM, the grace, SIGKILL; waits for the end.
  void stop();
  /// "exited with status 1", "was ended by signal 9 (Killed)"; empty while it runs.
  std::string end_text() const;
  std::optional<int> exit_code() const;  // of a child that exited by itself

 private:
  ChildProcess() = default;
  bool collect(int wait_ms);

  pid_t guardian_ = -1;             // -1: ended and collected
  int control_ = -1, report_ = -1;  // pipe ends
  double grace_s_ = 10;
  std::optional<int> wait_status_;
};

/// This program's own file.
base::Result<std::filesystem::path> own_program();

/// The last `lines` lines of a file, at most 4 KiB and 300 bytes a line, as printable UTF-8; empty
/// when there is none.
std::string log_tail(const std::filesystem::path& log, size_t lines = 5);

}  // namespace headroom::sweep
