// The log of the mock server: JSON lines.
#include "load/mock/mock_truth.h"

#include <simdjson.h>

#include "base/file.h"
#include "base/json_writer.h"

namespace headroom::load {

namespace dom = simdjson::dom;

base::Result<> write_truths(const std::string& path, const std::vector<MockTruth>& truths) {
  std::string text;
  for (const MockTruth& t : truths) {
    base::JsonWriter json;
    json.begin_object().field("id", t.request_id).field("received", t.received);
    json.field("first", t.first_token).field("last", t.last_token);
    json.field("prompt_tokens", t.prompt_tokens).field("tokens", t.tokens);
    json.field("chunks", t.chunks).field("digest", t.prompt_digest);
    json.field("whole", t.whole).field("chat", t.chat).end_object();
    text += json.text();
    if (!t.gaps.empty()) {  // by hand: there may be millions
      text.back() = ',';
      text += "\"gaps\":[";
      for (const uint32_t gap : t.gaps) fmt::format_to(std::back_inserter(text), "{},", gap);
      text.back() = ']';
      text += '}';
    }
    text += '\n';
  }
  return base::write_file_atomic(path, text);
}

base::Result<std::vector<MockTruth>> read_truths(const std::string& path) {
  HEADROOM_TRY(const std::string text, base::read_file(path));
  std::vector<MockTruth> truths;
  dom::parser parser;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const auto bad = [&] {
      return base::fail(base::ErrorCode::kDataLoss, "{}: line {} is no record of a request", path,
                        truths.size() + 1);
    };
    dom::object root;
    if (parser.parse(text.data() + begin, end - begin).get(root) != simdjson::SUCCESS) return bad();
    begin = end + 1;
    MockTruth t;
    std::string_view id;
    if (root["id"].get(id) != simdjson::SUCCESS ||
        root["received"].get(t.received) != simdjson::SUCCESS ||
        root["first"].get(t.first_token) != simdjson::SUCCESS ||
        root["last"].get(t.last_token) != simdjson::SUCCESS ||
        root["prompt_tokens"].get(t.prompt_tokens) != simdjson::SUCCESS ||
        root["tokens"].get(t.tokens) != simdjson::SUCCESS ||
        root["chunks"].get(t.chunks) != simdjson::SUCCESS ||
        root["digest"].get(t.prompt_digest) != simdjson::SUCCESS ||
        root["whole"].get(t.whole) != simdjson::SUCCESS ||
        root["chat"].get(t.chat) != simdjson::SUCCESS)
      return bad();
    t.request_id = id;
    dom::array gaps;
    if (root["gaps"].get(gaps) == simdjson::SUCCESS)
      for (const auto gap : gaps) {
        uint64_t value = 0;
        if (gap.get(value) != simdjson::SUCCESS || value > UINT32_MAX) return bad();
        t.gaps.push_back(static_cast<uint32_t>(value));
      }
    truths.push_back(std::move(t));
  }
  return truths;
}

}  // namespace headroom::load
