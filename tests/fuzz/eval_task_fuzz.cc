// Fuzz target: question files, the number rules on their text, and servers' prompt scores.
#include "eval/extract.h"
#include "eval/prompt_scores.h"
#include "eval/task.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headroom::eval;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)parse_task(text, "fuzz");
  if (const auto found = strict_match(text)) (void)normalised(*found);
  if (const auto found = flexible_match(text)) (void)normalised(*found);
  for (const Form form : kForms) {
    (void)read_scores(text, {{7, 8, 9}, {}}, form);
    (void)read_scores(text, {{}, "abc"}, form);
  }
  for (const Window& piece : text_windows(text, 3))
    if (piece.text.empty()) __builtin_trap();
  return 0;
}
