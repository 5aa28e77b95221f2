// Conversations and request bodies.
#include "load/workload.h"

#include <unistd.h>

#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/clock.h"
#include "base/json_writer.h"
#include "base/rng.h"
#include "load/dataset/filler.h"
#include "load/text_lines.h"

namespace headroom::load {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

bool has(const Fields& fields, std::string_view name) {
  return std::ranges::any_of(fields, [&](const auto& field) { return field.first == name; });
}

/// The body's members beside the prompt; a member of `over` replaces ours.
void write_settings(base::JsonWriter& json, const WorkloadOptions& o, const Ask& ask,
                    uint64_t index, const Fields& over) {
  const auto ours = [&](std::string_view name, const auto& value) {
    if (!has(over, name)) json.field(name, value);
  };
  ours("max_tokens", ask.output_tokens);
  if (o.force_length) {
    ours("min_tokens", ask.output_tokens);
    ours("ignore_eos", true);
  }
  ours("temperature", o.temperature);
  if (o.temperature > 0) ours("seed", static_cast<int64_t>(index & 0x7FFFFFFF));
  if (o.ask_token_ids) ours("return_token_ids", true);
  json.field("stream", o.stream);
  if (o.stream) json.key("stream_options").begin_object().field("include_usage", true).end_object();
  for (const auto& [name, value] : over) json.key(name).raw(value);
}

class DatasetConversation final : public Conversation {
 public:
  DatasetConversation(const WorkloadOptions& options, const Dataset& dataset, const Fields& extra,
                      uint64_t index)
      : o_(options),
        dataset_(dataset),
        extra_(extra),
        index_(index),
        turns_(dataset.turns(index)) {}

  std::optional<Turn> next(std::string_view answer) override {
    if (turn_ >= turns_) return std::nullopt;
    if (turn_ > 0) take_answer(answer);
    const Ask ask = dataset_.ask(index_, turn_);
    take_ask(ask);
    Turn turn;
    turn.output_tokens = ask.output_tokens;
    turn.input_tokens = tokens_;
    turn.think_ns = turn_ > 0 ? think() : 0;
    ++turn_;
    // Token ids of an answer are not known: such a session's prompt grows by its own ids alone.
    turn.keep_answer = turn_ < turns_ && ids_.empty();
    turn.body = body(ask);
    return turn;
  }

 private:
  void take_answer(std::string_view answer) {
    if (o_.endpoint == Endpoint::kChat) {
      base::JsonWriter json;
      json.begin_object().field("role", "assistant").field("content", answer).end_object();
      messages_ += "," + json.text();
    } else if (ids_.empty()) {
      text_.append(answer);
    }
    if (ids_.empty()) tokens_.reset();  // the answer's length in the next prompt is the server's
  }

  void take_ask(const Ask& ask) {
    const bool first = turn_ == 0;
    ids_.insert(ids_.end(), ask.ids.begin(), ask.ids.end());
    if (first)
      tokens_ = o_.endpoint == Endpoint::kChat ? std::nullopt : ask.tokens;
    else
      tokens_ = tokens_ && ask.tokens ? std::optional(*tokens_ + *ask.tokens) : std::nullopt;
    if (o_.endpoint != Endpoint::kChat) {
      text_ += (first ? "" : "\n\n") + ask.text;
      return;
    }
    if (!first) messages_ += ',';
    if (!ask.messages.empty()) {
      messages_ += ask.messages;
      return;
    }
    base::JsonWriter json;
    json.begin_object().field("role", "user").field("content", ask.text).end_object();
    messages_ += json.text();
  }

  int64_t think() const {
    double seconds = o_.think.seconds;
    if (o_.think.exponential) {
      constexpr uint64_t kThink = 11;
      base::Rng rng(mix_seed(
          o_.seed, kThink, index_ * static_cast<uint64_t>(turns_) + static_cast<uint64_t>(turn_)));
      seconds *= rng.exponential();
    }
    return std::llround(seconds * 1e9);
  }

