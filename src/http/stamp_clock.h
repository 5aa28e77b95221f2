// StampClock: the kernel's receive time stamps on the monotonic clock, and a count of which were
// usable.
#pragma once

#include <sys/socket.h>

#include <cstdint>

#include "base/clock.h"
#include "base/histogram.h"

namespace headroom::http {

/// The kernel stamps a packet on CLOCK_REALTIME when it arrives, before any process is woken: what
/// the user-space scheduler or a busy loop does later no longer moves the figure. The offset to
/// CLOCK_MONOTONIC is measured in every batch of reads: a step of the
/// wall clock costs the stamps of the batch it falls into, which the user's clock replaces.
class StampClock {
 public:
  /// `wall` and `steady` are for tests.
  using Clock = int64_t (*)();
  explicit StampClock(Clock wall = base::unix_ns, Clock steady = base::now_ns)
      : wall_(wall), steady_(steady) {}

  /// Asks for software receive stamps; false when the kernel will not.
  static bool enable(int fd);

  /// A batch of reads begins. Without it steps are noticed within a second.
  void begin_batch();

  /// The stamp in the control data of a recvmsg on the monotonic clock. `now` is the caller's clock
  /// right after the call, `floor` a time that the data cannot precede; a stamp that is missing or
  /// outside of [floor, now] is replaced by `now` and counted.
  int64_t arrival_ns(const msghdr& message, int64_t floor, int64_t now);

  /// Reads whose time came from the kernel, and those that fell back to the user's clock.
  uint64_t kernel_reads() const { return kernel_reads_; }
  uint64_t user_reads() const { return user_reads_; }
  /// From the kernel's stamp to our read, nanoseconds: the client's own slowness.
  const base::Histogram& read_lag() const { return read_lag_; }
  /// Steps of the wall clock that were noticed.
  uint64_t steps() const { return steps_; }
  void reset_counts();

 private:
  void measure_offset();

  Clock wall_, steady_;
  bool doubtful_ = false;  // the wall clock was stepped since the batch before
  uint64_t steps_ = 0;
  int64_t offset_ns_ = 0;  // realtime - monotonic
  int64_t measured_ns_ = 0;
  uint64_t kernel_reads_ = 0;
  uint64_t user_reads_ = 0;
  base::Histogram read_lag_;
};

/// Bytes of control data that a recvmsg must offer for the stamp.
inline constexpr size_t kStampControlBytes = 128;

}  // namespace headroom::http
