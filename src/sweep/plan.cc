// Expanding a recipe: the product of its axes, templates filled, fingerprints taken.
#include "sweep/plan.h"

#include <openssl/evp.h>

#include <charconv>

#include <cmath>
#include <set>

#include "base/json_writer.h"
#include "environment/environment.h"
#include "sweep/shell_text.h"

namespace headroom::sweep {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

using Variables = std::map<std::string, std::string>;
const std::vector<std::string_view> kLater = {"port", "node"};
constexpr size_t kMostConfigurations = 10'000;
constexpr size_t kMostPoints = 1'000'000;  // repeats included; more is a typing error

/// The server's own description with one combination of the axes applied.
class Filler {
 public:
  Filler(const Recipe& recipe, const SearchEntry& entry, const std::vector<size_t>& choice,
         const Variables& overrides)
      : recipe_(recipe), entry_(entry), choice_(choice), overrides_(overrides) {}

  Result<Configuration> fill_all() {
    HEADROOM_TRY_VOID(set_variables());
    const ServerSpec& server = recipe_.server;
    HEADROOM_TRY(c_.image, filled(server.image));
    if (!c_.image.empty()) c_.variables["image"] = c_.image;
    HEADROOM_TRY(c_.model_path, filled(server.model_path));
    HEADROOM_TRY_VOID(set_command());
    HEADROOM_TRY(c_.options, filled(server.options));
    HEADROOM_TRY(c_.launcher_options, filled(server.launcher.options));
    HEADROOM_TRY(c_.health, filled(server.health));
    HEADROOM_TRY(c_.url, filled(server.url));
    for (const auto& [name, text] : server.environment) {
      HEADROOM_TRY(c_.environment[name], filled(text));
    }
    HEADROOM_TRY_VOID(set_facts());
    c_.fingerprint = fingerprint();
    return std::move(c_);
  }

 private:
  Result<std::string> filled(std::string_view text) const {
    auto result = fill(text, c_.variables, kLater);
    if (!result) return base::fail_in(entry_.where, result.error());
    return result;
  }
  Result<std::vector<std::string>> filled(const std::vector<std::string>& texts) const {
    std::vector<std::string> result;
    for (const std::string& text : texts) {
      HEADROOM_TRY(std::string one, filled(text));
      result.push_back(std::move(one));
    }
    return result;
  }

  Result<> set_variables() {
    c_.variables = recipe_.variables;
    c_.variables["model"] = recipe_.model;
    for (const auto& [name, value] : overrides_) c_.variables[name] = value;
    for (size_t i = 0; i < entry_.axes.size(); ++i) {
      const Axis& axis = entry_.axes[i];
      const std::string& raw = axis.values[choice_[i]];
      HEADROOM_TRY(const std::string value, filled(raw));
      if (axis.kind == Axis::Kind::kEnvironment)
        c_.environment[axis.name] = value;
      else
        c_.variables[axis.name] = value;
      c_.axes.emplace_back(axis.name, value);
    }
    return {};
  }

  Result<> set_command() {
    HEADROOM_TRY(c_.command, filled(recipe_.server.command));
    HEADROOM_TRY(std::vector<std::string> more, filled(entry_.args));
    if (recipe_.server.kind == ServerKind::kHeadroom && c_.variables.contains("cache"))
      more.insert(more.end(), {"--kv", c_.variables["cache"]});
    for (const Axis& axis : entry_.axes) {
      if (axis.kind != Axis::Kind::kFlag) continue;
      const std::string& value = c_.variables[axis.name];
      if (value == "false") continue;
      more.push_back(axis.name.starts_with('-') ? axis.name : "--" + axis.name);
      if (value != "true") more.push_back(value);
    }
    const bool shell = recipe_.server.kind == ServerKind::kCommand && c_.command.size() == 3 &&
                       c_.command[0] == "sh" && c_.command[1] == "-c";
    if (shell && !more.empty())
      c_.command[2] += " " + shell_text(more);
    else
      c_.command.insert(c_.command.end(), more.begin(), more.end());
    return {};
  }

