// Reading and judging service levels.
#include "load/slo.h"

#include <cmath>
#include <cstdlib>

namespace headroom::load {

using base::ErrorCode;
using base::fail;

base::Result<results::Slo> parse_slo(std::string_view text) {
  results::Slo slo;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    const size_t equals = std::min(part.find('='), part.size());
    const std::string_view name = part.substr(0, equals);
    const std::string number(part.substr(std::min(equals + 1, part.size())));
    std::optional<double>* bound = name == "ttft"   ? &slo.ttft_ms
                                   : name == "tpot" ? &slo.tpot_ms
                                   : name == "e2e"  ? &slo.e2e_ms
                                                    : nullptr;
    char* end = nullptr;
    const double value = std::strtod(number.c_str(), &end);
    if (bound == nullptr || *bound || number.empty() || *end != '\0' ||
        !(value > 0 && std::isfinite(value)))
      return fail(ErrorCode::kInvalidArgument,
                  "slo {}: not ttft=MS, tpot=MS or e2e=MS, each at most once and above 0", part);
    *bound = value;
  }
  return slo;
}

std::string slo_text(const results::Slo& slo) {
  std::string text;
  const auto add = [&](const char* name, const std::optional<double>& bound) {
    if (bound) text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, *bound);
  };
  add("ttft", slo.ttft_ms);
  add("tpot", slo.tpot_ms);
  add("e2e", slo.e2e_ms);
  return text;
}

bool has_bounds(const results::Slo& slo) {
  return slo.ttft_ms || slo.tpot_ms || slo.e2e_ms;
}

bool meets(const results::Slo& slo, const RequestRecord& r) {
  const auto within = [](const std::optional<int64_t>& ns, const std::optional<double>& bound_ms) {
    return !bound_ms || (ns && static_cast<double>(*ns) * 1e-6 <= *bound_ms);
  };
  const auto tpot = r.tpot();
  return r.ok() && within(r.ttft(), slo.ttft_ms) && within(r.e2e(), slo.e2e_ms) &&
         (!slo.tpot_ms || !tpot || *tpot * 1e-6 <= *slo.tpot_ms);
}

}  // namespace headroom::load
