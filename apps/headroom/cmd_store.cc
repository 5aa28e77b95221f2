// headroom store: what the store holds, and whether it is sound.
#include "analysis/point_table.h"
#include "base/json_writer.h"
#include "commands.h"
#include "results/export.h"
#include "store_options.h"

namespace headroom::apps {
namespace {

struct Options {
  std::string db = kDefaultStore, selector, to;
  bool json = false;
};

CommandResult list(const Options& options) {
  HEADROOM_TRY(const auto store, results::Store::open(options.db, results::Store::Mode::kRead));
  std::vector<results::StoredRecord> records;
  if (options.selector.empty()) {
    HEADROOM_TRY(records, store.all());
  } else {
    HEADROOM_TRY(records, select_records(store, options.selector, true));
  }
  if (options.json) {
    fmt::print("{}\n", results::export_json(records));
    return 0;
  }
  const int64_t quarantined =
      std::ranges::count_if(records, [](const auto& r) { return !r.quarantine.empty(); });
  fmt::print("{}\n{} records in {}{}\n", analysis::point_list(records, {}).terminal(),
             records.size(), store.name(),
             quarantined > 0 ? fmt::format(", {} of them quarantined", quarantined) : "");
  return 0;
}

CommandResult verify(const Options& options) {
  HEADROOM_TRY(const auto store, results::Store::open(options.db, results::Store::Mode::kRead));
  HEADROOM_TRY(const results::VerifyReport report, store.verify());
  if (options.json) {
    base::JsonWriter json;
    json.begin_object().field("db", store.name()).field("records", report.records);
    json.field("quarantined", report.quarantined).key("problems").begin_array();
    for (const std::string& problem : report.problems) json.value(problem);
    json.end_array().end_object();
    fmt::print("{}\n", json.take());
  } else {
    for (const std::string& problem : report.problems) fmt::print("{}\n", problem);
    fmt::print("{}: {} records, {} quarantined, {}\n", store.name(), report.records,
               report.quarantined,
               report.problems.empty() ? std::string("every digest is right")
                                       : fmt::format("{} problem{}", report.problems.size(),
                                                     report.problems.size() == 1 ? "" : "s"));
  }
  return report.problems.empty() ? 0 : 1;
}

CommandResult backup(const Options& options) {
  HEADROOM_TRY(const auto store, results::Store::open(options.db, results::Store::Mode::kRead));
  HEADROOM_TRY_VOID(store.backup(options.to));
  HEADROOM_TRY(const auto copy, results::Store::open(options.to, results::Store::Mode::kRead));
  HEADROOM_TRY(const results::VerifyReport report, copy.verify());
  if (!report.problems.empty())
    return base::fail(base::ErrorCode::kDataLoss, "{}: the copy is not sound: {}", options.to,
                      report.problems.front());
  if (options.json) {
    base::JsonWriter json;
    json.begin_object().field("db", store.name()).field("to", options.to);
    json.field("records", report.records).end_object();
    fmt::print("{}\n", json.take());
  } else {
    fmt::print("{}: a copy of {} with {} records, every digest is right\n", options.to,
               store.name(), report.records);
  }
  return 0;
}

CommandResult vacuum(const Options& options) {
  HEADROOM_TRY(auto store, results::Store::open(options.db, results::Store::Mode::kWrite));
  HEADROOM_TRY_VOID(store.vacuum());
  if (options.json)
    fmt::print("{{\"db\":{}}}\n", base::JsonWriter().value(store.name()).take());
  else
    fmt::print("{}: unused space given back\n", store.name());
  return 0;
}

}  // namespace

void add_store(CLI::App& app, std::function<CommandResult()>& run) {
  auto* command = app.add_subcommand("store", "List, verify, copy or pack the stored records");
  command->require_subcommand(1);
  auto options = std::make_shared<Options>();
  const auto add = [&](const char* name, const char* text, CommandResult (*work)(const Options&)) {
    auto* sub = command->add_subcommand(name, text);
    sub->add_option("--db", options->db, "The store: a SQLite file or postgresql://...")
        ->capture_default_str();
    sub->add_flag("--json", options->json, "One JSON object on stdout");
    sub->callback([options, &run, work] { run = [options, work] { return work(*options); }; });
    return sub;
  };
  add("list", "Every record, quarantined ones too", list)
      ->add_option("SELECTOR", options->selector, "field=value list, or a run or its label");
  add("verify", "Check the file and the digest of every record", verify);
  add("backup", "A checked copy in a new SQLite file, also while others write", backup)
      ->add_option("TO", options->to, "The new file")
      ->required();
  add("vacuum", "Give unused space back", vacuum);
  command->footer(
      "Example:\n  headroom store list --db points.db\n  headroom store verify --db points.db");
}

}  // namespace headroom::apps
