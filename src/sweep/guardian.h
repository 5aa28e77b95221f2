// The guardian: the process that stands between a child and us and ends what the child started.
#pragma once

namespace headroom::sweep {

/// Everything made before the fork: after it, only calls that are safe in a forked process are
/// made.
struct GuardianPlan {
  const char* program;
  char* const* arguments;
  char* const* environment;
  const char* directory;  // null: stay
  int log, control, report;
  bool hold_stdin;
  int grace_ms;
};

/// Runs in the forked process and never returns. Writes the child's wait status to `report`.
[[noreturn]] void run_guardian(const GuardianPlan& plan);

}  // namespace headroom::sweep
