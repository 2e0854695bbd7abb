#include "emit/keeping.hpp"

namespace tessera::emit {

schedule::Kernel as_call(const schedule::Keep& keep) {
  using Kind = ops::OperandRef::Kind;
  schedule::Kernel kernel{.inputs = {keep.from}, .outputs = {keep.to}};
  kernel.call = {.function = "ts_keep",
                 .header = "keep",
                 .fields = {{"x", ops::OperandRef{Kind::Input, 0}},
                            {"y", ops::OperandRef{Kind::Output, 0}},
                            {"row", keep.row},
                            {"rows", keep.rows},
                            {"lines", keep.lines},
                            {"from_stride", keep.from_stride},
                            {"to_stride", keep.to_stride}}};
  return kernel;
}

schedule::Kernel as_call(const schedule::PutTogether& put) {
  using Kind = ops::OperandRef::Kind;
  const auto& [kept, rest] = put;
  schedule::Kernel kernel{.inputs = {kept.from}, .outputs = {kept.to, rest.from}};
  kernel.call = {.function = "ts_put_together",
                 .header = "keep",
                 .fields = {{"x", ops::OperandRef{Kind::Input, 0}},
                            {"y", ops::OperandRef{Kind::Output, 0}},
                            {"came", ops::OperandRef{Kind::Output, 1}},
                            {"row", kept.row},
                            {"kept", kept.rows},
                            {"rest", rest.rows},
                            {"lines", kept.lines},
                            {"from_stride", kept.from_stride}}};
  return kernel;
}

}  // namespace tessera::emit
