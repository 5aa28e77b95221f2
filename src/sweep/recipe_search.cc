// The recipe's `search` and `watch` sections: axes, ladders, and what asks for another run.
#include <set>

#include "sweep/recipe_parts.h"

namespace headroom::sweep {

using base::Result;

namespace {

constexpr int64_t kMostConcurrency = 100'000;
constexpr size_t kMostValues = 1000;

/// {start, end, step}: from start on, times step, the last one clipped to end; or a list.
Result<std::vector<int64_t>> ladder(const YamlNode& node) {
  std::vector<int64_t> values;
  if (node.is_map()) {
    HEADROOM_TRY(const YamlMap map, node.map({"start", "end", "step"}));
    HEADROOM_TRY(const YamlNode first, map.need("start"));
    HEADROOM_TRY(const YamlNode last, map.need("end"));
    HEADROOM_TRY(const int64_t start, first.integer(1, kMostConcurrency));
    HEADROOM_TRY(const int64_t end, last.integer(start, kMostConcurrency));
    HEADROOM_TRY(const double step, map.number_or("step", 2, 1.01, kMostConcurrency));
    for (double at = static_cast<double>(start);; at *= step) {
      const int64_t value = std::min(end, static_cast<int64_t>(at + 1e-9));
      if (values.empty() || values.back() != value) values.push_back(value);
      if (value == end) return values;
    }
  }
  HEADROOM_TRY(const auto items, node.list_or_one());
  for (const YamlNode& item : items) {
    HEADROOM_TRY(const int64_t value, item.integer(1, kMostConcurrency));
    if (std::find(values.begin(), values.end(), value) != values.end())
      return tl::unexpected(item.error(fmt::format("{} is there twice", value)));
    values.push_back(value);
  }
  if (values.empty()) return tl::unexpected(node.error("an empty list"));
  return values;
}

Result<> add_axis(const YamlNode& node, Axis::Kind kind, const std::string& name,
                  SearchEntry& entry) {
  HEADROOM_TRY(std::vector<std::string> values, node.texts());
  if (values.empty() || values.size() > kMostValues)
    return tl::unexpected(node.error(fmt::format("1 to {} values are due", kMostValues)));
  if (std::set<std::string>(values.begin(), values.end()).size() != values.size())
    return tl::unexpected(node.error("a value is there twice"));
  for (const Axis& other : entry.axes)
    if (other.name == name &&
        (other.kind == Axis::Kind::kEnvironment) == (kind == Axis::Kind::kEnvironment))
      return tl::unexpected(node.error(fmt::format(
          "\"{}\" is given twice in this entry; templates know one value of a name", name)));
  if (kind == Axis::Kind::kVariable) HEADROOM_TRY_VOID(check_variable(node, name));
  entry.axes.push_back({kind, name, std::move(values)});
  return {};
}

Result<SearchEntry> read_entry(const YamlNode& node, const Recipe& recipe) {
  HEADROOM_TRY(const YamlMap map, node.map({"tp", "pp", "ep", "cache", "set", "flags",
                                            "environment", "args", "concurrency", "rate"}));
  SearchEntry entry;
  entry.where = node.where();
  for (const char* name : {"tp", "pp", "ep"})
    if (const auto axis = map.find(name)) {
      HEADROOM_TRY(const auto items, axis->list_or_one());
      for (const YamlNode& item : items)
        HEADROOM_TRY_VOID(item.integer(1, 1'000'000).map([](int64_t) {}));
      HEADROOM_TRY_VOID(add_axis(*axis, Axis::Kind::kVariable, name, entry));
    }
  if (const auto cache = map.find("cache"))
    HEADROOM_TRY_VOID(add_axis(*cache, Axis::Kind::kVariable, "cache", entry));
  for (const auto& [key, kind] :
       {std::pair("set", Axis::Kind::kVariable), std::pair("flags", Axis::Kind::kFlag),
        std::pair("environment", Axis::Kind::kEnvironment)}) {
    const auto section = map.find(key);
    if (!section) continue;
    if (kind != Axis::Kind::kVariable && recipe.server.kind == ServerKind::kUrl)
      return tl::unexpected(section->error("nothing is started for a server with a url"));
    HEADROOM_TRY(const YamlMap axes, section->any_map());
    for (const auto& [name, values] : axes.entries())
      HEADROOM_TRY_VOID(add_axis(values, kind, name, entry));
  }
  HEADROOM_TRY(entry.args, map.texts("args"));
  if (const auto concurrency = map.find("concurrency")) {
    HEADROOM_TRY(entry.concurrency, ladder(*concurrency));
  }
  if (const auto rate = map.find("rate")) {
    HEADROOM_TRY(const auto items, rate->list_or_one());
    for (const YamlNode& item : items) {
      HEADROOM_TRY(const double value, item.number(1e-4, 1e6));
      entry.rates.push_back(value);
    }
  }
  const load::ArrivalKind arrivals = recipe.bench.arrival.kind;
  const bool file =
      arrivals == load::ArrivalKind::kSchedule || arrivals == load::ArrivalKind::kTrace;
  if (!file && entry.concurrency.empty() && entry.rates.empty())
    return tl::unexpected(node.error("neither concurrency nor rate is there"));
  return entry;
}

Result<> check_known_variable(const YamlNode& node, const std::string& name, const Recipe& recipe) {
  if (recipe.variables.contains(name)) return {};
  std::vector<std::string_view> known;
  for (const auto& entry : recipe.variables) known.push_back(entry.first);
  const std::string near = nearest(name, known);
  return tl::unexpected(
      node.error(fmt::format("vars has no \"{}\"{}", name,
                             near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near))));
}

Result<TriggerSpec> read_trigger(const YamlNode& node, const Recipe& recipe) {
  HEADROOM_TRY(const YamlMap map, node.map({"git", "ref", "package", "registry", "url", "pointer",
                                            "command", "image", "file", "name", "as"}));
  const std::pair<const char*, TriggerKind> kinds[] = {
      {"git", TriggerKind::kGit},     {"package", TriggerKind::kPackage},
      {"url", TriggerKind::kUrl},     {"command", TriggerKind::kCommand},
      {"image", TriggerKind::kImage}, {"file", TriggerKind::kFile}};
  TriggerSpec trigger;
  int found = 0;
  for (const auto& [key, kind] : kinds)
    if (const auto object = map.find(key)) {
      ++found;
      trigger.kind = kind;
      HEADROOM_TRY(trigger.object, object->text());
      trigger.name = fmt::format("{} {}", key, trigger.object);
    }
  if (found != 1)
    return tl::unexpected(
        node.error("exactly one of git, package, url, command, image and file is due"));
  if (trigger.kind == TriggerKind::kFile) trigger.object = beside(recipe, trigger.object);
  if (trigger.kind == TriggerKind::kGit) trigger.ref = "HEAD";
  HEADROOM_TRY(trigger.ref, map.text_or("ref", trigger.ref));
  if (trigger.kind == TriggerKind::kPackage) {
    trigger.ref = "pip";
    if (const auto registry = map.find("registry")) {
      HEADROOM_TRY(trigger.ref, registry->one_of({"pip", "npm", "debian"}));
    }
  }
  HEADROOM_TRY(trigger.pointer, map.text_or("pointer", ""));
  HEADROOM_TRY(trigger.name, map.text_or("name", trigger.name));
  if (const auto as = map.find("as")) {
    HEADROOM_TRY(trigger.as, as->text());
    HEADROOM_TRY_VOID(check_known_variable(*as, trigger.as, recipe));
  }
  return trigger;
}

}  // namespace

