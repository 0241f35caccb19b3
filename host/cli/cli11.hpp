/// What headers name of CLI11, which takes long to compile.
#pragma once

namespace CLI {
class App;
class Option;
class Validator;
}  // namespace CLI
