// Asks every reader.
#include "environment/environment.h"

#include <unistd.h>

#include "environment/readers.h"

namespace headroom::environment {

Manifest describe(const Options& options) {
  const Tree tree(options.root);
  Variables variables;
  if (options.variables) {
    variables = *options.variables;
  } else {
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
      variables.emplace_back(*entry);
  }
  Manifest out;
  read_cpu(tree, out);
  read_memory(tree, out);
  read_system(tree, out);
  read_cgroup(tree, out);
  read_network(tree, out);
  read_container(tree, variables, out);
  if (options.nvml.empty() || !read_nvidia_gpus(options.nvml, out)) read_amd_gpus(tree, out);
  read_variables(variables, out);
  read_build(out);
  return out;
}

}  // namespace headroom::environment
