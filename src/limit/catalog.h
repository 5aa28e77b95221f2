// The catalogue: shapes and hardware by name (compiled in) or by path.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "limit/hardware.h"
#include "limit/shape.h"
#include "model/config.h"

namespace headroom::limit {

/// `what` is a name of the catalogue, a shape file, a config.json or a directory that holds one.
/// $HEADROOM_DATA/perf/shapes is looked at before what is compiled in. An unknown name: kNotFound,
/// with the names there are.
base::Result<Shape> find_shape(const std::string& what);
/// The whole config behind it, for those who need more than its sizes.
base::Result<model::Config> find_config(const std::string& what);
/// A name or a path of a YAML file; $HEADROOM_DATA/hardware is looked at first.
base::Result<Hardware> find_hardware(const std::string& what);

std::vector<std::string> shape_names();
std::vector<std::string> hardware_names();

}  // namespace headroom::limit