  Result<> set_facts() {
    for (const auto& [name, text] : recipe_.server.facts) {
      HEADROOM_TRY(c_.facts[name], filled(text));
    }
    c_.facts["recipe"] = recipe_.name;
    if (!c_.image.empty()) c_.facts["image"] = c_.image;
    for (const Axis& axis : entry_.axes) {
      if (axis.kind == Axis::Kind::kEnvironment) continue;
      const std::string name = axis.name == "cache" ? "kv" : axis.name;
      c_.facts.emplace(name, c_.variables[axis.name]);
    }
    for (const auto& [name, value] : overrides_) c_.facts.emplace(name, value);
    if (recipe_.devices.empty()) return {};
    HEADROOM_TRY(const std::string count, filled(recipe_.devices));
    int64_t devices = 0;
    const auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), devices);
    if (error != std::errc{} || end != count.data() + count.size() || devices < 1)
      return fail(ErrorCode::kInvalidArgument,
                  "{}: hardware.devices: \"{}\" gives \"{}\", not a positive number", entry_.where,
                  recipe_.devices, count);
    c_.devices = devices;
    return {};
  }

  std::string fingerprint() const {
    base::JsonWriter json;
    json.begin_object().field("model", recipe_.model).field("model_path", c_.model_path);
    json.field("kind", static_cast<int>(recipe_.server.kind)).field("image", c_.image);
    json.field("url", c_.url).field("hardware", recipe_.hardware);
    json.field("devices", c_.devices).field("workload", recipe_.workload_text);
    const auto list = [&](const char* name, const std::vector<std::string>& texts) {
      json.key(name).begin_array();
      for (const std::string& text : texts) json.value(text);
      json.end_array();
    };
    list("command", c_.command);
    list("options", c_.options);
    const auto map = [&](const char* name, const Variables& texts) {
      json.key(name).begin_object();
      for (const auto& [key, value] : texts)
        if (key != "recipe") json.field(key, value);
      json.end_object();
    };
    map("environment", c_.environment);
    map("facts", c_.facts);
    json.end_object();
    return sha256_hex(json.text());
  }

  const Recipe& recipe_;
  const SearchEntry& entry_;
  const std::vector<size_t>& choice_;
  const Variables& overrides_;
  Configuration c_;
};

/// Names each configuration by its layout and by what tells it from the others.
void set_labels(std::vector<Configuration>& all) {
  std::vector<std::string> names;
  for (const Configuration& c : all)
    for (const auto& [name, value] : c.axes)
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  const auto value_of = [](const Configuration& c, const std::string& name) {
    for (const auto& [axis, value] : c.axes)
      if (axis == name) return value;
    return std::string();
  };
  std::erase_if(names, [&](const std::string& name) {
    if (name == "tp" || name == "pp" || name == "ep" || name == "cache") return false;
    return std::all_of(all.begin(), all.end(), [&](const Configuration& c) {
      return value_of(c, name) == value_of(all.front(), name);
    });
  });
  std::map<std::string, int> seen;
  for (Configuration& c : all) {
    std::string label;
    for (const std::string& name : names)
      if (const std::string value = value_of(c, name); !value.empty())
        label += fmt::format("{}{}={}", label.empty() ? "" : " ", name, value);
    if (label.empty()) label = "-";
    const int number = ++seen[label];  // configurations that differ in their args alone
    c.label = number == 1 ? label : fmt::format("{} #{}", label, number);
  }
}

/// The next combination, the last axis fastest; false after the last one.
bool advance(const SearchEntry& entry, std::vector<size_t>& choice) {
  for (size_t i = entry.axes.size(); i-- > 0;) {
    if (++choice[i] < entry.axes[i].values.size()) return true;
    choice[i] = 0;
  }
  return false;
}

std::vector<Load> loads_of(const SearchEntry& entry) {
  std::vector<Load> loads;
  for (const int64_t c : entry.concurrency) loads.push_back({c, std::nullopt});
  for (const double r : entry.rates) loads.push_back({std::nullopt, r});
  if (loads.empty()) loads.push_back({});
  return loads;
}

}  // namespace

