// Ladders, memory budgets and the choice of evals.
#include "sweep/inferencex_points.h"

#include <algorithm>
#include <charconv>
#include <set>

namespace headroom::sweep {
namespace {

using base::ErrorCode;
using base::Result;

constexpr int64_t kLeastEvalConcurrency = 16;
constexpr int64_t kMostDramMib = 2'861'022;  // three decimal terabytes
constexpr int64_t kEvalIsl = 8192, kEvalOsl = 1024;

int64_t devices_of(const IxWorker& worker) {
  return worker.tp * worker.pp * worker.pcp;
}

/// Devices of one node that a worker takes. A worker of several nodes must fill them, one within a
/// node must divide it.
Result<int64_t> devices_on_node(const IxSearch& search, int64_t per_node) {
  if (search.single) {
    const int64_t devices = devices_of(*search.single);
    if (devices > per_node)
      return base::fail(ErrorCode::kInvalidArgument, "{}: needs {} devices, a node has {}",
                        search.where, devices, per_node);
    return devices;
  }
  // Prefill alone offloads.
  const int64_t devices = devices_of(*search.prefill);
  const bool several = devices > per_node;
  if (several ? devices % per_node != 0 : per_node % devices != 0)
    return base::fail(ErrorCode::kInvalidArgument,
                      "{}: a prefill worker of {} devices does not tile nodes of {}", search.where,
                      devices, per_node);
  return several ? per_node : devices;
}

__extension__ typedef unsigned __int128 Wide;

/// Whole decimal gigabytes of a node's memory × utilization × the devices' share.
Result<int64_t> dram_budget(const IxConfig& config, const IxScenario& scenario,
                            const IxSearch& search, const IxRunners& runners) {
  if (search.kv_offloading != "dram") return 0;
  const auto hardware = runners.hardware.find(config.runner);
  if (hardware == runners.hardware.end())
    return base::fail(ErrorCode::kInvalidArgument,
                      "{}: kv-offloading dram needs the memory of runner {}; give the runner "
                      "table (--runners)",
                      search.where, config.runner);
  const auto& [dram_mib, per_node] = hardware->second;
  HEADROOM_TRY(const int64_t devices, devices_on_node(search, per_node));
  Wide digits = 0, scale = 1;
  bool behind = false;
  for (const char c : *scenario.dram_utilization) {
    if (c == '.') {
      behind = true;
      continue;
    }
    digits = digits * 10 + static_cast<unsigned>(c - '0');
    if (behind) scale *= 10;
  }
  const Wide bytes = static_cast<Wide>(std::min(dram_mib, kMostDramMib)) << 20;
  return static_cast<int64_t>(bytes * digits * static_cast<Wide>(devices) /
                              (scale * static_cast<Wide>(per_node) * 1'000'000'000));
}

bool is_eval_length(const IxPoint& point) {
  return !point.scenario->agentic && point.scenario->isl == kEvalIsl &&
         point.scenario->osl == kEvalOsl &&
         *std::max_element(point.concurrency.begin(), point.concurrency.end()) >=
             kLeastEvalConcurrency;
}

std::string join(const std::map<std::string, std::string>& fields,
                 const std::set<std::string>& without) {
  std::string text;
  for (const auto& [name, value] : fields)
    if (!without.contains(name)) text += name + "\n" + value + "\n";
  return text;
}

/// The level in the middle and the highest of a group's.
void mark_single(const std::vector<IxPoint*>& group) {
  std::set<int64_t> levels;
  for (const IxPoint* point : group) levels.insert(point->concurrency.front());
  const int64_t median = *std::next(levels.begin(), static_cast<ptrdiff_t>(levels.size() / 2));
  for (IxPoint* point : group) {
    const int64_t level = point->concurrency.front();
    if (level == median || level == *levels.rbegin()) point->run_eval = true;
  }
}

/// The first entry that reaches the group's highest level.
void mark_multi(const std::vector<IxPoint*>& group) {
  const auto highest = [](const IxPoint* point) {
    return *std::max_element(point->concurrency.begin(), point->concurrency.end());
  };
  IxPoint* best = group.front();
  for (IxPoint* point : group)
    if (highest(point) > highest(best)) best = point;
  best->run_eval = true;
  best->eval_concurrency = highest(best);
}

void choose_evals(std::vector<IxPoint>& points) {
  std::map<std::string, std::vector<IxPoint*>> single, multi;
  const std::set<std::string> point_fields = {"conc", "run-eval", "eval-conc", "exp-name"};
  for (IxPoint& point : points) {
    if (!is_eval_length(point)) continue;
    const IxConfig& c = *point.config;
    if (point.multinode())
      multi[join(point.fields(), point_fields)].push_back(&point);
    else if (point.concurrency.front() >= kLeastEvalConcurrency)
      single[fmt::format("{}\n{}\n{}\n{}\n{}\n{}", c.model, c.runner, c.framework, c.precision,
                         point.search->speculative, point.search->single->dp_attention)]
          .push_back(&point);
  }
  for (const auto& [key, group] : single) mark_single(group);
  for (const auto& [key, group] : multi) mark_multi(group);
}

}  // namespace

std::vector<int64_t> ix_ladder(int64_t start, int64_t end, int64_t step) {
  std::vector<int64_t> levels;
  for (int64_t level = start; level < end; level *= step) {
    levels.push_back(level);
    if (level > end / step) break;
  }
  levels.push_back(end);
  return levels;
}

Result<std::vector<IxPoint>> ix_points(const std::vector<IxConfig>& configs,
                                       const IxRunners& runners) {
  std::vector<IxPoint> points;
  for (const IxConfig& config : configs)
    for (const auto* group : {&config.fixed, &config.agentic})
      for (const IxScenario& scenario : *group)
        for (const IxSearch& search : scenario.search) {
          IxPoint point{&config, &scenario, &search, {}, 0, false, std::nullopt};
          HEADROOM_TRY(point.cpu_dram_gb, dram_budget(config, scenario, search, runners));
          const std::vector<int64_t> levels =
              search.list.empty() ? ix_ladder(search.start, search.end) : search.list;
          if (config.multinode && !scenario.agentic) {
            point.concurrency = levels;
            points.push_back(std::move(point));
            continue;
          }
          for (const int64_t level : levels) {
            point.concurrency = {level};
            points.push_back(point);
          }
        }
  choose_evals(points);
  return points;
}

}  // namespace headroom::sweep
