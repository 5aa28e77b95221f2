// Task: question-answer pairs in GSM8K's form, one JSON object a line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace headroom::eval {

struct Question {
  std::string question;
  std::string answer;  // worked, with "#### 42" at its end
  std::string gold;    // "42": what is matched
  int line = 0;
};

/// Errors name FILE:LINE and what is wrong: kDataLoss for text that is not JSON, a missing or empty
/// field, an answer without "#### ". Other fields are ignored, empty lines too.
base::Result<std::vector<Question>> parse_task(std::string_view text, std::string_view file);

}  // namespace headroom::eval