std::string sha256_hex(std::string_view text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  EVP_Digest(text.data(), text.size(), digest, &size, EVP_sha256(), nullptr);
  std::string hex;
  for (unsigned i = 0; i < size; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

std::string load_text(const Load& load) {
  if (load.concurrency)
    return fmt::format("{} stream{}", *load.concurrency, *load.concurrency == 1 ? "" : "s");
  if (load.rate) return fmt::format("{} req/s", *load.rate);
  return "schedule";
}

std::string point_digest(const Configuration& configuration, const Load& load) {
  return sha256_hex(configuration.fingerprint + " " + load_text(load));
}

Result<Plan> make_plan(const Recipe& recipe, const std::map<std::string, std::string>& overrides) {
  for (const auto& [name, value] : overrides)
    if (!recipe.variables.contains(name)) {
      std::vector<std::string> known;
      for (const auto& entry : recipe.variables) known.push_back(entry.first);
      return fail(ErrorCode::kInvalidArgument,
                  "{}: vars has no \"{}\" to be set to \"{}\"; there are: {}", recipe.file, name,
                  value, known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")));
    }
  // Counted before anything is made: a product grows faster than memory.
  size_t points = 0;
  for (const SearchEntry& entry : recipe.search) {
    double product = 1;
    for (const Axis& axis : entry.axes) product *= static_cast<double>(axis.values.size());
    if (product > kMostConfigurations)
      return fail(ErrorCode::kInvalidArgument, "{}: {:.0f} server configurations, at most {}",
                  entry.where, product, kMostConfigurations);
    points += static_cast<size_t>(product) *
              std::max<size_t>(1, entry.concurrency.size() + entry.rates.size()) *
              static_cast<size_t>(recipe.repeats);
    if (points > kMostPoints)
      return fail(ErrorCode::kInvalidArgument,
                  "{}: {} points with the entries before and all repeats, at most {}", entry.where,
                  points, kMostPoints);
  }
  Plan plan;
  std::map<std::string, size_t> known;  // fingerprint → configuration
  std::vector<std::vector<Load>> loads;
  for (const SearchEntry& entry : recipe.search) {
    std::vector<size_t> choice(entry.axes.size());
    do {
      Filler filler(recipe, entry, choice, overrides);
      HEADROOM_TRY(Configuration configuration, filler.fill_all());
      if (recipe.limits.dollars && !configuration.devices)
        return fail(ErrorCode::kInvalidArgument,
                    "{}: limits.dollars needs hardware.devices, or nothing can be priced",
                    recipe.file);
      const auto [at, fresh] = known.emplace(configuration.fingerprint, plan.configurations.size());
      if (fresh) {
        plan.configurations.push_back(std::move(configuration));
        loads.emplace_back();
      }
      if (plan.configurations.size() > kMostConfigurations)
        return fail(ErrorCode::kInvalidArgument, "{}: more than {} server configurations",
                    entry.where, kMostConfigurations);
      for (const Load& load : loads_of(entry)) {
        std::vector<Load>& there = loads[at->second];
        if (std::find(there.begin(), there.end(), load) == there.end()) there.push_back(load);
      }
    } while (advance(entry, choice));
  }
  set_labels(plan.configurations);
  for (size_t i = 0; i < plan.configurations.size(); ++i)
    for (const Load& load : loads[i])
      plan.points.push_back({i, load, point_digest(plan.configurations[i], load)});
  return plan;
}

std::map<std::string, std::string> recorded_environment(const Configuration& configuration) {
  auto result = configuration.environment;
  for (auto& [name, value] : result)
    if (!value.starts_with("${env:") && environment::is_secret(name, value)) value = "***";
  return result;
}

Result<> keep_points(Plan& plan, const std::string& digest) {
  std::erase_if(plan.points,
                [&](const PlannedPoint& point) { return !point.digest.starts_with(digest); });
  if (plan.points.empty())
    return fail(ErrorCode::kInvalidArgument,
                "no point of the recipe has a digest that starts with \"{}\"; the recipe or its "
                "variables are not those that it was measured with",
                digest);
  return {};
}

load::BenchOptions bench_options(const Recipe& recipe, const Configuration& configuration,
                                 const Load& load) {
  load::BenchOptions bench = recipe.bench;
  bench.recipe = configuration.facts;
  bench.hardware = recipe.hardware;
  bench.devices = configuration.devices;
  bench.server_environment = recorded_environment(configuration);
  bench.workload.salt = recipe.salted ? load::fresh_salt() : "";
  bench.label = recipe.name;
  bench.quiet = true;
  if (load.concurrency) bench.concurrency = {*load.concurrency};
  if (load.rate) bench.rates = {*load.rate};
  const double streams = static_cast<double>(load.concurrency.value_or(1));
  const auto count = [&](double factor) {
    return std::max<int64_t>(1, static_cast<int64_t>(std::llround(factor * streams)));
  };
  if (recipe.counts.per_stream) bench.requests = count(*recipe.counts.per_stream);
  if (recipe.counts.warmup_per_stream)
    bench.warmup =
        *recipe.counts.warmup_per_stream > 0 ? count(*recipe.counts.warmup_per_stream) : 0;
  return bench;
}

}  // namespace headroom::sweep
