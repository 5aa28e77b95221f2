// headroom watch: runs recipes again on a schedule and when something they depend on changes.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <thread>

#include "commands.h"
#include "store_options.h"
#include "sweep/watch.h"

namespace headroom::apps {
namespace {

std::atomic<bool> g_stop{false};

extern "C" void on_watch_interrupt(int) {
  g_stop = true;
  std::signal(SIGINT, SIG_DFL);
}

struct Options {
  std::vector<std::string> recipes;
  std::string db = kDefaultStore, every, poll = "1m";
  bool once = false, bisect = false, quiet = false;
};

base::Result<double> seconds_of(const std::string& name, const std::string& text) {
  HEADROOM_TRY(const auto node, sweep::read_yaml(text, name));
  return sweep::parse_duration(node);
}

void say(const std::string& text) {
  fmt::print("{}{}", text, text.ends_with('\n') ? "" : "\n");
  std::fflush(stdout);
}

CommandResult run_command(const Options& o) {
  sweep::WatchOptions options;
  if (!o.every.empty()) {
    HEADROOM_TRY(options.every_s, seconds_of("--every", o.every));
  }
  HEADROOM_TRY(const double poll_s, seconds_of("--poll", o.poll));
  const bool file = o.db.find("://") == std::string::npos;
  const std::string beside = file ? o.db : "headroom";
  options.bisect = o.bisect;
  options.states = beside + ".watch";
  options.sweep.logs = beside + ".logs";
  options.sweep.quiet = o.quiet;
  options.sweep.stop = &g_stop;
  std::error_code made;
  std::filesystem::create_directories(options.states, made);
  if (made)
    return base::fail(base::ErrorCode::kIo, "{}: {}", options.states.string(), made.message());
  HEADROOM_TRY(results::Store store, results::Store::open(o.db));
  struct sigaction action{};
  action.sa_handler = on_watch_interrupt;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
  sweep::Watcher watcher(options, store, say);
  bool failed = false;
  for (;;) {
    // Read anew each time: recipes come and go, and an error in one is no reason to leave others.
    watcher.new_round();
    failed = false;
    std::vector<std::filesystem::path> files;
    for (const std::string& argument : o.recipes) {
      const auto found = sweep::recipe_files({argument});
      if (!found) {
        failed = true;
        say(found.error().message);
        continue;
      }
      files.insert(files.end(), found->begin(), found->end());
    }
    std::sort(files.begin(), files.end());
    files.erase(std::unique(files.begin(), files.end()), files.end());
    for (const std::filesystem::path& recipe : files) {
      if (g_stop) break;
      const auto ran = watcher.check(recipe);
      if (ran) continue;
      if (ran.error().code == base::ErrorCode::kCancelled) break;
      failed = true;
      say(ran.error().message);
    }
    if (o.once || g_stop) break;
    for (double waited = 0; waited < poll_s && !g_stop; waited += 0.1)
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (g_stop) break;
  }
  return failed ? 1 : 0;
}

}  // namespace

void add_watch(CLI::App& app, std::function<CommandResult()>& run) {
  auto options = std::make_shared<Options>();
  Options& o = *options;
  CLI::App* sub =
      app.add_subcommand("watch", "measure recipes again when something changes, say what moved");
  sub->add_option("recipes", o.recipes, "recipes, or folders of them")->required();
  sub->add_option("--db", o.db, "store of the points")->capture_default_str();
  sub->add_option("--every", o.every, "also on this schedule, e.g. 6h (recipes may say their own)");
  sub->add_option("--poll", o.poll, "how often the triggers are looked at")->capture_default_str();
  sub->add_flag("--once", o.once, "look once and end");
  sub->add_flag("--bisect", o.bisect, "when something moved, run the versions between");
  sub->add_flag("--quiet", o.quiet, "no progress on stderr");
  sub->footer("Example:\n  headroom watch recipes/ --db results.db --every 6h --bisect");
  sub->callback([options, &run] { run = [options] { return run_command(*options); }; });
}

}  // namespace headroom::apps
