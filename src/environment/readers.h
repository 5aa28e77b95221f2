// The manifest's readers: each adds what it finds under its own names.
#pragma once

#include <string>
#include <vector>

#include "environment/environment.h"
#include "environment/tree.h"

namespace headroom::environment {

void read_cpu(const Tree& tree, Manifest& out);       // cpu.*, numa.*
void read_memory(const Tree& tree, Manifest& out);    // memory.*
void read_system(const Tree& tree, Manifest& out);    // kernel.*, os.*, system.*, clock.*, load.*
void read_cgroup(const Tree& tree, Manifest& out);    // cgroup.*
void read_network(const Tree& tree, Manifest& out);   // net.*, rdma.*
void read_amd_gpus(const Tree& tree, Manifest& out);  // gpu.*, rocm.*
/// gpu.*, cuda.*; true when there is an NVIDIA device.
bool read_nvidia_gpus(const std::string& library, Manifest& out);
void read_build(Manifest& out);                                                    // headroom.*
using Variables = std::vector<std::string>;                                        // "NAME=value"
void read_container(const Tree& tree, const Variables& variables, Manifest& out);  // container.*
void read_variables(const Variables& variables, Manifest& out);                    // env.*

/// Adds `value` unless it is absent.
inline void put(Manifest& out, const std::string& name, const std::optional<std::string>& value) {
  if (value && !value->empty()) out[name] = *value;
}
inline void put(Manifest& out, const std::string& name, const std::optional<int64_t>& value) {
  if (value) out[name] = std::to_string(*value);
}

}  // namespace headroom::environment
