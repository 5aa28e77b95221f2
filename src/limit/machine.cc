// Keeps the measured entry of this computer in the cache directory, and gives it back from there.
#include "limit/machine.h"

#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/file.h"
#include "base/json_writer.h"
#include "base/log.h"
#include "kernels/probe/probe.h"
#include "limit/machine_probe.h"

namespace headroom::limit {
namespace {

using base::ErrorCode;
using base::fail;
namespace fs = std::filesystem;

constexpr int64_t kDayNs = int64_t{24} * 3600 * 1'000'000'000;

std::string first_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

/// Last-level caches of the machine: cores in different complexes do not share theirs.
int count_l3() {
  std::set<std::string> groups;
  for (int cpu = 0; cpu < 4096; ++cpu) {
    const std::string group =
        first_line(fmt::format("/sys/devices/system/cpu/cpu{}/cache/index3/shared_cpu_list", cpu));
    if (group.empty()) break;
    groups.insert(group);
  }
  return std::max(1, static_cast<int>(groups.size()));
}

std::string key() {
  const base::CpuInfo& cpu = base::cpu_info();
  return fmt::format("{}|{} cores|{}, {}|{}", cpu.model, cpu.cores, kernels::probe_kernels().isa,
                     kernels::bf16_probe() ? kernels::bf16_probe()->isa : "no bf16",
                     first_line("/proc/sys/kernel/random/boot_id"));
}

Hardware measure() {
  const base::CpuInfo& cpu = base::cpu_info();
  const ProbeSizes sizes{.cores = cpu.cores,
                         .l2_total = cpu.l2_bytes * cpu.cores,
                         .l3_total = cpu.l3_bytes * count_l3()};
  const ProbeRates rates = probe_rates(sizes);
  Hardware machine;
  machine.name = "this";
  machine.title = fmt::format("{}, {} core{}", cpu.model, cpu.cores, cpu.cores == 1 ? "" : "s");
  const std::string date = base::utc_text(base::unix_ns()).substr(0, 10);
  const auto set = [&](Quantity quantity, double value, std::string source, std::string note) {
    machine.figure(quantity, Basis::kMeasured) =
        Figure{value, std::move(source), date, std::move(note)};
  };
  set(Quantity::kMemoryBandwidth, rates.memory,
      fmt::format("best read of {} MB by {} cores", rates.memory_bytes >> 20, cpu.cores),
      fmt::format("one core {:.1f} GB/s", rates.memory_one / 1e9));
  set(Quantity::kFlopsFp32, rates.flops,
      fmt::format("best fp32 multiply-add rate of {} cores, {}", cpu.cores,
                  kernels::probe_kernels().isa),
      fmt::format("one core {:.0f} Gflop/s", rates.flops_one / 1e9));
  if (const kernels::Bf16Probe* bf16 = kernels::bf16_probe())
    set(Quantity::kFlopsBf16, rates.bf16_flops,
        fmt::format("best BF16 dot product rate of {} cores, {}", cpu.cores, bf16->isa),
        fmt::format("one core {:.0f} Gflop/s", rates.bf16_flops_one / 1e9));
  if (cpu.memory_bytes > 0)
    set(Quantity::kMemoryCapacity, static_cast<double>(cpu.memory_bytes), "operating system", "");
  if (rates.l2 > 0) machine.caches.push_back({"L2", static_cast<double>(sizes.l2_total), rates.l2});
  if (rates.l3 > 0) machine.caches.push_back({"L3", static_cast<double>(sizes.l3_total), rates.l3});
  return machine;
}

void keep_better(Hardware& machine, const Hardware& before) {
  for (int i = 0; i < kQuantities; ++i) {
    auto& now = machine.figure(static_cast<Quantity>(i), Basis::kMeasured);
    const auto& then = before.figure(static_cast<Quantity>(i), Basis::kMeasured);
    if (now && then && then->value > now->value) now = then;
  }
  for (CacheTier& tier : machine.caches)
    for (const CacheTier& old : before.caches)
      if (tier.name == old.name) tier.bandwidth = std::max(tier.bandwidth, old.bandwidth);
}

base::Result<double> positive(simdjson::dom::element object, const char* name,
                              std::string_view file) {
  double value = 0;
  if (object[name].get(value) != simdjson::SUCCESS || !(value > 0) || !std::isfinite(value))
    return fail(ErrorCode::kDataLoss, "{}: {} is not a positive number", file, name);
  return value;
}

std::string text(simdjson::dom::element object, const char* name) {
  std::string_view value;
  return object[name].get(value) == simdjson::SUCCESS ? std::string(value) : std::string();
}

struct Stored {
  Hardware hardware;
  int64_t at_ns = 0;
};

/// What the file holds for this very machine, if it can be read at all.
std::optional<Stored> stored(const fs::path& path) {
  const auto content = base::read_file(path, 64 * 1024);
  if (!content) return std::nullopt;
  auto hardware = parse_machine(*content, path.string());
  if (!hardware) return std::nullopt;
  simdjson::dom::parser parser;
  const simdjson::padded_string padded(*content);
  simdjson::dom::element root;
  Stored result{std::move(*hardware), 0};
  if (parser.parse(padded).get(root) != simdjson::SUCCESS || text(root, "key") != key() ||
      root["at_ns"].get(result.at_ns) != simdjson::SUCCESS)
    return std::nullopt;
  return result;
}

}  // namespace

std::string machine_text(const Hardware& hardware) {
  base::JsonWriter json;
  json.begin_object().field("key", key()).field("at_ns", base::unix_ns());
  json.field("name", hardware.name).field("title", hardware.title);
  json.key("figures").begin_array();
  for (int i = 0; i < kQuantities; ++i) {
    const auto quantity = static_cast<Quantity>(i);
    const auto& figure = hardware.figure(quantity, Basis::kMeasured);
    if (!figure) continue;
    json.begin_object().field("what", quantity_name(quantity)).field("value", figure->value);
    json.field("source", figure->source).field("date", figure->date).field("note", figure->note);
    json.end_object();
  }
  json.end_array().key("caches").begin_array();
  for (const CacheTier& tier : hardware.caches)
    json.begin_object()
        .field("name", tier.name)
        .field("bytes", tier.bytes)
        .field("bandwidth", tier.bandwidth)
        .end_object();
  json.end_array().end_object();
  return json.take();
}

base::Result<Hardware> parse_machine(std::string_view content, std::string_view file) {
  simdjson::dom::parser parser;
  const simdjson::padded_string padded(content);
  simdjson::dom::element root;
  if (const auto error = parser.parse(padded).get(root); error || !root.is_object())
    return fail(ErrorCode::kDataLoss, "{}: not a JSON object", file);
  Hardware machine;
  machine.name = text(root, "name");
  machine.title = text(root, "title");
  simdjson::dom::array figures, caches;
  if (root["figures"].get(figures) != simdjson::SUCCESS ||
      root["caches"].get(caches) != simdjson::SUCCESS)
    return fail(ErrorCode::kDataLoss, "{}: figures or caches are missing", file);
  for (const simdjson::dom::element entry : figures) {
    const std::string what = text(entry, "what");
    HEADROOM_TRY(const double value, positive(entry, "value", file));
    for (int i = 0; i < kQuantities; ++i)
      if (quantity_name(static_cast<Quantity>(i)) == what)
        machine.figure(static_cast<Quantity>(i), Basis::kMeasured) =
            Figure{value, text(entry, "source"), text(entry, "date"), text(entry, "note")};
  }
  for (const simdjson::dom::element entry : caches) {
    HEADROOM_TRY(const double bytes, positive(entry, "bytes", file));
    HEADROOM_TRY(const double bandwidth, positive(entry, "bandwidth", file));
    machine.caches.push_back({text(entry, "name"), bytes, bandwidth});
  }
  if (!machine.figure(Quantity::kMemoryBandwidth, Basis::kMeasured) ||
      !machine.figure(Quantity::kFlopsFp32, Basis::kMeasured))
    return fail(ErrorCode::kDataLoss, "{}: memory_bandwidth or flops_fp32 is missing", file);
  return machine;
}

base::Result<Hardware> this_machine(bool again) {
  const auto directory = base::cache_directory();
  const fs::path path = directory ? *directory / "machine.json" : fs::path();
  const std::optional<Stored> before = directory ? stored(path) : std::nullopt;
  if (before && !again && base::unix_ns() - before->at_ns < kDayNs) return before->hardware;
  Hardware machine = measure();
  if (before) keep_better(machine, before->hardware);
  const auto written = directory ? base::write_file_atomic(path, machine_text(machine))
                                 : base::Result<>(tl::unexpected<base::Error>(directory.error()));
  if (!written) base::log_warning("the measured limits are not kept: {}", written.error().message);
  return machine;
}

}  // namespace headroom::limit
