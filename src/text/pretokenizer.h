// Pretokenizer: cuts text into the pieces within which BPE merges.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/regex.h"

namespace headroom::text {

/// What happens to the stretches that a pattern matches.
enum class SplitBehavior : uint8_t {
  kRemoved,             // they vanish
  kIsolated,            // each is a piece
  kMergedWithPrevious,  // they end the piece before
  kMergedWithNext,      // they begin the piece behind
  kContiguous,          // neighbours join into one piece
};

struct SplitStage {
  Regex regex;
  SplitBehavior behavior = SplitBehavior::kIsolated;
  bool invert = false;  // matches and gaps swap their parts
};

/// Stages run one after the other, each on every piece of the one before; a stage sees nothing
/// outside its piece.
class Pretokenizer {
 public:
  void add(SplitStage stage) { stages_.push_back(std::move(stage)); }
  /// Pieces (none empty) as views into `text`, which must be valid UTF-8.
  base::Result<std::vector<std::string_view>> split(std::string_view text) const;

 private:
  std::vector<SplitStage> stages_;
};

}  // namespace headroom::text
