// Applies split stages to pieces.
#include "text/pretokenizer.h"

#include "base/utf8.h"

namespace headroom::text {

using base::Result;

namespace {

struct Stretch {
  size_t begin, end;
  bool matched;
};

/// The whole of `text` as alternating matched and unmatched stretches, none empty.
Result<> find_stretches(const SplitStage& stage, std::string_view text, std::vector<Stretch>& out) {
  out.clear();
  size_t done = 0, from = 0;
  while (from < text.size()) {
    HEADROOM_TRY(const auto match, stage.regex.find(text, from));
    if (!match) break;
    const auto [begin, end] = *match;
    if (end == begin) {  // an empty match cuts nothing off; look behind the next character
      if (begin >= text.size()) break;
      from = begin + std::max<size_t>(base::utf8_length(text.substr(begin)), 1);
      continue;
    }
    if (begin > done) out.push_back({done, begin, stage.invert});
    out.push_back({begin, end, !stage.invert});
    done = from = end;
  }
  if (done < text.size()) out.push_back({done, text.size(), stage.invert});
  return {};
}

/// Turns stretches into pieces, given by their ends in the text.
void emit(const SplitStage& stage, std::string_view text, const std::vector<Stretch>& stretches,
          std::vector<std::string_view>& out) {
  bool open = false;  // the last piece may still grow
  size_t begin = 0, end = 0;
  const auto close = [&] {
    if (open) out.push_back(text.substr(begin, end - begin));
    open = false;
  };
  const auto start = [&](const Stretch& s) {
    close();
    begin = s.begin;
    end = s.end;
    open = true;
  };
  bool previous_matched = false;
  for (const Stretch& s : stretches) {
    switch (stage.behavior) {
      case SplitBehavior::kRemoved:
        if (!s.matched) start(s);
        break;
      case SplitBehavior::kIsolated:
        start(s);
        break;
      case SplitBehavior::kContiguous:
        if (open && s.matched == previous_matched)
          end = s.end;
        else
          start(s);
        break;
      case SplitBehavior::kMergedWithPrevious:
        if (s.matched && open && !previous_matched)
          end = s.end;
        else
          start(s);
        break;
      case SplitBehavior::kMergedWithNext:
        if (!s.matched && open && previous_matched)
          end = s.end;
        else
          start(s);
        break;
    }
    previous_matched = s.matched;
  }
  close();
}

}  // namespace

Result<std::vector<std::string_view>> Pretokenizer::split(std::string_view text) const {
  std::vector<std::string_view> pieces, next;
  if (!text.empty()) pieces.push_back(text);
  std::vector<Stretch> stretches;
  for (const SplitStage& stage : stages_) {
    next.clear();
    for (const std::string_view piece : pieces) {
      HEADROOM_TRY_VOID(find_stretches(stage, piece, stretches));
      emit(stage, piece, stretches, next);
    }
    pieces.swap(next);
  }
  return pieces;
}

}  // namespace headroom::text
