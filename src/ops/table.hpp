// The explicit table: every operator is declared and listed here, and nowhere else. A file of src/ops includes this
// header and defines its operators under the names below:
//
//   X(Gemm)      and in gemm.cpp:      const Operator Gemm{.domain = "", .type = "Gemm", .since = 7, ...};
#pragma once

#include "ops/operator.hpp"

// One line an operator (or a form of it), the families in the order of their files.
#define TESSERA_OPERATORS(X)             \
  /* views */                            \
  X(Reshape)                             \
  X(Flatten)                             \
  X(Squeeze)                             \
  X(Unsqueeze)                           \
  X(Identity)                            \
  /* copies */                           \
  X(Transpose)                           \
  X(Expand)                              \
  /* movement */                         \
  X(Slice)                               \
  X(Split)                               \
  X(SliceGrad)                           \
  X(Concat)                              \
  X(Pad)                                 \
  X(Gather)                              \
  X(GatherND)                            \
  X(GatherGrad)                          \
  X(GatherNDGrad)                        \
  X(ScatterND)                           \
  X(GatherElements)                      \
  X(ScatterElements)                     \
  X(Scatter)                             \
  X(GatherElementsGrad)                  \
  X(Tile)                                \
  X(DepthToSpace)                        \
  X(SpaceToDepth)                        \
  X(OneHot)                              \
  X(Trilu)                               \
  X(TopK)                                \
  X(ReverseSequence)                     \
  X(NonZero)                             \
  X(Compress)                            \
  X(Resize)                              \
  X(Upsample)                            \
  X(Resample)                            \
  X(Einsum)                              \
  /* known at compile time */            \
  X(Constant)                            \
  X(ShapeOf)                             \
  X(SizeOf)                              \
  X(ConstantOfShape)                     \
  X(EyeLike)                             \
  X(Range)                               \
  /* reductions */                       \
  X(ReduceSum)                           \
  X(ReduceMean)                          \
  X(ReduceSumTraining)                   \
  /* matrix products */                  \
  X(Gemm)                                \
  X(MatMul)                              \
  X(FusedMatMul)                         \
  X(FusedGemm)                           \
  /* convolutions */                     \
  X(Conv)                                \
  X(ConvTranspose)                       \
  X(FusedConv)                           \
  X(ConvGrad)                            \
  /* pools */                            \
  X(MaxPool)                             \
  X(AveragePool)                         \
  X(LpPool)                              \
  X(GlobalMaxPool)                       \
  X(GlobalAveragePool)                   \
  X(GlobalLpPool)                        \
  X(MaxPoolGrad)                         \
  X(AveragePoolGrad)                     \
  X(GlobalAveragePoolGrad)               \
  /* elementwise */                      \
  X(Relu)                                \
  X(Sigmoid)                             \
  X(Tanh)                                \
  X(Neg)                                 \
  X(Exp)                                 \
  X(Log)                                 \
  X(Sqrt)                                \
  X(Abs)                                 \
  X(Sign)                                \
  X(Reciprocal)                          \
  X(ReluGrad)                            \
  X(SigmoidGrad)                         \
  X(TanhGrad)                            \
  /* broadcasting */                     \
  X(Add)                                 \
  X(Sub)                                 \
  X(Mul)                                 \
  X(Div)                                 \
  /* softmax */                          \
  X(SoftmaxFlattened)                    \
  X(Softmax)                             \
  X(LogSoftmaxFlattened)                 \
  X(LogSoftmax)                          \
  X(SoftmaxGradFlattened)                \
  X(SoftmaxGrad13)                       \
  X(SoftmaxGrad)                         \
  X(LogSoftmaxGradFlattened)             \
  X(LogSoftmaxGrad13)                    \
  /* normalisation */                    \
  X(BatchNormalizationOld)               \
  X(BatchNormalization)                  \
  X(BatchNormInternal)                   \
  X(BatchNormalizationGrad)              \
  X(LayerNormalization)                  \
  X(SimplifiedLayerNormalization)        \
  X(RMSNormalization)                    \
  X(LayerNormalizationGrad)              \
  X(SimplifiedLayerNormalizationGrad)    \
  X(InstanceNormalization)               \
  X(GroupNormalizationByGroup)           \
  X(GroupNormalization)                  \
  X(MeanVarianceNormalization)           \
  X(LpNormalization)                     \
  X(NormalizationGrad)                   \
  X(LRN)                                 \
  X(LRNGrad)                             \
  X(HardmaxFlattened)                    \
  X(Hardmax)                             \
  /* losses */                           \
  X(SoftmaxCrossEntropyLoss)             \
  X(SoftmaxCrossEntropyLossInternal)     \
  X(NegativeLogLikelihoodLoss)           \
  X(SoftmaxCrossEntropyLossGrad)         \
  X(SoftmaxCrossEntropyLossInternalGrad) \
  X(SoftmaxCrossEntropyLossGradPlain)    \
  X(NegativeLogLikelihoodLossGrad)       \
  X(MSELoss)                             \
  X(MSELossGrad)                         \
  X(L1Loss)                              \
  X(L1LossGrad)                          \
  X(HuberLoss)                           \
  X(HuberLossGrad)                       \
  X(BCELoss)                             \
  X(BCELossGrad)                         \
  X(BCEWithLogitsLoss)                   \
  X(BCEWithLogitsLossGrad)               \
  /* updates in place */                 \
  X(InPlaceAccumulatorV2)                \
  X(SGD)                                 \
  X(SGDMicrosoft)                        \
  X(SGDOptimizer)

namespace tessera::ops::defined {

#define X(name) extern const Operator name;
TESSERA_OPERATORS(X)
#undef X

}  // namespace tessera::ops::defined
