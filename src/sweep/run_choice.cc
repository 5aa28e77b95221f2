// Looking through the store for the run that a sweep continues.
#include "sweep/run_choice.h"

#include "base/clock.h"

namespace headroom::sweep {

base::Result<RunChoice> choose_run(const Recipe& recipe, const Plan& plan,
                                   const results::Store& store, bool again,
                                   const std::string& wanted) {
  results::Selector selector;
  selector.conditions.push_back({"recipe", {recipe.name}});
  HEADROOM_TRY(auto records, store.query(selector, true));
  std::set<std::string> fingerprints;
  for (const Configuration& c : plan.configurations) fingerprints.insert(c.fingerprint);
  struct Candidate {
    std::string newest;
    bool ours = true;
    std::vector<results::StoredRecord> records;
  };
  std::map<std::string, Candidate> runs;
  for (results::StoredRecord& stored : records) {
    Candidate& run = runs[stored.record.run];
    run.newest = std::max(run.newest, stored.record.time + stored.added);
    run.ours = run.ours && !stored.record.point.empty() && stored.record.repeat &&
               fingerprints.contains(stored.record.server.recipe_fingerprint);
    run.records.push_back(std::move(stored));
  }
  RunChoice choice;
  choice.earlier_runs = runs.size();
  auto newest = runs.end();
  for (auto at = runs.begin(); at != runs.end(); ++at)
    if (at->second.ours && (wanted.empty() || at->first == wanted) &&
        (newest == runs.end() || at->second.newest > newest->second.newest))
      newest = at;
  if (newest != runs.end() && (!again || !wanted.empty())) {
    for (results::StoredRecord& stored : newest->second.records) {
      PointKey key{stored.record.point, *stored.record.repeat};
      choice.have.emplace(std::move(key), std::move(stored));
    }
    bool complete = true;
    for (const PlannedPoint& point : plan.points)
      for (int64_t repeat = 1; repeat <= recipe.repeats; ++repeat)
        complete = complete && choice.have.contains({point.digest, repeat});
    choice.state = complete ? RunChoice::State::kFinished : RunChoice::State::kContinues;
    choice.run = newest->first;
    return choice;
  }
  choice.state = RunChoice::State::kFresh;
  choice.run = !wanted.empty()
                   ? wanted
                   : fmt::format("{}-{}", base::utc_text(base::unix_ns()), load::fresh_salt());
  return choice;
}

std::vector<std::string> changed_lines(const Plan& plan,
                                       std::span<const results::StoredRecord> stored) {
  // Facts of the newest stored record against those of each configuration: the nearest one counts.
  const results::StoredRecord* newest = nullptr;
  for (const results::StoredRecord& record : stored)
    if (newest == nullptr || record.record.time > newest->record.time) newest = &record;
  if (newest == nullptr) return {};
  std::vector<std::string> best;
  bool found = false;
  for (const Configuration& c : plan.configurations) {
    std::vector<std::string> lines;
    const auto differ = [&](const std::string& field, const std::string& a, const std::string& b) {
      if (a != b)
        lines.push_back(
            fmt::format("{}: {} → {}", field, a.empty() ? "-" : a, b.empty() ? "-" : b));
    };
    const results::Server& server = newest->record.server;
    differ("image", server.image, c.image);
    std::map<std::string, std::string> flags = server.flags;
    for (const auto& [name, value] : recorded_environment(c)) {
      const auto at = server.environment.find(name);
      differ(name, at == server.environment.end() ? "" : at->second, value);
    }
    for (const auto& [name, value] : c.facts) {
      if (const auto at = flags.find(name); at != flags.end()) differ(name, at->second, value);
      if (name == "version") differ("version", server.framework_version, value);
      if (name == "precision") differ("precision", server.precision, value);
    }
    const auto& layout = server.layout;
    for (const auto& [name, number] :
         {std::pair("tp", layout.tp), std::pair("pp", layout.pp), std::pair("ep", layout.ep)})
      if (const auto at = c.facts.find(name); at != c.facts.end())
        differ(name, number ? std::to_string(*number) : "", at->second);
    if (!found || lines.size() < best.size()) best = std::move(lines);
    found = true;
  }
  return best;
}

}  // namespace headroom::sweep
