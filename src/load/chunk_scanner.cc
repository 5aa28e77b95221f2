// A strict one-pass reader of JSON that keeps only what counts.
#include "load/chunk_scanner.h"

#include <cstring>
#include <iterator>
#include <utility>

#include "base/utf8.h"

namespace headroom::load {

namespace {

constexpr int kDeepest = 32;
constexpr int64_t kMostTokens = 1'000'000'000;  // as in ChunkReader

constexpr uint64_t repeated(uint8_t byte) {
  return 0x0101010101010101ull * byte;
}

/// Does none of eight bytes end a run of plain characters: '"', '\', control or non-ASCII?
bool all_plain(uint64_t x) {
  constexpr uint64_t kHigh = repeated(0x80);
  const auto zero_byte = [](uint64_t v) { return (v - repeated(0x01)) & ~v & kHigh; };
  return ((x & kHigh) | zero_byte(x ^ repeated('"')) | zero_byte(x ^ repeated('\\')) |
          ((x - repeated(0x20)) & ~x & kHigh)) == 0;
}

/// Every take_… leaves the cursor behind what it took, or returns false: doubt.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  bool at_end() {
    skip_space();
    return at_ == end_;
  }
  char peek() {
    skip_space();
    return at_ < end_ ? *at_ : '\0';
  }
  bool take(char c) {
    if (peek() != c || at_ == end_) return false;
    ++at_;
    return true;
  }
  bool take_word(std::string_view word) {
    skip_space();
    if (static_cast<size_t>(end_ - at_) < word.size() ||
        std::memcmp(at_, word.data(), word.size()) != 0)
      return false;
    at_ += word.size();
    return true;
  }
  /// A string; `text` is what stands between the quotes, escapes and all.
  bool take_string(std::string_view& text) {
    if (!take('"')) return false;
    const char* begin = at_;
    while (true) {
      for (uint64_t word = 0; end_ - at_ >= 8; at_ += 8) {
        std::memcpy(&word, at_, 8);
        if (!all_plain(word)) break;
      }
      if (at_ == end_) return false;
      const auto c = static_cast<unsigned char>(*at_);
      if (c == '"') break;
      if (c < 0x20) return false;
      if (c == '\\') {
        if (end_ - at_ < 2 || std::string_view("\"\\/bfnrt").find(at_[1]) == std::string_view::npos)
          return false;  // \u is left to the full reader
        at_ += 2;
      } else if (c < 0x80) {
        ++at_;
      } else {
        const size_t length = base::utf8_length({at_, static_cast<size_t>(end_ - at_)});
        if (length == 0) return false;
        at_ += length;
      }
    }
    text = {begin, static_cast<size_t>(at_ - begin)};
    ++at_;
    return true;
  }
  bool take_key(std::string_view& key) {
    return take_string(key) && key.find('\\') == std::string_view::npos && take(':');
  }
  /// A count of tokens; other numbers are in doubt.
  bool take_count(int64_t& value) {
    skip_space();
    const char* begin = at_;
    value = 0;
    while (at_ < end_ && *at_ >= '0' && *at_ <= '9' && at_ - begin < 11)
      value = value * 10 + (*at_++ - '0');
    const bool leading_zero = at_ - begin > 1 && *begin == '0';
    const bool more = at_ < end_ && (*at_ == '.' || (*at_ | 32) == 'e');
    return at_ != begin && !leading_zero && !more && value <= kMostTokens;
  }
  /// Anything; `elements` counts those of an array.
  bool skip_value(int depth, int64_t* elements = nullptr) {
    if (depth > kDeepest) return false;
    std::string_view text;
    switch (peek()) {
      case '"':
        return take_string(text);
      case '{':
        return each_member([&](std::string_view) { return skip_value(depth + 1); });
      case '[': {
        int64_t count = 0;
        const bool good = each_element([&] {
          ++count;
          return skip_value(depth + 1);
        });
        if (elements != nullptr) *elements = count;
        return good;
      }
      case 't':
        return take_word("true");
      case 'f':
        return take_word("false");
      case 'n':
        return take_word("null");
      default:
        return skip_number();
    }
  }
  template <typename Body>
  bool each_member(const Body& body) {
    if (!take('{')) return false;
    if (take('}')) return true;
    do {
      std::string_view key;
      skip_space();
      if (!take_key(key) || !body(key)) return false;
    } while (take(','));
    return take('}');
  }
  template <typename Body>
  bool each_element(const Body& body) {
    if (!take('[')) return false;
    if (take(']')) return true;
    do {
      if (!body()) return false;
    } while (take(','));
    return take(']');
  }

