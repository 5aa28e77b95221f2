// Prompts and request bodies.
#include "load/workload.h"

#include <unistd.h>

#include <simdjson.h>
#include <array>
#include <filesystem>

#include "base/clock.h"
#include "base/file.h"
#include "base/json_writer.h"
#include "base/rng.h"

namespace headroom::load {

using base::ErrorCode;
using base::fail;

namespace {

// Short, frequent words: one or two tokens each with every tokenizer of the field.
constexpr std::array<std::string_view, 96> kWords = {
    "the",   "of",    "and",   "water", "light", "house", "time",  "people", "world", "hand",
    "place", "case",  "week",  "part",  "point", "group", "work",  "night",  "line",  "city",
    "power", "money", "story", "fact",  "month", "right", "study", "book",   "eye",   "job",
    "word",  "issue", "side",  "kind",  "head",  "area",  "hour",  "game",   "end",   "law",
    "car",   "name",  "team",  "idea",  "body",  "air",   "force", "age",    "door",  "health",
    "art",   "war",   "party", "road",  "food",  "river", "stone", "green",  "small", "large",
    "early", "young", "old",   "long",  "high",  "open",  "clear", "strong", "late",  "true",
    "hard",  "free",  "full",  "best",  "left",  "near",  "warm",  "cold",   "deep",  "wide",
    "run",   "make",  "take",  "come",  "see",   "know",  "give",  "find",   "tell",  "ask",
    "turn",  "move",  "live",  "bring", "hold",  "write"};

uint64_t hash_text(std::string_view text, uint64_t seed) {
  uint64_t state = seed;
  for (const char c : text) {
    state ^= static_cast<unsigned char>(c);
    base::splitmix64(state);
  }
  return base::splitmix64(state);
}

base::Result<std::vector<std::string>> read_prompts(const std::string& path) {
  HEADROOM_TRY(const std::string text, base::read_file(path));
  const bool json = path.ends_with(".jsonl");
  std::vector<std::string> prompts;
  simdjson::dom::parser parser;
  size_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line(text.data() + begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    if (!json) {
      prompts.emplace_back(line);
      continue;
    }
    std::string_view prompt;
    const auto root = parser.parse(line.data(), line.size());
    if (root["prompt"].get(prompt) != simdjson::SUCCESS || prompt.empty())
      return fail(ErrorCode::kDataLoss, "{}:{}: not a JSON object with a text \"prompt\"", path,
                  number);
    prompts.emplace_back(prompt);
  }
  if (prompts.empty()) return fail(ErrorCode::kDataLoss, "{}: has no prompt", path);
  return prompts;
}

}  // namespace

base::Result<Endpoint> parse_endpoint(std::string_view text) {
  if (text == "completions") return Endpoint::kCompletions;
  if (text == "chat") return Endpoint::kChat;
  return fail(ErrorCode::kInvalidArgument, "endpoint {} is not completions or chat", text);
}

std::string_view endpoint_path(Endpoint endpoint) {
  return endpoint == Endpoint::kChat ? "/v1/chat/completions" : "/v1/completions";
}

base::Result<Workload> Workload::create(WorkloadOptions options) {
  if (options.dataset != "random" && options.dataset != "text" &&
      !std::filesystem::is_regular_file(options.dataset))
    return fail(ErrorCode::kInvalidArgument,
                "dataset {}: neither \"random\" nor \"text\" nor a file", options.dataset);
  if (options.input_tokens < 1 || options.output_tokens < 1)
    return fail(ErrorCode::kInvalidArgument, "input {} and output {} tokens must be at least 1",
                options.input_tokens, options.output_tokens);
  constexpr int64_t kMostTokens = 10'000'000;
  if (options.input_tokens > kMostTokens || options.output_tokens > kMostTokens)
    return fail(ErrorCode::kInvalidArgument, "input {} and output {} tokens must be at most {}",
                options.input_tokens, options.output_tokens, kMostTokens);
  if (!(options.temperature >= 0 && options.temperature <= 100))
    return fail(ErrorCode::kInvalidArgument, "temperature {} is not 0 to 100", options.temperature);
  if (options.token_low < 0 || options.token_high <= options.token_low)
    return fail(ErrorCode::kInvalidArgument, "token range {}:{} is empty", options.token_low,
                options.token_high);
  if (options.dataset == "random" && options.endpoint == Endpoint::kChat)
    return fail(ErrorCode::kInvalidArgument,
                "the chat endpoint takes no token ids: use --dataset text or a file");
  Workload workload;
  workload.salted_seed_ = hash_text(options.salt, options.seed + 1);
  if (options.dataset != "random" && options.dataset != "text") {
    HEADROOM_TRY(workload.lines_, read_prompts(options.dataset));
  }
  workload.options_ = std::move(options);
  return workload;
}

std::string Workload::dataset_name() const {
  return lines_.empty() ? options_.dataset
                        : std::filesystem::path(options_.dataset).filename().string();
}

std::string Workload::text_prompt(uint64_t index) const {
  if (!lines_.empty()) {
    const std::string& line = lines_[(index + options_.seed) % lines_.size()];
    return options_.salt.empty() ? line : fmt::format("[{}] {}", options_.salt, line);
  }
  uint64_t state = salted_seed_ + index;
  base::Rng rng(base::splitmix64(state));
  const auto words = std::max<int64_t>(
      1, std::llround(static_cast<double>(options_.input_tokens) * options_.words_per_token));
  std::string text;
  for (int64_t i = 0; i < words; ++i) {
    if (i > 0) text += ' ';
    text += kWords[rng.below(kWords.size())];
  }
  return text;
}

Workload::Prompt Workload::prompt(uint64_t index) const {
  Prompt result;
  base::JsonWriter json;
  json.begin_object().field("model", options_.model);
  if (options_.dataset == "random") {
    uint64_t state = salted_seed_ + index;
    base::Rng rng(base::splitmix64(state));
    const auto span = static_cast<uint64_t>(options_.token_high - options_.token_low);
    json.key("prompt").begin_array();
    for (int64_t i = 0; i < options_.input_tokens; ++i)
      json.value(options_.token_low + static_cast<int64_t>(rng.below(span)));
    json.end_array();
    result.input_tokens = options_.input_tokens;
  } else if (options_.endpoint == Endpoint::kCompletions) {
    json.field("prompt", text_prompt(index));
  } else {
    json.key("messages").begin_array().begin_object();
    json.field("role", "user").field("content", text_prompt(index));
    json.end_object().end_array();
  }
  json.field("max_tokens", options_.output_tokens).field("min_tokens", options_.output_tokens);
  json.field("ignore_eos", true).field("temperature", options_.temperature);
  if (options_.temperature > 0) json.field("seed", static_cast<int64_t>(index & 0x7FFFFFFF));
  if (options_.ask_token_ids) json.field("return_token_ids", true);
  json.field("stream", true).key("stream_options").begin_object();
  json.field("include_usage", true).end_object();
  json.end_object();
  result.body = json.take();
  return result;
}

std::string fresh_salt() {
  uint64_t state = static_cast<uint64_t>(base::unix_ns()) ^ (static_cast<uint64_t>(getpid()) << 48);
  return fmt::format("{:08x}", base::splitmix64(state) & 0xFFFFFFFFu);
}

}  // namespace headroom::load
