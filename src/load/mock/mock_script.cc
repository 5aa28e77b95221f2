// Reading of mock scripts.
#include "load/mock/mock_script.h"

#include <charconv>
#include <functional>
#include <vector>

namespace headroom::load {

using base::ErrorCode;
using base::fail;

namespace {

using Apply = bool (*)(MockScript&, std::string_view value);
struct Key {
  std::string_view name, help;
  Apply apply;
};

template <typename T>
bool number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

template <auto Member>
bool set_ms(MockScript& s, std::string_view text) {
  double ms = 0;
  if (!number(text, ms) || ms < 0 || ms > 1e9) return false;
  s.*Member = static_cast<int64_t>(ms * 1e6);
  return true;
}

template <auto Member>
bool set_integer(MockScript& s, std::string_view text) {
  return number(text, s.*Member);
}

template <auto Member>
bool set_count(MockScript& s, std::string_view text) {
  return number(text, s.*Member) && s.*Member >= 0;
}

template <auto Member>
bool set_flag(MockScript& s, std::string_view text) {
  if (text != "0" && text != "1") return false;
  s.*Member = text == "1";
  return true;
}

template <typename Enum>
bool choose(std::string_view text, Enum& target,
            std::initializer_list<std::pair<std::string_view, Enum>> choices) {
  for (const auto& [name, value] : choices)
    if (name == text) {
      target = value;
      return true;
    }
  return false;
}

bool set_usage(MockScript& s, std::string_view text) {
  using U = MockScript::Usage;
  return choose(
      text, s.usage,
      {{"end", U::kEnd}, {"last", U::kWithLast}, {"running", U::kRunning}, {"none", U::kNone}});
}

bool set_end(MockScript& s, std::string_view text) {
  using E = MockScript::End;
  return choose(text, s.end,
                {{"done", E::kDone},
                 {"no_done", E::kNoDone},
                 {"nothing", E::kNothing},
                 {"error", E::kError},
                 {"close", E::kClose},
                 {"reset", E::kReset},
                 {"silence", E::kSilence},
                 {"only_done", E::kOnlyDone},
                 {"linger", E::kLinger}});
}

bool set_lines(MockScript& s, std::string_view text) {
  return choose<std::string>(text, s.line_end, {{"lf", "\n"}, {"crlf", "\r\n"}, {"cr", "\r"}});
}

bool set_framing(MockScript& s, std::string_view text) {
  return choose(
      text, s.framing,
      {{"chunked", MockScript::Framing::kChunked}, {"close", MockScript::Framing::kClose}});
}

bool set_status(MockScript& s, std::string_view text) {
  return number(text, s.status) && s.status >= 200 && s.status <= 599;
}

bool set_model(MockScript& s, std::string_view text) {
  s.model = text;
  return !text.empty();
}

bool set_shortest(MockScript& s, std::string_view text) {
  return number(text, s.shortest) && s.shortest > 0 && s.shortest <= 1;
}

bool set_tokens(MockScript& s, std::string_view text) {
  return number(text, s.tokens_per_chunk) && s.tokens_per_chunk >= 1;
}

using M = MockScript;
constexpr Key kKeys[] = {
    {"ttft", "ms to the first token", set_ms<&M::ttft_ns>},
    {"interval", "ms between chunks", set_ms<&M::interval_ns>},
    {"tokens", "tokens per chunk", set_tokens},
    {"max_tokens", "never more, whatever is asked", set_count<&M::max_tokens>},
    {"shortest", "answers have [this, 1] of the tokens asked", set_shortest},
    {"lock_step", "1: all streams' tokens come together", set_flag<&M::lock_step>},
    {"log", "1: the log has every gap between chunks", set_flag<&M::log_gaps>},
    {"usage", "end|last|running|none", set_usage},
    {"usage_delay", "ms from the last token to the usage chunk", set_ms<&M::usage_delay_ns>},
    {"prompt_off", "added to usage.prompt_tokens", set_integer<&M::prompt_tokens_off>},
    {"output_off", "added to usage.completion_tokens", set_integer<&M::output_tokens_off>},
    {"role", "1: an opening chunk without content", set_flag<&M::role_chunk>},
    {"reasoning", "1: half of a chat answer is reasoning", set_flag<&M::reasoning>},
    {"lines", "lf|crlf|cr", set_lines},
    {"space", "0: none behind data:", set_flag<&M::space>},
    {"comments", "1: a comment before each event", set_flag<&M::comments>},
    {"event_lines", "1: event: message before each event", set_flag<&M::event_lines>},
    {"mark", "1: a byte order mark first", set_flag<&M::mark>},
    {"multi_line", "1: two data lines an event", set_flag<&M::multi_line>},
    {"split", "bytes per write", set_count<&M::split>},
    {"end", "done|no_done|nothing|error|close|reset|silence|only_done|linger", set_end},
    {"end_after", "tokens before such an end", set_count<&M::end_after>},
    {"framing", "chunked|close", set_framing},
    {"status", "HTTP status of every answer", set_status},
    {"plain_json", "1: a JSON error with status 200", set_flag<&M::plain_json>},
    {"fail_every", "every n-th request gets 503", set_count<&M::fail_every>},
    {"die_after", "tokens in all until the server closes everything", set_count<&M::die_after>},
    {"close_idle", "1: close after each response", set_flag<&M::close_idle>},
    {"model", "the model's name", set_model},
};

}  // namespace

std::string mock_script_help() {
  std::string text;
  for (const Key& key : kKeys) text += fmt::format("  {:<12} {}\n", key.name, key.help);
  return text;
}

base::Result<MockScript> parse_mock_script(std::string_view text) {
  MockScript script;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view entry = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const size_t equals = std::min(entry.find('='), entry.size());
    const std::string_view name = entry.substr(0, equals);
    const std::string_view value = entry.substr(std::min(equals + 1, entry.size()));
    const auto* key = std::find_if(std::begin(kKeys), std::end(kKeys),
                                   [&](const Key& k) { return k.name == name; });
    if (key == std::end(kKeys))
      return fail(ErrorCode::kInvalidArgument, "script: unknown key \"{}\"; known are\n{}", name,
                  mock_script_help());
    if (!key->apply(script, value))
      return fail(ErrorCode::kInvalidArgument, "script: {}={} is not possible ({})", name, value,
                  key->help);
  }
  return script;
}

}  // namespace headroom::load
