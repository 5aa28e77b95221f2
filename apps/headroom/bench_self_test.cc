// The self-test's processes and cores; the cases are load/self_test.
#include "bench_self_test.h"

#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "base/file.h"
#include "load/self_test/self_test.h"
#include "sweep/child_process.h"

namespace headroom::apps {

using base::ErrorCode;
using base::fail;

namespace {

/// The cores of this process, one for each side.
struct Cores {
  std::optional<int> mock, client;
};

Cores choose_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {};
  Cores cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(static_cast<size_t>(cpu), &set)) continue;
    if (!cores.mock) {
      cores.mock = cpu;
    } else {
      cores.client = cpu;
      return cores;
    }
  }
  return {};  // one core: nothing to choose
}

class MockProcess final : public load::MockHost {
 public:
  static base::Result<std::unique_ptr<load::MockHost>> start(const std::string& script,
                                                             int64_t connections,
                                                             std::optional<int> cpu) {
    std::string folder = (std::filesystem::temp_directory_path() / "headroom-XXXXXX").string();
    if (::mkdtemp(folder.data()) == nullptr)
      return fail(ErrorCode::kIo, "{}: no temporary folder", folder);
    auto self = std::unique_ptr<MockProcess>(new MockProcess(folder));
    HEADROOM_TRY(const auto program, sweep::own_program());
    std::vector<std::string> command = {program.string(),
                                        "mock",
                                        "--port",
                                        "0",
                                        "--realtime",
                                        "--script",
                                        script,
                                        "--connections",
                                        std::to_string(connections),
                                        "--truth",
                                        self->truth()};
    if (cpu) command.insert(command.end(), {"--cpu", std::to_string(*cpu)});
    sweep::ChildOptions options;
    options.command = command;
    options.log = self->log();
    options.grace_s = 20;  // it writes its log first
    HEADROOM_TRY(sweep::ChildProcess child, sweep::ChildProcess::start(options));
    self->child_ = std::move(child);
    HEADROOM_TRY_VOID(self->find_url());
    return self;
  }
  ~MockProcess() override {
    child_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::string url() const override { return url_; }
  base::Result<std::vector<load::MockTruth>> stop() override {
    child_->stop();
    return load::read_truths(truth());
  }

 private:
  explicit MockProcess(std::string folder) : folder_(std::move(folder)) {}
  std::string log() const { return folder_ + "/log"; }
  std::string truth() const { return folder_ + "/truth.jsonl"; }

  base::Result<> find_url() {
    constexpr std::string_view kMark = "listening on ";
    for (int i = 0; i < 1000; ++i) {
      const auto text = base::read_file(log());
      const size_t at = text ? text->find(kMark) : std::string::npos;
      const size_t end = at == std::string::npos ? at : text->find('\n', at);
      if (end != std::string::npos) {
        url_ = text->substr(at + kMark.size(), end - at - kMark.size());
        return {};
      }
      if (!child_->running())
        return fail(ErrorCode::kUnavailable, "the mock did not start: {}", text ? *text : "");
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return fail(ErrorCode::kUnavailable, "the mock did not say where it listens");
  }

  std::string folder_, url_;
  std::optional<sweep::ChildProcess> child_;
};

}  // namespace

void add_self_test_options(CLI::App& bench, SelfTestFlags& flags) {
  CLI::App* group = bench.add_option_group(
      "self-test", "the client's own error, against a mock server that logs what it sends");
  auto* self = group->add_flag("--self-test", flags.wanted, "instead of measuring a server");
  const auto add = [&](const char* name, auto& value, const char* text) {
    group->add_option(name, value, text)->needs(self)->check(CLI::PositiveNumber);
  };
  add("--streams", flags.streams, "of the closed loop [2048]");
  add("--interval", flags.interval_ms, "ms between a stream's tokens [25]");
  add("--rounds", flags.rounds, "requests of a stream in the steady window [10]");
  add("--many-streams", flags.many_streams, "of the case with many streams [20000]");
  group->add_option("--case", flags.only, "only cases whose names contain this")->needs(self);
  group->add_flag("--hog", flags.hog, "a CPU hog beside every case")->needs(self);
  group->add_flag("--quick", flags.quick, "few streams, short")->needs(self);
}

CommandResult run_self_test(const SelfTestFlags& flags, bool json, const std::atomic<bool>& stop) {
  load::SelfTestOptions options = flags.quick ? load::quick_self_test() : load::SelfTestOptions{};
  options.streams = flags.streams.value_or(options.streams);
  options.rounds = flags.rounds.value_or(options.rounds);
  options.many_streams = flags.many_streams.value_or(options.many_streams);
  options.interval_ms = flags.interval_ms.value_or(options.interval_ms);
  options.hog = flags.hog;
  options.only = flags.only;
  const Cores cores = choose_cores();
  options.client_cpu = cores.client;
  const auto start = [&](const std::string& script, int64_t connections) {
    return MockProcess::start(script, connections, cores.mock);
  };
  const auto on_case = [](const std::string& name) { fmt::print(stderr, "self-test: {}\n", name); };
  HEADROOM_TRY(load::SelfTestReport report, load::run_self_test(options, start, on_case, &stop));
  if (!cores.client)
    report.notes.emplace_back("one core for both sides: the errors hold the scheduler's too");
  if (json) {
    base::JsonWriter writer;
    load::write_self_test(writer, report);
    fmt::print("{}\n", writer.text());
  } else {
    fmt::print("{}", load::self_test_text(report));
  }
  return report.passed() ? 0 : 1;
}

}  // namespace headroom::apps
