// Scheduling of the loop's thread.
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "load/load_loop.h"

namespace headroom::load {

namespace {

/// struct sched_attr of linux/sched/types.h, whose header clashes with glibc's.
struct SchedulingAttributes {
  uint32_t size = sizeof(SchedulingAttributes), policy = 0;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime = 0, deadline = 0, period = 0;
};

}  // namespace

std::string favour_this_thread() {
  if (const int policy = sched_getscheduler(0); policy == SCHED_FIFO || policy == SCHED_RR)
    return "real time";  // the caller's own choice
  // The loop sleeps most of the time, so it takes from others no more than it would anyway, but it
  // is there when bytes come, whatever else runs. With one core it might keep the server from it.
  const sched_param lowest{.sched_priority = 1};
  if (sysconf(_SC_NPROCESSORS_ONLN) > 1 && sched_setscheduler(0, SCHED_RR, &lowest) == 0)
    return "real time";
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  // Since Linux 6.12 an ordinary thread may ask for a slice; who asks for little is served sooner.
  constexpr uint64_t kSliceNs = 100'000;
  constexpr int kNice = -10;
  SchedulingAttributes wanted;
  wanted.runtime = kSliceNs;
  wanted.nice = kNice;
  if (syscall(SYS_sched_setattr, 0, &wanted, 0U) == 0) return "nice -10, slice 0.1 ms";
  wanted.nice = getpriority(PRIO_PROCESS, 0);
  if (syscall(SYS_sched_setattr, 0, &wanted, 0U) == 0) return "slice 0.1 ms";
  return "ordinary";
}

}  // namespace headroom::load
