// The options of `headroom bench`: their definition on the command line and what they come to.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "load/bench.h"

namespace headroom::apps {

struct BenchArguments {
  load::BenchOptions bench;
  std::string db;
  bool json = false;

  // As written; finish_bench_arguments reads them.
  std::string endpoint = "completions", token_range, salt, preset, slo, input_lengths = "fixed",
              output_lengths = "fixed", arrival = "constant", ramp_shape = "linear", schedule,
              trace;
  std::vector<std::string> recipe;
  bool no_salt = false, no_stream = false, natural_length = false;
};

void define_bench_options(CLI::App& sub, BenchArguments& arguments);

/// Fills arguments.bench. Errors: kInvalidArgument naming the option and value.
base::Result<> finish_bench_arguments(BenchArguments& arguments);

}  // namespace headroom::apps
