// Memory: size, speed of the modules, huge pages, swap.
#include <cstring>
#include <set>

#include "environment/readers.h"

namespace headroom::environment {
namespace {

/// "12345 kB" of /proc/meminfo as whole MiB.
std::optional<int64_t> mib(std::string_view meminfo, std::string_view name) {
  const auto text = value_of(meminfo, name, ':');
  if (!text) return std::nullopt;
  const auto kib = to_number(std::string_view(*text).substr(0, text->find(' ')));
  return kib ? std::optional(*kib / 1024) : std::nullopt;
}

/// The choice in brackets of "always [madvise] never".
std::optional<std::string> chosen(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  const size_t open = text->find('['), close = text->find(']');
  if (open == std::string::npos || close == std::string::npos || close < open) return text;
  return text->substr(open + 1, close - open - 1);
}

/// Little-endian 16 bits at `at` of an SMBIOS structure; 0 and 0xffff say "not known".
std::optional<int64_t> word(std::string_view raw, size_t at) {
  if (raw.size() < at + 2) return std::nullopt;
  const int64_t value =
      static_cast<unsigned char>(raw[at]) | static_cast<unsigned char>(raw[at + 1]) << 8;
  if (value == 0 || value == 0xffff) return std::nullopt;
  return value;
}

/// SMBIOS type 17, "Memory Device": size at 0x0c, configured speed in MT/s at 0x20. The system lets
/// only root read it.
void read_modules(const Tree& tree, Manifest& out) {
  int64_t modules = 0;
  std::set<std::string> speeds;
  for (const std::string& entry : tree.list("sys/firmware/dmi/entries")) {
    if (!entry.starts_with("17-")) continue;
    const auto raw = tree.read("sys/firmware/dmi/entries/" + entry + "/raw");
    if (!raw || !word(*raw, 0x0c)) continue;  // an empty slot
    ++modules;
    if (const auto speed = word(*raw, 0x20)) speeds.insert(std::to_string(*speed));
  }
  if (modules > 0) put(out, "memory.modules", modules);
  put(out, "memory.speed_mt_s", merged({speeds.begin(), speeds.end()}));
}

}  // namespace

void read_memory(const Tree& tree, Manifest& out) {
  const std::string meminfo = tree.read("proc/meminfo").value_or("");
  put(out, "memory.total_mib", mib(meminfo, "MemTotal"));
  put(out, "memory.available_now_mib", mib(meminfo, "MemAvailable"));
  put(out, "memory.swap_mib", mib(meminfo, "SwapTotal"));
  if (const auto pages = value_of(meminfo, "HugePages_Total", ':'); pages && *pages != "0") {
    out["memory.huge_pages"] = *pages;
    put(out, "memory.huge_page_size", value_of(meminfo, "Hugepagesize", ':'));
  }
  put(out, "memory.transparent_huge_pages",
      chosen(tree.read("sys/kernel/mm/transparent_hugepage/enabled")));
  put(out, "memory.huge_page_defrag",
      chosen(tree.read("sys/kernel/mm/transparent_hugepage/defrag")));
  read_modules(tree, out);
}

}  // namespace headroom::environment
