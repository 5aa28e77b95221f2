// Runs between fork and _exit, so only async-signal-safe calls: no allocation, no locks, no stdio.
#include "sweep/guardian.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <initializer_list>

namespace headroom::sweep {
namespace {

void say(const char* text) {
  [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, text, ::strlen(text));
}

void close_from(unsigned first, unsigned last) {
  if (first > last) return;
  if (::syscall(SYS_close_range, first, last, 0) == 0) return;
  for (unsigned fd = first; fd <= last && fd < 65536; ++fd) ::close(static_cast<int>(fd));
}

void signals(void (*action)(int)) {
  for (const int s : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2})
    ::signal(s, action);
}

[[noreturn]] void run_child(const GuardianPlan& plan, pid_t guardian) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != guardian) ::_exit(127);  // it died before the line above
  ::setpgid(0, 0);
  signals(SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  close_from(3, ~0U);
  if (plan.directory != nullptr && ::chdir(plan.directory) != 0) {
    say(plan.directory);
    say(": cannot be entered\n");
    ::_exit(126);
  }
  ::execve(plan.program, plan.arguments, plan.environment);
  say(plan.program);
  say(errno == ENOENT ? ": the interpreter or program is missing\n" : ": cannot be run\n");
  ::_exit(126);
}

/// Milliseconds, for the grace.
int64_t now_ms() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1000 + t.tv_nsec / 1'000'000;
}

/// Waits for the child's end; true when it ended. `control` < 0: not watched. Sets *asked when we
/// are told to stop, or our parent is gone.
bool wait_child(pid_t child, int pidfd, int control, int64_t timeout_ms, int* status, bool* asked) {
  const int64_t until = now_ms() + timeout_ms;
  for (;;) {
    const pid_t ended = ::waitpid(child, status, WNOHANG);
    if (ended == child || (ended < 0 && errno != EINTR)) return true;
    const int64_t left = timeout_ms < 0 ? 3'600'000 : until - now_ms();
    if (left <= 0) return false;
    pollfd watched[2] = {{pidfd, POLLIN, 0}, {control, POLLIN, 0}};
    ::poll(watched, 2, static_cast<int>(pidfd >= 0 || left < 50 ? left : 50));
    if (control >= 0 && watched[1].revents != 0) {
      *asked = true;
      return false;
    }
  }
}

/// Descendants that left the group come to us, their nearest living ancestor that asked for them.
void end_orphans() {
  for (int round = 0; round < 200; ++round) {
    char text[4096];
    const int fd = ::open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    const ssize_t size = ::read(fd, text, sizeof text - 1);
    ::close(fd);
    if (size <= 0) return;
    text[size] = 0;
    for (char* at = text; *at != 0;) {
      char* end = at;
      const long pid = ::strtol(at, &end, 10);
      if (end == at) break;
      ::kill(static_cast<pid_t>(pid), SIGKILL);
      at = end;
    }
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    const timespec pause{0, 5'000'000};
    ::nanosleep(&pause, nullptr);
  }
}

}  // namespace

void run_guardian(const GuardianPlan& plan) {
  ::setpgid(0, 0);  // Ctrl-C is for our parent, which then ends us in good order
  signals(SIG_IGN);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::dup2(plan.log, STDOUT_FILENO);
  ::dup2(plan.log, STDERR_FILENO);
  int input = -1, held = -1;
  if (plan.hold_stdin) {
    int ends[2];
    if (::pipe(ends) == 0) {
      input = ends[0];
      held = ::fcntl(ends[1], F_DUPFD_CLOEXEC, 10);
    }
  } else {
    input = ::open("/dev/null", O_RDONLY);
  }
  if (input >= 0) ::dup2(input, STDIN_FILENO);
  const pid_t self = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) ::_exit(126);
  if (child == 0) run_child(plan, self);
  ::setpgid(child, child);
  // Locks and listening sockets of our parent must not live on in us.
  const unsigned low =
      static_cast<unsigned>(plan.control < plan.report ? plan.control : plan.report);
  const unsigned high =
      static_cast<unsigned>(plan.control < plan.report ? plan.report : plan.control);
  // The held end must survive: move it out of the way, then close around the two pipes.
  for (unsigned fd = 3; fd < 1024; ++fd)
    if (fd != low && fd != high && static_cast<int>(fd) != held) ::close(static_cast<int>(fd));
  close_from(high > 1024 ? high + 1 : 1024, ~0U);
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
  int status = 0;
  bool asked = false;
  if (!wait_child(child, pidfd, plan.control, -1, &status, &asked)) {
    ::kill(-child, SIGTERM);
    bool ignored = false;
    if (!wait_child(child, pidfd, -1, plan.grace_ms, &status, &ignored)) {
      ::kill(-child, SIGKILL);
      while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
      }
    }
  }
  ::kill(-child, SIGKILL);  // workers that the child left behind
  end_orphans();
  [[maybe_unused]] const ssize_t n = ::write(plan.report, &status, sizeof status);
  ::_exit(0);
}

}  // namespace headroom::sweep
