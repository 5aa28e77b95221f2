// Progress: one self-overwriting line with bar, time and ETA on a terminal; sparse plain lines
// elsewhere. LiveLines: several lines that a terminal shows anew.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headroom::base {

bool stderr_is_terminal();

/// Writes to stderr. One thread. On a terminal it redraws at most ten times a second; when stderr
/// is a file or a pipe it prints a line every tenth of the way, at most one in two seconds.
/// finish() leaves the final line in place.
class Progress {
 public:
  /// `unit` e.g. "requests", "MB".
  Progress(std::string label, int64_t total, std::string unit, bool quiet = false);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(int64_t done);
  /// Text behind the bar, e.g. "312 tok/s".
  void note(std::string text) { note_ = std::move(text); }
  void finish();

 private:
  void draw(bool last);

  std::string label_, unit_, note_;
  int64_t total_, done_ = 0, started_ns_, drawn_ns_;
  int tenths_ = 0;
  bool quiet_, terminal_, finished_ = false;
};

/// A block of lines on stderr, drawn over itself at most ten times a second. One thread; for
/// terminals alone.
class LiveLines {
 public:
  /// True when it is time to draw again.
  bool due() const;
  /// Lines longer than the terminal is wide are cut.
  void draw(const std::vector<std::string>& lines);
  /// Takes the block off the screen.
  void clear();

 private:
  size_t shown_ = 0;
  int64_t drawn_ns_ = 0;
};

/// A bar of 28 cells.
std::string bar_text(double fraction);

/// "1:05" or "12 s" for a number of seconds.
std::string duration_text(double seconds);

}  // namespace headroom::base
