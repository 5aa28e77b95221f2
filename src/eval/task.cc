// Reads a line at a time, so that an error has its number.
#include "eval/task.h"

#include <simdjson.h>

#include "eval/extract.h"

namespace headroom::eval {
namespace {

using base::ErrorCode;

base::Result<std::string> field(const simdjson::dom::element& object, const char* name,
                                const std::string& where) {
  const auto value = object[name];
  if (value.error() == simdjson::NO_SUCH_FIELD)
    return base::fail(ErrorCode::kDataLoss, "{}: field `{}` is missing", where, name);
  std::string_view text;
  if (value.get_string().get(text) != simdjson::SUCCESS)
    return base::fail(ErrorCode::kDataLoss, "{}: `{}` must be a string", where, name);
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    return base::fail(ErrorCode::kDataLoss, "{}: `{}` is empty", where, name);
  return std::string(text);
}

}  // namespace

base::Result<std::vector<Question>> parse_task(std::string_view text, std::string_view file) {
  std::vector<Question> questions;
  simdjson::dom::parser parser;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  for (int line = 1; !text.empty(); ++line) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view row = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (row.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const std::string where = fmt::format("{}:{}", file, line);
    simdjson::dom::element object;
    if (const auto error = parser.parse(simdjson::padded_string(row)).get(object))
      return base::fail(ErrorCode::kDataLoss, "{}: not JSON ({}); one object a line is right",
                        where, simdjson::error_message(error));
    if (!object.is_object())
      return base::fail(ErrorCode::kDataLoss, "{}: must be an object with `question` and `answer`",
                        where);
    Question question;
    HEADROOM_TRY(question.question, field(object, "question", where));
    HEADROOM_TRY(question.answer, field(object, "answer", where));
    const auto gold = strict_match(question.answer);
    if (!gold || gold->find_first_of("0123456789") == std::string::npos)
      return base::fail(ErrorCode::kDataLoss,
                        "{}: `answer` must end in `#### ` and a number, such as `#### 42`", where);
    question.gold = normalised(*gold);
    question.line = line;
    questions.push_back(std::move(question));
  }
  if (questions.empty()) return base::fail(ErrorCode::kDataLoss, "{}: holds no question", file);
  return questions;
}

}  // namespace headroom::eval
