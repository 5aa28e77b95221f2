// Starts the server and reads its log until the line with the address appears.
#include "demo_server.h"

#include <chrono>
#include <thread>

#include "base/file.h"

namespace headroom::apps {
namespace {

using base::ErrorCode;
using base::fail;

std::string last_line(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  const size_t start = text.rfind('\n');
  return std::string(start == std::string_view::npos ? text : text.substr(start + 1));
}

/// The address behind "ready at ", or nothing yet.
std::string ready_url(std::string_view log) {
  constexpr std::string_view kMark = "ready at ";
  const size_t at = log.find(kMark);
  if (at == std::string_view::npos) return {};
  const size_t start = at + kMark.size(), end = log.find_first_of(" \n", start);
  return end == std::string_view::npos ? "" : std::string(log.substr(start, end - start));
}

}  // namespace

base::Result<DemoServer> DemoServer::start(const std::filesystem::path& model,
                                           const std::vector<std::string>& arguments,
                                           const std::filesystem::path& log,
                                           const std::atomic<bool>& stop) {
  HEADROOM_TRY(const auto program, own_program());
  std::vector<std::string> command = {program.string(),  "serve", model.string(), "--port", "0",
                                      "--drain-seconds", "0"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  HEADROOM_TRY(ChildProcess child, ChildProcess::start(command, log));
  constexpr int kSeconds = 120;
  for (int i = 0; i < kSeconds * 20; ++i) {
    if (stop) return fail(ErrorCode::kCancelled, "interrupted");
    const bool running = child.running();
    HEADROOM_TRY(const std::string text, base::read_file(log));
    if (std::string url = ready_url(text); !url.empty() && running)
      return DemoServer(std::move(child), std::move(url));
    if (!running)
      return fail(ErrorCode::kUnavailable, "the server ended before it was ready: {} (log: {})",
                  last_line(text), log.string());
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return fail(ErrorCode::kUnavailable, "the server was not ready after {} s (log: {})", kSeconds,
              log.string());
}

}  // namespace headroom::apps
