// The scripted course of a response.
#include "load/mock/mock_stream.h"

#include <algorithm>
#include <cmath>

#include "base/rng.h"

namespace headroom::load {

using After = MockStep::After;
using End = MockScript::End;
using Usage = MockScript::Usage;

namespace {

/// Ends that come in place of the rest of the answer.
bool ends_early(End end) {
  return end == End::kError || end == End::kClose || end == End::kReset || end == End::kSilence ||
         end == End::kNothing;
}

}  // namespace

MockStream::MockStream(const MockScript& script, MockTexts& texts, MockCall call, bool chat,
                       int64_t received_ns, uint64_t number)
    : script_(script), texts_(texts), call_(std::move(call)), chat_(chat), received_(received_ns) {
  total_ = call_.max_tokens;
  if (script_.shortest < 1) {
    const double drawn = base::Rng(number).uniform();
    const double share = script_.shortest + (1 - script_.shortest) * drawn;
    total_ = std::max<int64_t>(1, std::llround(share * static_cast<double>(total_)));
  }
  if (script_.max_tokens > 0) total_ = std::min(total_, script_.max_tokens);
  if (script_.end == End::kOnlyDone) total_ = 0;
  // Without end_after a stream that merely stops sends everything first; the others stop at once.
  if (ends_early(script_.end) && (script_.end != End::kNothing || script_.end_after > 0))
    total_ = std::min(total_, script_.end_after);
}

std::string MockStream::json_response(int status, const std::string& json, bool keep_alive) {
  return fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{}\r\n{}", status,
      status == 200 ? "OK" : "Error", json.size(), keep_alive ? "" : "Connection: close\r\n", json);
}

std::string MockStream::framed(const std::string& text) const {
  if (script_.framing == MockScript::Framing::kClose || text.empty()) return text;
  return fmt::format("{:x}\r\n{}\r\n", text.size(), text);
}

std::string MockStream::event(const std::string& json) const {
  const std::string& end = script_.line_end;
  const char* space = script_.space ? " " : "";
  std::string text;
  if (script_.comments) text += ": still here" + end;
  if (script_.event_lines) text += "event:" + std::string(space) + "message" + end;
  const size_t cut = script_.multi_line ? json.find(",\"choices\"") : std::string::npos;
  if (cut == std::string::npos) {
    text += "data:" + std::string(space) + json + end;
  } else {
    text += "data:" + std::string(space) + json.substr(0, cut + 1) + end;
    text += "data:" + std::string(space) + json.substr(cut + 1) + end;
  }
  return framed(text + end);
}

std::string MockStream::usage_json(int64_t output) const {
  const int64_t prompt = call_.prompt_tokens + script_.prompt_tokens_off;
  const int64_t shown = std::max<int64_t>(0, output + script_.output_tokens_off);
  return fmt::format(R"("usage":{{"prompt_tokens":{},"completion_tokens":{},"total_tokens":{}}})",
                     prompt, shown, prompt + shown);
}

bool MockStream::thinking() const {
  return script_.reasoning && chunks_ * script_.tokens_per_chunk < total_ / 2;
}

int64_t MockStream::due(int64_t i) const {
  const int64_t at = received_ + script_.ttft_ns + i * script_.interval_ns;
  if (!script_.lock_step || script_.interval_ns <= 0) return at;
  return (at + script_.interval_ns - 1) / script_.interval_ns * script_.interval_ns;
}

std::string MockStream::content_json(int64_t tokens, bool last) const {
  std::string text;
  for (int64_t i = 0; i < tokens; ++i) text += " tok\xC3\xA9";
  const char* reason = last ? "\"length\"" : "null";
  std::string choice;
  if (chat_)
    choice = fmt::format(R"({{"index":0,"delta":{{"{}":"{}"}},"finish_reason":{}}})",
                         thinking() ? "reasoning_content" : "content", text, reason);
  else
    choice = fmt::format(R"({{"index":0,"text":"{}","logprobs":null,"finish_reason":{}}})", text,
                         reason);
  const bool with_usage =
      script_.usage == Usage::kRunning || (script_.usage == Usage::kWithLast && last);
  return fmt::format(
      R"({{"id":"mock-0123456789abcdef","object":"{}","created":1700000000,"model":"{}","choices":[{}]{}}})",
      chat_ ? "chat.completion.chunk" : "text_completion", script_.model, choice,
      with_usage ? "," + usage_json(sent_) : "");
}

