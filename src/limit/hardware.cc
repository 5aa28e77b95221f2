// Reads hardware files; every mistake in one is an error that names the file and the field.
#include "limit/hardware.h"

#include <yaml-cpp/yaml.h>

#include <charconv>
#include <cmath>

namespace headroom::limit {
namespace {

using base::ErrorCode;
using base::fail;

struct QuantityName {
  const char* name;
  const char* unit;
};
constexpr QuantityName kNames[kQuantities] = {
    {"memory_bandwidth", "bytes/s"}, {"memory_capacity", "bytes"}, {"flops_fp32", "flop/s"},
    {"flops_bf16", "flop/s"},        {"flops_fp8", "flop/s"},      {"flops_fp4", "flop/s"},
    {"link_bandwidth", "bytes/s"},   {"link_latency", "s"},
};

std::optional<Quantity> find_quantity(std::string_view name) {
  for (int i = 0; i < kQuantities; ++i)
    if (kNames[i].name == name) return static_cast<Quantity>(i);
  return std::nullopt;
}

base::Result<std::string> scalar(const YAML::Node& map, const char* key, const std::string& where) {
  const YAML::Node node = map[key];
  if (!node || !node.IsScalar() || node.Scalar().empty())
    return fail(ErrorCode::kInvalidArgument, "{}: `{}` must be a text", where, key);
  return node.Scalar();
}

base::Result<> only_keys(const YAML::Node& map, std::initializer_list<std::string_view> keys,
                         const std::string& where) {
  for (const auto& entry : map) {
    const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "?";
    if (std::find(keys.begin(), keys.end(), key) == keys.end())
      return fail(ErrorCode::kInvalidArgument, "{}: unknown key `{}`; there are {}", where, key,
                  fmt::join(keys, ", "));
  }
  return {};
}

base::Result<> read_figure(const YAML::Node& node, const std::string& where, Hardware& hardware) {
  if (!node.IsMap()) return fail(ErrorCode::kInvalidArgument, "{}: must be a map", where);
  HEADROOM_TRY_VOID(only_keys(node, {"what", "basis", "value", "source", "date", "note"}, where));
  HEADROOM_TRY(const std::string what, scalar(node, "what", where));
  const std::optional<Quantity> quantity = find_quantity(what);
  if (!quantity) {
    std::string known;
    for (const QuantityName& n : kNames)
      known += fmt::format("{}{}", known.empty() ? "" : ", ", n.name);
    return fail(ErrorCode::kInvalidArgument, "{}: no figure is called `{}`; there are {}", where,
                what, known);
  }
  HEADROOM_TRY(const std::string basis_text, scalar(node, "basis", where));
  auto basis = parse_basis(basis_text);
  if (!basis) return base::fail_in(where, basis.error());
  HEADROOM_TRY(const std::string value_text, scalar(node, "value", where));
  Figure figure;
  const char* end = value_text.data() + value_text.size();
  const auto parsed = std::from_chars(value_text.data(), end, figure.value);
  if (parsed.ec != std::errc{} || parsed.ptr != end || !std::isfinite(figure.value) ||
      figure.value <= 0)
    return fail(ErrorCode::kInvalidArgument, "{}: value `{}` is not a positive number", where,
                value_text);
  HEADROOM_TRY(figure.source, scalar(node, "source", where));
  HEADROOM_TRY(figure.date, scalar(node, "date", where));
  if (node["note"]) {
    HEADROOM_TRY(figure.note, scalar(node, "note", where));
  }
  std::optional<Figure>& slot = hardware.figure(*quantity, *basis);
  if (slot)
    return fail(ErrorCode::kInvalidArgument, "{}: {} ({}) is given twice", where, what, basis_text);
  slot = std::move(figure);
  return {};
}

base::Result<Hardware> read(const YAML::Node& root, const std::string& file) {
  if (!root.IsMap()) return fail(ErrorCode::kInvalidArgument, "{}: must be a map", file);
  HEADROOM_TRY_VOID(
      only_keys(root, {"name", "title", "domain", "in_network_reduction", "figures"}, file));
  Hardware hardware;
  HEADROOM_TRY(hardware.name, scalar(root, "name", file));
  HEADROOM_TRY(hardware.title, scalar(root, "title", file));
  HEADROOM_TRY(const std::string domain, scalar(root, "domain", file));
  const auto parsed =
      std::from_chars(domain.data(), domain.data() + domain.size(), hardware.domain);
  if (parsed.ec != std::errc{} || parsed.ptr != domain.data() + domain.size() ||
      hardware.domain < 1)
    return fail(ErrorCode::kInvalidArgument, "{}: domain `{}` is not a count of devices", file,
                domain);
  HEADROOM_TRY(const std::string reduces, scalar(root, "in_network_reduction", file));
  if (reduces != "true" && reduces != "false")
    return fail(ErrorCode::kInvalidArgument, "{}: in_network_reduction `{}` is not true or false",
                file, reduces);
  hardware.in_network_reduction = reduces == "true";
  const YAML::Node figures = root["figures"];
  if (!figures || !figures.IsSequence())
    return fail(ErrorCode::kInvalidArgument, "{}: `figures` must be a list", file);
  for (size_t i = 0; i < figures.size(); ++i)
    HEADROOM_TRY_VOID(read_figure(figures[i], fmt::format("{}: figures[{}]", file, i), hardware));
  if (!hardware.find(Quantity::kMemoryBandwidth, Basis::kDatasheet))
    return fail(ErrorCode::kInvalidArgument, "{}: memory_bandwidth is missing", file);
  if (!hardware.find(Quantity::kFlopsBf16, Basis::kDatasheet) &&
      !hardware.find(Quantity::kFlopsFp32, Basis::kDatasheet))
    return fail(ErrorCode::kInvalidArgument, "{}: flops_bf16 or flops_fp32 is missing", file);
  return hardware;
}

}  // namespace

std::string_view quantity_name(Quantity quantity) {
  return kNames[static_cast<size_t>(quantity)].name;
}
std::string_view quantity_unit(Quantity quantity) {
  return kNames[static_cast<size_t>(quantity)].unit;
}

std::string_view basis_name(Basis basis) {
  return basis == Basis::kDatasheet ? "datasheet" : "measured";
}

base::Result<Basis> parse_basis(std::string_view name) {
  if (name == "datasheet") return Basis::kDatasheet;
  if (name == "measured") return Basis::kMeasured;
  return fail(ErrorCode::kInvalidArgument, "basis `{}` is neither datasheet nor measured", name);
}

const Figure* Hardware::find(Quantity quantity, Basis basis) const {
  const Basis other = basis == Basis::kDatasheet ? Basis::kMeasured : Basis::kDatasheet;
  if (const auto& asked = figure(quantity, basis)) return &*asked;
  if (const auto& instead = figure(quantity, other)) return &*instead;
  return nullptr;
}

base::Result<Hardware> parse_hardware(std::string_view text, std::string_view file) {
  const std::string where(file);
  if (text.size() > 64 * 1024)
    return fail(ErrorCode::kTooLarge, "{}: {} bytes, a hardware file has at most 65536", where,
                text.size());
  try {
    return read(YAML::Load(std::string(text)), where);
  } catch (const YAML::Exception& e) {
    return fail(ErrorCode::kInvalidArgument, "{}: line {}: {}", where, e.mark.line + 1, e.msg);
  }
}

}  // namespace headroom::limit
