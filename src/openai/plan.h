// The server's own description of what it runs: kernels, machine, limits.
#pragma once

#include <string>
#include <vector>

#include "engine/engine.h"
#include "kernels/kv_cache.h"
#include "kernels/plan/kernel.h"

namespace headroom::openai {

struct PlanFacts {
  std::string model;              // served name
  std::string source;             // directory
  std::string checkpoint_digest;  // of the weights; empty: not computed
  std::string attention;          // what was asked for
  std::string precision;          // of the weights as they are multiplied, "bf16"
  kernels::KvType kv = kernels::KvType::kBf16;
  int32_t page_size = 0, pages = 0, max_context = 0, threads = 0;
  int64_t cache_bytes = 0;
  int32_t vocab = 0;  // token ids run from 0 to that
  engine::EngineOptions engine;
};

/// One JSON object: model, machine, settings, ops with what was chosen and why others were not.
std::string plan_json(const PlanFacts& facts, const std::vector<kernels::OpChoice>& plan);

}  // namespace headroom::openai
