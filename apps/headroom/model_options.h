// Options shared by the subcommands that run or plan a model.
#pragma once

#include <string>

#include "base/result.h"
#include "commands.h"
#include "model/plan.h"

namespace headroom::apps {

struct ModelOptions {
  std::string model, kv = "bf16", attention = "auto", device = "cpu";
  bool allow_reference = false;
  int tp = 1, ep = 1, page_size = 16;
};

/// --kv, --attention, --allow-reference, --page-size, --tp, --ep.
void add_model_options(CLI::App& command, ModelOptions& options);
/// --device.
void add_device_option(CLI::App& command, ModelOptions& options);

/// A number of [low, high]; CLI11's own range lets NaN through.
CLI::Validator number_in(double low, double high);

/// kUnsupported for a device that this build cannot use. An explicit `--attention reference` allows
/// the reference for the other ops too: whoever asks for it by name is not surprised by it.
base::Result<model::PlanOptions> plan_options(const ModelOptions& options);

}  // namespace headroom::apps