Result<> read_search(const YamlNode& node, Recipe& recipe) {
  HEADROOM_TRY(const auto items, node.list());
  for (const YamlNode& item : items) {
    HEADROOM_TRY(SearchEntry entry, read_entry(item, recipe));
    recipe.search.push_back(std::move(entry));
  }
  if (recipe.search.empty()) return tl::unexpected(node.error("no entry"));
  return {};
}

Result<> read_watch(const YamlNode& node, Recipe& recipe) {
  HEADROOM_TRY(const YamlMap map, node.map({"every", "on", "bisect", "threshold"}));
  if (const auto every = map.find("every")) {
    HEADROOM_TRY(recipe.watch.every_s, parse_duration(*every));
  }
  HEADROOM_TRY(recipe.watch.threshold, map.number_or("threshold", 0.03, 0, 10));
  if (const auto on = map.find("on")) {
    HEADROOM_TRY(const auto items, on->list());
    std::set<std::string> names;
    for (const YamlNode& item : items) {
      HEADROOM_TRY(TriggerSpec trigger, read_trigger(item, recipe));
      if (!names.insert(trigger.name).second)
        return tl::unexpected(item.error(fmt::format("\"{}\" is there twice", trigger.name)));
      recipe.watch.triggers.push_back(std::move(trigger));
    }
  }
  if (const auto inner = map.find("bisect")) {
    HEADROOM_TRY(const YamlMap bisect, inner->map({"repository", "variable", "most_runs"}));
    BisectSpec spec;
    HEADROOM_TRY(const YamlNode repository, bisect.need("repository"));
    HEADROOM_TRY(spec.repository, repository.text());
    HEADROOM_TRY(spec.variable, bisect.text_or("variable", "ref"));
    const bool told = std::any_of(
        recipe.watch.triggers.begin(), recipe.watch.triggers.end(),
        [&](const TriggerSpec& t) { return t.kind == TriggerKind::kGit && t.as == spec.variable; });
    if (!told)
      return tl::unexpected(inner->error(
          fmt::format("no git trigger of watch.on has `as: {}`, so nothing would ever be bisected",
                      spec.variable)));
    HEADROOM_TRY(spec.most_runs, bisect.integer_or("most_runs", 12, 1, 1000));
    recipe.watch.bisect = std::move(spec);
  }
  return {};
}

}  // namespace headroom::sweep
