// PCRE2 with its JIT; patterns of other engines translated first.
#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/regex.h"

#include <pcre2.h>

namespace headroom::text {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

// The default JIT stack overflows on words of a few MiB.
constexpr size_t kJitStack = size_t{64} << 20;
constexpr uint32_t kMatchLimit = 200'000'000;

/// What a match needs besides the pattern, one per thread.
struct MatchState {
  pcre2_match_data* data = pcre2_match_data_create(1, nullptr);
  pcre2_match_context* context = pcre2_match_context_create(nullptr);
  pcre2_jit_stack* stack = pcre2_jit_stack_create(32 << 10, kJitStack, nullptr);

  MatchState() {
    pcre2_jit_stack_assign(context, nullptr, stack);
    pcre2_set_match_limit(context, kMatchLimit);
  }
  ~MatchState() {
    pcre2_jit_stack_free(stack);
    pcre2_match_context_free(context);
    pcre2_match_data_free(data);
  }
  MatchState(const MatchState&) = delete;
  MatchState& operator=(const MatchState&) = delete;
};

std::string message_of(int code) {
  PCRE2_UCHAR buffer[160];
  pcre2_get_error_message(code, buffer, sizeof(buffer));
  return reinterpret_cast<const char*>(buffer);
}

/// Position behind the class that begins at `at` ('['), or npos.
size_t class_end(std::string_view pattern, size_t at) {
  size_t i = at + 1;
  if (i < pattern.size() && pattern[i] == '^') ++i;
  if (i < pattern.size() && pattern[i] == ']') ++i;  // a literal one
  for (int depth = 1; i < pattern.size(); ++i) {
    if (pattern[i] == '\\') {
      ++i;
    } else if (pattern[i] == '[') {
      ++depth;
    } else if (pattern[i] == ']' && --depth == 0) {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

/// A class without its intersections: "[a&&[^b]]" → "(?:(?![b])[a])".
Result<std::string> translate_class(std::string_view text) {
  std::string plain, conditions;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      plain += text.substr(i++, 2);
    } else if (i > 0 && text[i] == '[' && !text.substr(i).starts_with("[:")) {
      return fail(ErrorCode::kUnsupported, "regex class `{}`: nested classes are not supported",
                  text);
    } else if (i > 0 && text[i] == '[') {
      const size_t end = text.find(":]", i);
      if (end == std::string_view::npos) break;
      plain += text.substr(i, end + 2 - i);
      i = end + 1;
    } else if (text.substr(i).starts_with("&&")) {
      const size_t begin = i + 2;
      const size_t end = begin < text.size() && text[begin] == '[' ? class_end(text, begin)
                                                                   : std::string_view::npos;
      if (text.starts_with("[^") || end == std::string_view::npos)
        return fail(ErrorCode::kUnsupported,
                    "regex class `{}`: only [a&&[b]] and [a&&[^b]] intersections are supported",
                    text);
      const std::string_view other = text.substr(begin, end - begin);
      const bool negated = other.starts_with("[^");
      conditions += fmt::format("(?{}[{})", negated ? '!' : '=', other.substr(negated ? 2 : 1));
      i = end - 1;
    } else {
      plain += text[i];
    }
  }
  return conditions.empty() ? plain : fmt::format("(?:{}{})", conditions, plain);
}

}  // namespace

Result<std::string> translate_pattern(std::string_view pattern) {
  std::string out;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\' && i + 1 < pattern.size()) {
      // A hexadecimal digit there, a horizontal space here.
      if (pattern[i + 1] == 'h' || pattern[i + 1] == 'H')
        return fail(ErrorCode::kUnsupported, "regex `{}`: \\{} means different things to engines",
                    pattern, pattern[i + 1]);
      out += pattern.substr(i++, 2);
    } else if (pattern[i] == '[') {
      const size_t end = class_end(pattern, i);
      if (end == std::string_view::npos)
        return fail(ErrorCode::kDataLoss, "regex `{}`: a class is not closed", pattern);
      HEADROOM_TRY(const std::string translated, translate_class(pattern.substr(i, end - i)));
      out += translated;
      i = end - 1;
    } else {
      out += pattern[i];
    }
  }
  return out;
}

void Regex::Free::operator()(void* code) const {
  pcre2_code_free(static_cast<pcre2_code*>(code));
}

Result<Regex> Regex::compile(std::string_view pattern) {
  HEADROOM_TRY(const std::string translated, translate_pattern(pattern));
  int error = 0;
  PCRE2_SIZE offset = 0;
  // MULTILINE: in the Ruby syntax that these patterns are written in, $ is the end of a line.
  pcre2_code* code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE, &error, &offset, nullptr);
  if (code == nullptr)
    return fail(ErrorCode::kDataLoss, "regex `{}`: {} at byte {}", translated, message_of(error),
                offset);
  Regex regex;
  regex.code_.reset(code);
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // where it cannot, matching is merely slower
  return regex;
}

Result<std::optional<std::pair<size_t, size_t>>> Regex::find(std::string_view text,
                                                             size_t from) const {
  thread_local MatchState state;
  const auto* code = static_cast<const pcre2_code*>(code_.get());
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  int count = pcre2_jit_match(code, subject, text.size(), from, PCRE2_NO_UTF_CHECK, state.data,
                              state.context);
  if (count == PCRE2_ERROR_JIT_BADOPTION || count == PCRE2_ERROR_JIT_STACKLIMIT)
    count = pcre2_match(code, subject, text.size(), from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                        state.data, state.context);
  if (count == PCRE2_ERROR_NOMATCH) return std::nullopt;
  if (count < 0)
    return fail(ErrorCode::kResourceExhausted, "regex on {} bytes of text: {}", text.size(),
                message_of(count));
  const PCRE2_SIZE* range = pcre2_get_ovector_pointer(state.data);
  return std::pair<size_t, size_t>(range[0], range[1]);
}

}  // namespace headroom::text
