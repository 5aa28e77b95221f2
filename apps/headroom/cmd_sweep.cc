// headroom sweep: measures every point of a recipe, and goes on where an earlier call ended.
#include <csignal>
#include <cstdio>

#include "base/progress.h"
#include "commands.h"
#include "store_options.h"
#include "sweep/sweep.h"

namespace headroom::apps {
namespace {

std::atomic<bool> g_stop{false};

extern "C" void on_sweep_interrupt(int) {
  g_stop = true;
  std::signal(SIGINT, SIG_DFL);  // a second Ctrl-C ends the program at once; its servers end too
}

struct Options {
  std::string recipe, db = kDefaultStore, logs, point;
  std::vector<std::string> set;
  bool dry_run = false, again = false, quiet = false, json = false;
};

base::Result<sweep::SweepOptions> sweep_options(const Options& o) {
  sweep::SweepOptions options;
  for (const std::string& entry : o.set) {
    const size_t equals = entry.find('=');
    if (equals == std::string::npos || equals == 0)
      return base::fail(base::ErrorCode::kInvalidArgument, "--set {}: not NAME=VALUE", entry);
    options.variables[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  const bool file = o.db.find("://") == std::string::npos;
  options.logs = !o.logs.empty() ? o.logs : file ? o.db + ".logs" : "headroom.logs";
  options.again = o.again;
  options.point = o.point;
  options.quiet = o.quiet;
  options.stop = &g_stop;
  return options;
}

base::Result<int> dry_run(const Options& o, const sweep::Recipe& recipe,
                          const sweep::SweepOptions& options) {
  std::optional<results::Store> store;
  std::error_code ignored;
  // An empty file is what a kill leaves of a store that was just being made.
  if (o.db.find("://") != std::string::npos ||
      (std::filesystem::exists(o.db, ignored) && !std::filesystem::is_empty(o.db, ignored))) {
    HEADROOM_TRY(store, results::Store::open(o.db, results::Store::Mode::kRead));
  }
  HEADROOM_TRY(const std::string text,
               o.json ? sweep::dry_run_json(recipe, options, store ? &*store : nullptr)
                      : sweep::dry_run_text(recipe, options, store ? &*store : nullptr));
  fmt::print("{}{}", text, o.json ? "\n" : "");
  return 0;
}

void print_outcome(const std::string& db, const sweep::SweepOutcome& outcome) {
  using sweep::PointState;
  if (outcome.points.empty()) return;
  fmt::print("{}", sweep::outcome_table(outcome).terminal());
  std::string last;
  for (const sweep::PointResult& point : outcome.points) {
    if (point.reason.empty() || point.state == PointState::kLeft) continue;
    const std::string text =
        fmt::format("{}, {}: {}", point.configuration, load_text(point.load), point.reason);
    const std::string why = point.configuration + point.reason;  // told once for all its points
    if (why != last) fmt::print("\n{}\n", text);
    last = why;
  }
  for (const std::string& note : outcome.notes) fmt::print("\n{}\n", note);
  fmt::print("\n{} measured, {} had, {} failed, {} left, in {}{} ({}, run {})\n",
             outcome.count(PointState::kMeasured), outcome.count(PointState::kHad),
             outcome.count(PointState::kFailed), outcome.count(PointState::kLeft),
             base::duration_text(outcome.seconds),
             outcome.dollars ? fmt::format(", about ${:.2f}", *outcome.dollars) : "", db,
             outcome.run);
  if (outcome.started_as == sweep::RunChoice::State::kFinished &&
      outcome.count(PointState::kMeasured) == 0)
    fmt::print("Everything was measured already; --again measures it anew, as another run.\n");
}

CommandResult run_command(const Options& o) {
  HEADROOM_TRY(const sweep::Recipe recipe, sweep::read_recipe(o.recipe));
  HEADROOM_TRY(const sweep::SweepOptions options, sweep_options(o));
  if (o.dry_run) return dry_run(o, recipe, options);
  HEADROOM_TRY(results::Store store, results::Store::open(o.db));
  struct sigaction action{};
  action.sa_handler = on_sweep_interrupt;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGHUP, &action, nullptr);
  const sweep::SweepOutcome outcome = sweep::run_sweep(recipe, options, store);
  if (o.json)
    fmt::print("{}\n", sweep::outcome_json(recipe, outcome));
  else
    print_outcome(store.name(), outcome);
  std::fflush(stdout);
  if (outcome.error) return tl::unexpected(*outcome.error);
  return outcome.count(sweep::PointState::kFailed) > 0 ? 1 : 0;
}

}  // namespace

void add_sweep(CLI::App& app, std::function<CommandResult()>& run) {
  auto options = std::make_shared<Options>();
  Options& o = *options;
  CLI::App* sub = app.add_subcommand("sweep", "measure every point of a recipe");
  sub->add_option("recipe", o.recipe, "the recipe's YAML file")->required();
  sub->add_option("--db", o.db, "store of the points")->capture_default_str();
  sub->add_flag("--dry-run", o.dry_run, "print the points, the expected time and what is new");
  sub->add_flag("--again", o.again, "a fresh run, whatever the last one has");
  sub->add_option("--point", o.point,
                  "only the points whose digest (a record's `point`) starts so");
  sub->add_option("--set", o.set,
                  "NAME=VALUE for a variable of the recipe's vars; may be repeated");
  sub->add_option("--logs", o.logs, "folder of the servers' logs [DB.logs]");
  sub->add_flag("--quiet", o.quiet, "no progress on stderr");
  sub->add_flag("--json", o.json, "print one JSON object");
  sub->footer(
      "An interrupted sweep goes on where it ended: call it again.\n"
      "Example:\n  headroom sweep recipes/tiny-mla.yaml --db results.db --dry-run");
  sub->callback([options, &run] { run = [options] { return run_command(*options); }; });
}

}  // namespace headroom::apps
