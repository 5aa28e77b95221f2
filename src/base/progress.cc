// Drawing of the progress line.
#include "base/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/table.h"
#include "base/utf8.h"

namespace headroom::base {
namespace {

constexpr int kBarCells = 28;
constexpr int64_t kPlainLineNs = 2'000'000'000;  // a log is not to be flooded by short work

}  // namespace

std::string bar_text(double fraction) {
  static constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(std::clamp(fraction, 0.0, 1.0) * kBarCells * 8);
  std::string out;
  int cells = eighths / 8;
  for (int i = 0; i < cells; ++i) out += "█";
  if (eighths % 8) {
    out += kEighths[eighths % 8];
    ++cells;
  }
  out.append(static_cast<size_t>(kBarCells - cells), ' ');
  return out;
}

bool stderr_is_terminal() {
  return ::isatty(STDERR_FILENO) == 1;
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<int64_t>(seconds + 0.5);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

Progress::Progress(std::string label, int64_t total, std::string unit, bool quiet)
    : label_(std::move(label)),
      unit_(std::move(unit)),
      total_(std::max<int64_t>(total, 1)),
      started_ns_(now_ns()),
      drawn_ns_(started_ns_),
      quiet_(quiet),
      terminal_(stderr_is_terminal()) {}

Progress::~Progress() {
  finish();
}

void Progress::update(int64_t done) {
  done_ = done;
  if (quiet_ || finished_) return;
  if (terminal_) {
    const int64_t now = now_ns();
    if (now - drawn_ns_ < 100'000'000) return;
    drawn_ns_ = now;
    draw(false);
  } else if (const int64_t now = now_ns(); now - drawn_ns_ >= kPlainLineNs) {
    const int tenths = static_cast<int>(std::min<int64_t>(done * 10 / total_, 10));
    if (tenths <= tenths_) return;
    tenths_ = tenths;
    drawn_ns_ = now;
    draw(false);
  }
}

void Progress::finish() {
  if (finished_) return;
  finished_ = true;
  if (!quiet_ && (terminal_ || tenths_ < 10)) draw(true);
  if (!quiet_ && terminal_) fmt::print(stderr, "\n");
}

void Progress::draw(bool last) {
  const double elapsed = static_cast<double>(now_ns() - started_ns_) * 1e-9;
  const double fraction = static_cast<double>(done_) / static_cast<double>(total_);
  std::string time = fmt::format("{}", duration_text(elapsed));
  if (!last && done_ > 0 && fraction < 1)
    time += fmt::format(", {} left", duration_text(elapsed / fraction * (1 - fraction)));
  const std::string tail = note_.empty() ? "" : "  " + note_;
  if (terminal_) {
    fmt::print(stderr, "\r\x1b[K{} {} {}/{} {}  {}{}", label_, bar_text(fraction), done_, total_, unit_,
               time, tail);
  } else {
    fmt::print(stderr, "{} {}/{} {}  {}{}\n", label_, done_, total_, unit_, time, tail);
  }
  std::fflush(stderr);
}

bool LiveLines::due() const {
  return now_ns() - drawn_ns_ >= 100'000'000;
}

void LiveLines::draw(const std::vector<std::string>& lines) {
  winsize size{};
  const size_t width =
      ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
  std::string out = shown_ > 0 ? fmt::format("\x1b[{}A\r\x1b[J", shown_) : "";
  for (const std::string& line : lines) {
    std::string_view rest = line;
    std::string cut;
    while (!rest.empty() && display_width(cut) + 1 < width) {
      const size_t length = std::max<size_t>(utf8_length(rest), 1);
      cut += rest.substr(0, length);
      rest.remove_prefix(length);
    }
    out += cut + "\n";
  }
  std::fwrite(out.data(), 1, out.size(), stderr);
  std::fflush(stderr);
  shown_ = lines.size();
  drawn_ns_ = now_ns();
}

void LiveLines::clear() {
  if (shown_ > 0) fmt::print(stderr, "\x1b[{}A\r\x1b[J", shown_);
  std::fflush(stderr);
  shown_ = 0;
}

}  // namespace headroom::base