  std::string body(const Ask& ask) const {
    base::JsonWriter json;
    json.begin_object().field("model", o_.model);
    if (o_.endpoint == Endpoint::kChat) {
      json.key("messages").raw("[" + messages_ + "]");
    } else if (!ids_.empty()) {
      json.key("prompt").begin_array();
      for (const int32_t id : ids_) json.value(id);
      json.end_array();
    } else {
      json.field("prompt", text_);
    }
    if (ask.fields.empty()) {
      write_settings(json, o_, ask, index_, extra_);
    } else {
      Fields over = ask.fields;  // a row's own members come before those of every body
      for (const auto& field : extra_)
        if (!has(over, field.first)) over.push_back(field);
      write_settings(json, o_, ask, index_, over);
    }
    json.end_object();
    return json.take();
  }

  const WorkloadOptions& o_;
  const Dataset& dataset_;
  const Fields& extra_;
  uint64_t index_;
  int64_t turns_, turn_ = 0;
  std::vector<int32_t> ids_;
  std::string text_, messages_;  // the history
  std::optional<int64_t> tokens_;
};

Result<Fields> read_extra_body(const std::string& text) {
  Fields fields;
  if (text.empty()) return fields;
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  if (parser.parse(text.data(), text.size()).get(object) != simdjson::SUCCESS)
    return fail(ErrorCode::kInvalidArgument, "extra body {} is not a JSON object", shortened(text));
  for (const auto& [key, value] : object) {
    for (const std::string_view ours : {"model", "prompt", "messages", "stream", "stream_options"})
      if (key == ours)
        return fail(ErrorCode::kInvalidArgument, "extra body: {} is set by the client itself", key);
    if (has(fields, key))
      return fail(ErrorCode::kInvalidArgument, "extra body: {} comes twice", key);
    fields.emplace_back(key, simdjson::minify(value));
  }
  return fields;
}

/// A length that the body names itself is the length that is asked for.
void take_length(Fields& extra, WorkloadOptions& options) {
  const auto named =
      std::ranges::find(extra, std::string_view("max_tokens"), &Fields::value_type::first);
  if (named == extra.end()) return;
  simdjson::dom::parser parser;
  int64_t tokens = 0;
  if (parser.parse(named->second).get(tokens) != simdjson::SUCCESS) return;
  options.output_tokens = tokens;
  options.output_spread = {};
  extra.erase(named);
}

Result<> check_spread(std::string_view name, const LengthSpread& spread) {
  const bool uniform = spread.kind == LengthSpread::Kind::kUniform;
  if (spread.kind != LengthSpread::Kind::kFixed &&
      !(uniform ? spread.ratio > 0 && spread.ratio <= 1 : spread.ratio >= 0 && spread.ratio <= 1))
    return fail(ErrorCode::kInvalidArgument, "{} lengths: ratio {} is not above 0 and at most 1",
                name, spread.ratio);
  return {};
}

Result<> check(const WorkloadOptions& o) {
  if (o.input_tokens < 1 || o.output_tokens < 1)
    return fail(ErrorCode::kInvalidArgument, "input {} and output {} tokens must be at least 1",
                o.input_tokens, o.output_tokens);
  constexpr int64_t kMostTokens = 10'000'000;
  if (o.input_tokens > kMostTokens || o.output_tokens > kMostTokens)
    return fail(ErrorCode::kInvalidArgument, "input {} and output {} tokens must be at most {}",
                o.input_tokens, o.output_tokens, kMostTokens);
  HEADROOM_TRY_VOID(check_spread("input", o.input_spread));
  HEADROOM_TRY_VOID(check_spread("output", o.output_spread));
  if (!(o.temperature >= 0 && o.temperature <= 100))
    return fail(ErrorCode::kInvalidArgument, "temperature {} is not 0 to 100", o.temperature);
  if (o.token_low < 0 || o.token_high <= o.token_low || o.token_high > INT32_MAX)
    return fail(ErrorCode::kInvalidArgument, "token range {}:{} is empty", o.token_low,
                o.token_high);
  if (o.prefix_tokens < 0 || o.prefixes < 1)
    return fail(ErrorCode::kInvalidArgument, "{} prefixes of {} tokens: at least one of 0 or more",
                o.prefixes, o.prefix_tokens);
  constexpr int64_t kMostTurns = 10'000;
  if (o.turns < 1 || o.turns > kMostTurns)
    return fail(ErrorCode::kInvalidArgument, "turns {} is not 1 to {}", o.turns, kMostTurns);
  if (!(o.think.seconds >= 0 && o.think.seconds <= 1e6))
    return fail(ErrorCode::kInvalidArgument, "think time {} s is not 0 to 1000000",
                o.think.seconds);
  return {};
}

}  // namespace