 private:
  void skip_space() {
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
  }
  bool take_digits() {
    const char* begin = at_;
    while (at_ < end_ && *at_ >= '0' && *at_ <= '9') ++at_;
    return at_ != begin;
  }
  /// Short ones only: whether a long one overflows is for the full reader to say.
  bool skip_number() {
    const char* begin = at_;
    if (at_ < end_ && *at_ == '-') ++at_;
    const char* digits = at_;
    if (!take_digits() || (*digits == '0' && at_ - digits > 1)) return false;
    if (at_ < end_ && *at_ == '.') {
      ++at_;
      if (!take_digits()) return false;
    }
    if (at_ < end_ && (*at_ | 32) == 'e') {
      ++at_;
      if (at_ < end_ && (*at_ == '+' || *at_ == '-')) ++at_;
      const char* exponent = at_;
      if (!take_digits() || at_ - exponent > 2) return false;
    }
    return at_ - begin <= 18;
  }

  const char* at_;
  const char* end_;
};

class Scanner {
 public:
  explicit Scanner(std::string_view json) : cursor_(json) {}

  std::optional<ChunkFacts> run() {
    const bool good = cursor_.each_member([&](std::string_view key) { return top(key); });
    return good && cursor_.at_end() ? std::optional(facts_) : std::nullopt;
  }

 private:
  /// The first of two equal keys counts for the full reader: it shall decide.
  static bool once(bool& seen) { return !std::exchange(seen, true); }

  bool top(std::string_view key) {
    if (key == "choices") return once(choices_) && cursor_.each_element([&] { return choice(); });
    if (key == "usage") {
      if (!once(usage_)) return false;
      if (cursor_.peek() == 'n') return cursor_.take_word("null");
      bool prompt = false, output = false;
      return cursor_.each_member([&](std::string_view name) {
        if (name == "prompt_tokens") return once(prompt) && count(facts_.prompt_tokens);
        if (name == "completion_tokens") return once(output) && count(facts_.output_tokens);
        return cursor_.skip_value(0);
      });
    }
    if (key == "error") return cursor_.take_word("null");
    if (key == "object") {
      std::string_view text;
      return cursor_.take_string(text) && text != "error" &&
             text.find('\\') == std::string_view::npos;
    }
    return cursor_.skip_value(0);
  }

  bool count(std::optional<int64_t>& target) {
    int64_t value = 0;
    if (!cursor_.take_count(value)) return false;
    target = value;
    return true;
  }

  /// A string or null; `some` is set for a string that is not empty.
  bool text(bool& some) {
    if (cursor_.peek() == 'n') return cursor_.take_word("null");
    std::string_view found;
    if (!cursor_.take_string(found)) return false;
    some |= !found.empty();
    return true;
  }

  bool list(int64_t& elements) {
    if (cursor_.peek() == 'n') return cursor_.take_word("null");
    return cursor_.peek() == '[' && cursor_.skip_value(0, &elements);
  }

  bool choice() {
    bool content = false, reasoning = false, finished = false;
    bool seen_text = false, seen_delta = false, seen_reason = false, seen_ids = false;
    int64_t ids = 0;
    facts_.choice = true;
    const bool good = cursor_.each_member([&](std::string_view key) {
      if (key == "text") return once(seen_text) && text(content);
      if (key == "delta") {
        if (!once(seen_delta)) return false;
        unsigned seen = 0;
        return cursor_.each_member(
            [&](std::string_view name) { return delta(name, seen, content, reasoning); });
      }
      if (key == "finish_reason") return once(seen_reason) && text(finished);
      if (key == "token_ids") return once(seen_ids) && list(ids);
      if (key == "message") return false;  // an answer in one piece
      return cursor_.skip_value(0);
    });
    if (!good) return false;
    if (ids > 0) facts_.token_ids = facts_.token_ids.value_or(0) + ids;
    if (content || (ids > 0 && !reasoning)) facts_.content = true;
    if (reasoning && !facts_.content) facts_.reasoning = true;
    facts_.content |= reasoning;
    facts_.finished |= finished;
    return true;
  }

  bool delta(std::string_view name, unsigned& seen, bool& content, bool& reasoning) {
    constexpr std::string_view kNames[] = {"content", "refusal", "reasoning_content", "reasoning",
                                           "tool_calls"};
    for (unsigned i = 0; i < std::size(kNames); ++i) {
      if (name != kNames[i]) continue;
      if ((std::exchange(seen, seen | 1u << i) >> i & 1u) != 0) return false;
      if (i < 2) return text(content);
      if (i < 4) return text(reasoning);
      int64_t calls = 0;
      if (!list(calls)) return false;
      content |= calls > 0;
      return true;
    }
    return cursor_.skip_value(0);
  }

  Cursor cursor_;
  ChunkFacts facts_;
  bool choices_ = false, usage_ = false;
};

}  // namespace

std::optional<ChunkFacts> scan_chunk(std::string_view json) {
  return Scanner(json).run();
}

}  // namespace headroom::load
