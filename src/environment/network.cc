// Network: the interfaces that can carry traffic to and from a server.
#include <fmt/format.h>

#include "environment/readers.h"

namespace headroom::environment {
namespace {

/// Cables between containers of this machine; there may be hundreds.
bool is_plumbing(const std::string& name) {
  for (const char* prefix : {"veth", "docker", "br-", "cni", "cali", "flannel", "tunl", "lo"})
    if (name.starts_with(prefix)) return true;
  return false;
}

/// "4: ACTIVE" → "active".
std::string state_word(const std::string& state) {
  std::string word = state.substr(state.find(' ') == std::string::npos ? 0 : state.find(' ') + 1);
  for (char& c : word)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return word;
}

}  // namespace

void read_network(const Tree& tree, Manifest& out) {
  for (const std::string& name : tree.list("sys/class/net")) {
    const std::string folder = "sys/class/net/" + name;
    if (is_plumbing(name)) continue;
    std::string text = tree.read(folder + "/operstate").value_or("unknown");
    if (text == "down") continue;
    if (const auto speed = tree.number(folder + "/speed"); speed && *speed > 0)
      text += fmt::format(" {} Mb/s", *speed);
    if (const auto mtu = tree.number(folder + "/mtu")) text += fmt::format(" mtu {}", *mtu);
    out["net." + name] = text;
  }
  for (const std::string& name : tree.list("sys/class/infiniband")) {
    const std::string port = "sys/class/infiniband/" + name + "/ports/1/";
    const auto rate = tree.read(port + "rate");
    if (!rate) continue;
    out["rdma." + name] = *rate + " " + state_word(tree.read(port + "state").value_or("unknown"));
  }
  put(out, "net.congestion_control", tree.read("proc/sys/net/ipv4/tcp_congestion_control"));
}

}  // namespace headroom::environment