Result<Endpoint> parse_endpoint(std::string_view text) {
  if (text == "completions") return Endpoint::kCompletions;
  if (text == "chat") return Endpoint::kChat;
  return fail(ErrorCode::kInvalidArgument, "endpoint {} is not completions or chat", text);
}

std::string_view endpoint_path(Endpoint endpoint) {
  return endpoint == Endpoint::kChat ? "/v1/chat/completions" : "/v1/completions";
}

Result<LengthSpread> parse_length_spread(std::string_view text) {
  LengthSpread spread;
  if (text == "fixed") return spread;
  const size_t colon = text.find(':');
  const std::string number(colon == std::string_view::npos ? "" : text.substr(colon + 1));
  char* end = nullptr;
  spread.ratio = std::strtod(number.c_str(), &end);
  spread.kind =
      text.starts_with("uniform:") ? LengthSpread::Kind::kUniform : LengthSpread::Kind::kNormal;
  if (number.empty() || *end != '\0' ||
      (!text.starts_with("uniform:") && !text.starts_with("normal:")) || !check_spread("", spread))
    return fail(ErrorCode::kInvalidArgument,
                "lengths {} are not fixed, uniform:RATIO or normal:RATIO with a ratio up to 1",
                text);
  return spread;
}

std::string length_spread_text(const LengthSpread& spread) {
  if (spread.kind == LengthSpread::Kind::kFixed) return "fixed";
  return fmt::format("{}:{}", spread.kind == LengthSpread::Kind::kUniform ? "uniform" : "normal",
                     spread.ratio);
}

Workload::Workload() = default;
Workload::~Workload() = default;
Workload::Workload(Workload&&) noexcept = default;
Workload& Workload::operator=(Workload&&) noexcept = default;

Result<Workload> Workload::create(WorkloadOptions options) {
  HEADROOM_TRY(const DatasetChoice choice, choose_dataset(options.dataset));
  Workload workload;
  HEADROOM_TRY(workload.extra_, read_extra_body(options.extra_body));
  take_length(workload.extra_, options);
  HEADROOM_TRY_VOID(check(options));
  HEADROOM_TRY(workload.dataset_, choice.kind->open(options, choice.file));
  workload.options_ = std::move(options);
  return workload;
}

std::unique_ptr<Conversation> Workload::conversation(uint64_t index) const {
  return std::make_unique<DatasetConversation>(options_, *dataset_, extra_, index);
}

std::string Workload::dataset_name() const {
  const auto choice = choose_dataset(options_.dataset);
  return choice && !choice->file.empty() ? std::filesystem::path(choice->file).filename().string()
                                         : options_.dataset;
}

std::string Workload::input_lengths() const {
  return dataset_->input_lengths();
}
std::string Workload::output_lengths() const {
  return dataset_->output_lengths();
}
size_t Workload::distinct_prompts() const {
  return dataset_->size();
}
bool Workload::shares_prefixes() const {
  return dataset_->shares_prefixes();
}

std::string fresh_salt() {
  uint64_t state = static_cast<uint64_t>(base::unix_ns()) ^ (static_cast<uint64_t>(getpid()) << 48);
  return fmt::format("{:08x}", base::splitmix64(state) & 0xFFFFFFFFu);
}

}  // namespace headroom::load