MockStep MockStream::open() {
  MockStep step;
  step.next_due = due(0);
  if (!call_.stream) {
    step.next_due += script_.interval_ns * std::max<int64_t>(0, total_ - 1);
    return step;
  }
  const bool chunked = script_.framing == MockScript::Framing::kChunked;
  step.bytes = fmt::format("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n{}\r\n",
                           chunked ? "Transfer-Encoding: chunked\r\n" : "Connection: close\r\n");
  if (script_.mark) step.bytes += framed("\xEF\xBB\xBF");
  if (script_.role_chunk)
    step.bytes +=
        event(chat_ ? R"({"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]})"
                    : R"({"choices":[{"index":0,"text":"","finish_reason":null}]})");
  return step;
}

MockStep MockStream::whole_answer() {
  std::string text;
  for (int64_t i = 0; i < total_; ++i) text += " tok";
  MockStep step;
  sent_ = total_;
  const std::string answer =
      chat_ ? fmt::format(R"("message":{{"role":"assistant","content":"{}"}})", text)
            : fmt::format(R"("text":"{}")", text);
  step.bytes = json_response(
      200, fmt::format(R"({{"object":"{}","model":"{}","choices":[{{"index":0,)"
                       R"({},"finish_reason":"length"}}]{}}})",
                       chat_ ? "chat.completion" : "text_completion", script_.model, answer,
                       script_.usage == Usage::kNone ? "" : "," + usage_json(total_)));
  step.tokens = total_;
  step.whole = true;
  step.after = After::kKeep;
  return step;
}

MockStep MockStream::next() {
  if (!call_.stream) return whole_answer();
  if (usage_due_ || sent_ >= total_) return finish();
  MockStep step;
  step.tokens = std::min(script_.tokens_per_chunk, total_ - sent_);
  sent_ += step.tokens;
  const bool last = sent_ >= total_;
  if (!last && step.tokens == script_.tokens_per_chunk && script_.usage != Usage::kRunning)
    step.shared =
        texts_.get(2 * chat_ + thinking(), [&] { return event(content_json(step.tokens, false)); });
  else
    step.bytes = event(content_json(step.tokens, last && !ends_early(script_.end)));
  ++chunks_;
  step.next_due = due(chunks_);
  if (!last) return step;
  if (script_.usage_delay_ns > 0) {
    usage_due_ = true;
    step.next_due = due(chunks_ - 1) + script_.usage_delay_ns;
    return step;
  }
  MockStep end = finish();
  end.bytes = step.bytes + end.bytes;
  end.tokens = step.tokens;
  return end;
}

MockStep MockStream::finish() {
  MockStep step;
  step.whole = true;
  switch (script_.end) {
    case End::kClose:
      step.after = After::kClose;
      return step;
    case End::kReset:
      step.after = After::kReset;
      return step;
    case End::kSilence:
      step.after = After::kHang;
      return step;
    case End::kError:
      step.bytes =
          event(R"({"error":{"message":"mock failure","type":"server_error","code":500}})");
      break;
    case End::kNothing:
      break;
    default:
      if (script_.usage == Usage::kEnd && call_.usage && script_.end != End::kOnlyDone)
        step.bytes = event(
            fmt::format(R"({{"model":"{}","choices":[],{}}})", script_.model, usage_json(sent_)));
      if (script_.end != End::kNoDone) step.bytes += event("[DONE]");
  }
  if (script_.end == End::kLinger) {
    step.after = After::kHang;
    return step;
  }
  const bool chunked = script_.framing == MockScript::Framing::kChunked;
  if (chunked) step.bytes += "0\r\n\r\n";
  step.after = chunked && !script_.close_idle ? After::kKeep : After::kClose;
  return step;
}

}  // namespace headroom::load
