// Trigger: one thing outside whose change asks for another run of a recipe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sweep/recipe.h"

namespace headroom::sweep {

class Trigger {
 public:
  explicit Trigger(TriggerSpec spec) : spec_(std::move(spec)) {}
  virtual ~Trigger() = default;
  const TriggerSpec& spec() const { return spec_; }
  /// What is there now: a commit, a version, a digest. Errors: kUnavailable when it cannot be told.
  virtual base::Result<std::string> value() const = 0;

 private:
  TriggerSpec spec_;
};

std::unique_ptr<Trigger> make_trigger(const TriggerSpec& spec);

/// The output of a command without white space at its ends; kUnavailable with its last lines when
/// it fails or takes longer.
base::Result<std::string> command_output(const std::vector<std::string>& command,
                                         double timeout_s = 60);

}  // namespace headroom::sweep
