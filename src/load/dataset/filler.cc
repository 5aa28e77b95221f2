// Random ids and words.
#include "load/dataset/filler.h"

#include <array>
#include <cmath>

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

void add_words(std::string& text, base::Rng& rng, int64_t words) {
  for (int64_t i = 0; i < words; ++i) {
    if (!text.empty() && text.back() != ' ') text += ' ';
    text += kWords[rng.below(kWords.size())];
  }
}

}  // namespace

uint64_t mix_seed(uint64_t seed, uint64_t purpose, uint64_t number) {
  uint64_t state = seed + purpose * 0xD1B54A32D192ED03ull;
  state = base::splitmix64(state) + number;
  return base::splitmix64(state);
}

uint64_t salted_seed(const WorkloadOptions& options) {
  return hash_text(options.salt, options.seed + 1);
}

int64_t draw_length(const LengthSpread& spread, int64_t nominal, uint64_t seed, uint64_t purpose,
                    uint64_t index) {
  if (spread.kind == LengthSpread::Kind::kFixed) return nominal;
  base::Rng rng(mix_seed(seed, purpose, index));
  if (spread.kind == LengthSpread::Kind::kUniform) {
    const int64_t least = least_length(spread, nominal);
    return least + static_cast<int64_t>(rng.below(static_cast<uint64_t>(nominal - least + 1)));
  }
  const auto mean = static_cast<double>(nominal);
  return std::clamp<int64_t>(std::llround(mean + spread.ratio * mean * rng.normal()), 1,
                             2 * nominal);
}

int64_t least_length(const LengthSpread& spread, int64_t nominal) {
  if (spread.kind == LengthSpread::Kind::kFixed) return nominal;
  if (spread.kind == LengthSpread::Kind::kNormal) return 1;
  return std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(nominal) * spread.ratio));
}

std::string lengths_for_record(const LengthSpread& spread) {
  if (spread.kind == LengthSpread::Kind::kFixed) return "fixed";
  if (spread.kind == LengthSpread::Kind::kNormal) return fmt::format("normal {}", spread.ratio);
  return fmt::format("uniform {}-1", spread.ratio);
}

base::Result<Filler> Filler::create(const WorkloadOptions& options, bool ids) {
  Filler filler;
  filler.ids_ = ids;
  filler.low_ = options.token_low;
  filler.high_ = options.token_high;
  filler.words_per_token_ = options.words_per_token;
  filler.chat_ = options.endpoint == Endpoint::kChat;
  if (options.tokenizer.empty()) return filler;
  HEADROOM_TRY(auto tokenizer, text::Tokenizer::load(options.tokenizer));
  filler.bos_ = tokenizer.special_ids().add_bos ? 1 : 0;
  if (ids) {
    const int64_t end = std::min<int64_t>(filler.high_, tokenizer.size());
    for (auto id = static_cast<int32_t>(filler.low_); id < end; ++id)
      if (!tokenizer.is_special(id) && !tokenizer.token_bytes(id).empty())
        filler.allowed_.push_back(id);
    if (filler.allowed_.empty())
      return fail(ErrorCode::kInvalidArgument,
                  "token range {}:{}: the tokenizer in {} has no ordinary token there",
                  options.token_low, options.token_high, options.tokenizer);
  }
  filler.tokenizer_ = std::make_shared<text::Tokenizer>(std::move(tokenizer));
  return filler;
}

void Filler::add(Ask& ask, uint64_t seed, int64_t tokens) const {
  base::Rng rng(seed);
  if (!ids_) {
    add_words(ask.text, rng,
              std::max<int64_t>(1, std::llround(static_cast<double>(tokens) * words_per_token_)));
    return;
  }
  ask.ids.reserve(ask.ids.size() + static_cast<size_t>(tokens));
  const auto span = static_cast<uint64_t>(high_ - low_);
  for (int64_t i = 0; i < tokens; ++i)
    ask.ids.push_back(allowed_.empty()
                          ? static_cast<int32_t>(low_ + static_cast<int64_t>(rng.below(span)))
                          : allowed_[rng.below(allowed_.size())]);
  ask.tokens = ask.tokens.value_or(0) + tokens;
}

int64_t Filler::count(const std::string& text) const {
  const auto ids = tokenizer_->encode(text);
  return ids ? static_cast<int64_t>(ids->size()) + bos_ : 0;
}

void Filler::fit(Ask& ask, uint64_t seed, int64_t tokens) const {
  if (ids_ || !tokenizer_ || chat_) return;  // what a chat template adds, only the server knows
  base::Rng rng(mix_seed(seed, 0xF17, 0));
  std::string& text = ask.text;
  int64_t have = count(text);
  constexpr int kTries = 200;
  for (int i = 0; i < kTries && have != tokens; ++i) {
    if (have < tokens) {
      add_words(text, rng, std::max<int64_t>(1, (tokens - have) / 2));
    } else {
      // The nearest shorter text: every word has at least one token.
      for (int64_t drop = std::max<int64_t>(1, (have - tokens) / 2); drop > 0; --drop) {
        const size_t blank = text.rfind(' ');
        text.resize(blank == std::string::npos ? 0 : blank);
        if (text.empty()) break;
      }
    }
    if (text.empty()) add_words(text, rng, 1);  // a word alone had too many: another one
    have = count(text);
  }
  ask.tokens = have;
}

}  // namespace headroom::load
