// Options shared by the subcommands that run or plan a model.
#include "model_options.h"

namespace headroom::apps {

void add_model_options(CLI::App& command, ModelOptions& options) {
  command.add_option("--kv", options.kv, "Cache rows")
      ->check(CLI::IsMember({"fp32", "bf16", "fp8"}))
      ->capture_default_str();
  command
      .add_option("--attention", options.attention, "Attention kernels: the best, or one by name")
      ->check(CLI::IsMember({"auto", "reference", "avx2", "avx512", "cuda"}))
      ->capture_default_str();
  command.add_flag("--allow-reference", options.allow_reference,
                   "Let ops that no tuned kernel takes run on the portable reference");
  command.add_option("--page-size", options.page_size, "Rows of a cache page")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command.add_option("--tp", options.tp, "Ranks that share each layer")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command.add_option("--ep", options.ep, "Groups of them that hold different experts")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
}

void add_device_option(CLI::App& command, ModelOptions& options) {
  command.add_option("--device", options.device, "Where to run")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
}

CLI::Validator number_in(double low, double high) {
  const std::string name = fmt::format("FLOAT in [{} - {}]", low, high);
  return CLI::Validator(
      [=](const std::string& text) {
        double value = 0;
        const bool right = CLI::detail::lexical_cast(text, value) && value >= low && value <= high;
        return right ? std::string()
                     : fmt::format("Value {} not in range {} to {}", text, low, high);
      },
      name);
}

base::Result<model::PlanOptions> plan_options(const ModelOptions& options) {
  for (const auto& [flag, value] :
       {std::pair("--device", options.device), std::pair("--attention", options.attention)})
    if (value == "cuda")
      return base::fail(base::ErrorCode::kUnsupported, "{} cuda: this build has no CUDA backend",
                        flag);
  model::PlanOptions out;
  HEADROOM_TRY(out.kv, kernels::parse_kv_type(options.kv));
  out.page_size = options.page_size;
  out.policy.attention = options.attention;
  out.policy.allow_reference = options.allow_reference || options.attention == "reference";
  out.parallel.tp = options.tp;
  out.parallel.ep = options.ep;
  return out;
}

}  // namespace headroom::apps
