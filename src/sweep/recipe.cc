// Reading a recipe: its top level, limits and time-outs, and templates.
#include "sweep/recipe.h"

#include <charconv>

#include "base/file.h"
#include "sweep/recipe_parts.h"

namespace headroom::sweep {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

constexpr double kYear = 366 * 86400.0;

Result<> set_duration(const YamlMap& map, std::string_view key, double& seconds) {
  if (const auto node = map.find(key)) {
    HEADROOM_TRY(seconds, parse_duration(*node));
  }
  return {};
}

Result<> read_hardware(const YamlNode& node, Recipe& recipe) {
  HEADROOM_TRY(const YamlMap map, node.map({"name", "devices"}));
  HEADROOM_TRY(recipe.hardware, map.text_or("name", ""));
  HEADROOM_TRY(recipe.devices, map.text_or("devices", ""));
  if (!recipe.devices.empty() && recipe.devices.find('$') == std::string::npos) {
    HEADROOM_TRY_VOID(map.need("devices")->integer(1, 1'000'000).map([](int64_t) {}));
  }
  return {};
}

Result<> read_limits(const YamlNode& node, Recipe& recipe) {
  HEADROOM_TRY(const YamlMap map, node.map({"time", "dollars", "dollars_per_device_hour"}));
  if (const auto time = map.find("time")) {
    HEADROOM_TRY(recipe.limits.seconds, parse_duration(*time));
  }
  HEADROOM_TRY(recipe.limits.dollars, map.maybe_number("dollars", 0));
  HEADROOM_TRY(recipe.limits.dollars_per_device_hour,
               map.maybe_number("dollars_per_device_hour", 0));
  if (recipe.limits.dollars && !recipe.limits.dollars_per_device_hour)
    return tl::unexpected(
        map.need("dollars")->error("a limit in dollars needs dollars_per_device_hour beside it"));
  return {};
}

Result<> read_timeouts(const YamlNode& node, Recipe& recipe) {
  HEADROOM_TRY(const YamlMap map,
               node.map({"start", "health", "warmup", "point", "request", "stop"}));
  HEADROOM_TRY_VOID(set_duration(map, "start", recipe.timeouts.server.start_s));
  HEADROOM_TRY_VOID(set_duration(map, "health", recipe.timeouts.server.health_s));
  HEADROOM_TRY_VOID(set_duration(map, "warmup", recipe.timeouts.warmup_s));
  HEADROOM_TRY_VOID(set_duration(map, "point", recipe.timeouts.point_s));
  HEADROOM_TRY_VOID(set_duration(map, "request", recipe.bench.timeout_s));
  return set_duration(map, "stop", recipe.timeouts.stop_s);
}

Result<> read_eval(const YamlNode& node, Recipe& recipe) {
  HEADROOM_TRY(const YamlMap map,
               node.map({"task", "questions", "concurrency", "shots", "max_tokens", "chat",
                         "tokenizer", "least", "most", "timeout"}));
  EvalSpec eval;
  HEADROOM_TRY(const YamlNode task, map.need("task"));
  HEADROOM_TRY(const std::string path, task.text());
  eval.task = beside(recipe, path);
  HEADROOM_TRY(eval.questions, map.integer_or("questions", 0, 1, 1'000'000));
  HEADROOM_TRY(eval.concurrency, map.integer_or("concurrency", 16, 1, 100'000));
  HEADROOM_TRY(eval.shots, map.integer_or("shots", eval.shots, 0, 1000));
  HEADROOM_TRY(eval.max_tokens, map.integer_or("max_tokens", eval.max_tokens, 1, 1'000'000));
  HEADROOM_TRY(eval.chat, map.boolean_or("chat", false));
  HEADROOM_TRY(const std::string tokenizer, map.text_or("tokenizer", ""));
  eval.tokenizer = beside(recipe, tokenizer);
  HEADROOM_TRY(eval.least, map.maybe_number("least"));
  HEADROOM_TRY(eval.most, map.maybe_number("most"));
  HEADROOM_TRY_VOID(set_duration(map, "timeout", eval.timeout_s));
  recipe.eval = std::move(eval);
  return {};
}

Result<> read_refine(const YamlNode& node, Recipe& recipe) {
  if (node.is_scalar()) {
    HEADROOM_TRY(const bool on, node.boolean());
    if (on) recipe.refine.emplace();
    return {};
  }
  HEADROOM_TRY(const YamlMap map, node.map({"points", "bend", "margin", "gap"}));
  RefineSpec refine;
  HEADROOM_TRY(refine.most_points, map.integer_or("points", refine.most_points, 0, 1000));
  HEADROOM_TRY(refine.bend, map.number_or("bend", refine.bend, 0, 1));
  HEADROOM_TRY(refine.margin, map.number_or("margin", refine.margin, 0, 10));
  HEADROOM_TRY(refine.smallest_gap, map.integer_or("gap", refine.smallest_gap, 1, 100'000));
  recipe.refine = refine;
  return {};
}

Result<> read_repeats(const YamlNode& node, Recipe& recipe) {
  if (node.is_scalar()) {
    HEADROOM_TRY(recipe.repeats, node.integer(1, 1000));
    return {};
  }
  HEADROOM_TRY(const YamlMap map, node.map({"count", "within"}));
  HEADROOM_TRY(recipe.repeats, map.integer_or("count", 1, 1, 1000));
  if (const auto within = map.find("within")) {
    HEADROOM_TRY(const std::string what, within->one_of({"start", "sweep"}));
    recipe.restart_between_repeats = what == "sweep";
  }
  return {};
}

}  // namespace

std::string beside(const Recipe& recipe, const std::string& path) {
  namespace fs = std::filesystem;
  if (path.empty() || fs::path(path).is_absolute()) return path;
  const fs::path near = fs::path(recipe.file).parent_path() / path;
  std::error_code ignored;
  return fs::exists(near, ignored) ? near.lexically_normal().string() : path;
}

Result<> check_variable(const YamlNode& node, const std::string& name) {
  if (name != "port" && name != "node" && !name.starts_with("env:")) return {};
  return tl::unexpected(node.error(fmt::format(
      "\"{}\" is chosen when the server starts; server.address says where one with a fixed port "
      "answers",
      name)));
}

Result<std::map<std::string, std::string>> text_map(const YamlNode& node) {
  HEADROOM_TRY(const YamlMap map, node.any_map());
  std::map<std::string, std::string> result;
  for (const auto& [name, value] : map.entries()) {
    HEADROOM_TRY(std::string text, value.text());
    result[name] = std::move(text);
  }
  return result;
}

Result<double> parse_duration(const YamlNode& node) {
  HEADROOM_TRY(const std::string text, node.text());
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  const std::map<std::string_view, double> units = {
      {"", 1}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
  const auto scale = units.find(unit);
  if (error != std::errc{} || scale == units.end() || !(value * scale->second > 0) ||
      value * scale->second > kYear)
    return tl::unexpected(
        node.error(fmt::format("value \"{}\" is not a time such as 90, 90s, 15m, 2h or 1d", text)));
  return value * scale->second;
}

Result<std::string> fill(std::string_view text, const std::map<std::string, std::string>& variables,
                         const std::vector<std::string_view>& kept) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    if (text[at] != '$' || at + 1 == text.size()) {
      out += text[at++];
    } else if (text[at + 1] == '$') {
      out += '$';
      at += 2;
    } else if (text[at + 1] != '{') {
      out += text[at++];
    } else {
      const size_t end = text.find('}', at);
      if (end == std::string_view::npos)
        return fail(ErrorCode::kInvalidArgument, "\"{}\": ${{ without }}", text);
      const std::string name(text.substr(at + 2, end - at - 2));
      const auto found = variables.find(name);
      if (found != variables.end()) {
        out += found->second;
      } else if (std::find(kept.begin(), kept.end(), name) != kept.end() ||
                 (!kept.empty() && name.starts_with("env:"))) {
        out += text.substr(at, end + 1 - at);
      } else {
        std::vector<std::string_view> known(kept);
        for (const auto& entry : variables) known.push_back(entry.first);
        const std::string near = nearest(name, known);
        return fail(ErrorCode::kInvalidArgument,
                    "\"{}\": no variable is called \"{}\"{}; known: {}", text, name,
                    near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near),
                    fmt::join(known, ", "));
      }
      at = end + 1;
    }
  }
  return out;
}

Result<Recipe> parse_recipe(std::string_view text, const std::string& file) {
  HEADROOM_TRY(const YamlNode root, read_yaml(text, file));
  HEADROOM_TRY(const YamlMap map,
               root.map({"name", "description", "model", "vars", "server", "hardware", "workload",
                         "search", "repeats", "eval", "limits", "timeouts", "refine", "watch"}));
  Recipe recipe;
  recipe.file = file;
  recipe.text = text;
  HEADROOM_TRY(const YamlNode name, map.need("name"));
  HEADROOM_TRY(recipe.name, name.text());
  if (recipe.name.empty() || recipe.name.find_first_of("/\"\\ \t\n") != std::string::npos)
    return tl::unexpected(name.error(
        fmt::format("value \"{}\" is not a name: letters and digits without spaces, / or quotes",
                    recipe.name)));
  HEADROOM_TRY(recipe.description, map.text_or("description", ""));
  HEADROOM_TRY(const YamlNode model, map.need("model"));
  HEADROOM_TRY(recipe.model, model.text());
  recipe.bench.workload.model = recipe.model;
  if (const auto node = map.find("vars")) {
    HEADROOM_TRY(recipe.variables, text_map(*node));
    HEADROOM_TRY(const YamlMap vars, node->any_map());
    for (const auto& [variable, value] : vars.entries())
      HEADROOM_TRY_VOID(check_variable(value, variable));
  }
  HEADROOM_TRY(const YamlNode server, map.need("server"));
  HEADROOM_TRY_VOID(read_server(server, recipe));
  using Reader = Result<> (*)(const YamlNode&, Recipe&);
  const std::pair<const char*, Reader> optional[] = {
      {"hardware", read_hardware}, {"workload", read_workload}, {"repeats", read_repeats},
      {"eval", read_eval},         {"limits", read_limits},     {"timeouts", read_timeouts},
      {"refine", read_refine},     {"watch", read_watch}};
  for (const auto& [key, reader] : optional)
    if (const auto node = map.find(key)) HEADROOM_TRY_VOID(reader(*node, recipe));
  HEADROOM_TRY(const YamlNode search, map.need("search"));
  HEADROOM_TRY_VOID(read_search(search, recipe));
  return recipe;
}

Result<Recipe> read_recipe(const std::filesystem::path& file) {
  HEADROOM_TRY(const std::string text, base::read_file(file, size_t{8} << 20));
  return parse_recipe(text, file.string());
}

}  // namespace headroom::sweep
