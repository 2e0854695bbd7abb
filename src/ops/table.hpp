// The explicit table: every operator is declared and listed here, and nowhere else. A file of src/ops includes this
// header and defines its operators under the names below:
//
//   X(Gemm)      and in gemm.cpp:      const Operator Gemm{.domain = "", .type = "Gemm", .since = 7, ...};
#pragma once

#include "ops/operator.hpp"

// Families whose files list their functions themselves.
#define TESSERA_UNARY_OPERATORS(X) \
  X(Relu)                          \
  X(Neg)                           \
  X(Abs)                           \
  X(Sign)                          \
  X(Sqrt)                          \
  X(Reciprocal)                    \
  X(Floor)                         \
  X(Ceil)                          \
  X(Round)                         \
  X(LeakyRelu)                     \
  X(ThresholdedRelu)               \
  X(HardSigmoid)                   \
  X(HardSwish)                     \
  X(Softsign)                      \
  X(IsNaN)                         \
  X(IsInf)                         \
  X(Not)                           \
  X(Exp)                           \
  X(Log)                           \
  X(Sigmoid)                       \
  X(Tanh)                          \
  X(Erf)                           \
  X(Softplus)                      \
  X(Elu)                           \
  X(Celu)                          \
  X(Selu)                          \
  X(Swish)                         \
  X(QuickGelu)                     \
  X(Mish)                          \
  X(Sin)                           \
  X(Cos)                           \
  X(Tan)                           \
  X(Asin)                          \
  X(Acos)                          \
  X(Atan)                          \
  X(Sinh)                          \
  X(Cosh)                          \
  X(Asinh)                         \
  X(Acosh)                         \
  X(Atanh)
#define TESSERA_UNARY_GRADIENTS(X) \
  X(ReluGrad)                      \
  X(SigmoidGrad)                   \
  X(TanhGrad)                      \
  X(LeakyReluGrad)                 \
  X(ThresholdedReluGrad)           \
  X(HardSigmoidGrad)               \
  X(HardSwishGrad)                 \
  X(SoftsignGrad)                  \
  X(ErfGrad)                       \
  X(SoftplusGrad)                  \
  X(EluGrad)                       \
  X(CeluGrad)                      \
  X(SeluGrad)                      \
  X(SwishGrad)                     \
  X(QuickGeluGrad)                 \
  X(MishGrad)                      \
  X(GeluGrad)                      \
  X(FastGeluGrad)                  \
  X(SinGrad)                       \
  X(CosGrad)                       \
  X(TanGrad)                       \
  X(AsinGrad)                      \
  X(AcosGrad)                      \
  X(AtanGrad)                      \
  X(SinhGrad)                      \
  X(CoshGrad)                      \
  X(AsinhGrad)                     \
  X(AcoshGrad)                     \
  X(AtanhGrad)
#define TESSERA_BINARY_OPERATORS(X) \
  X(Add)                            \
  X(Sub)                            \
  X(Mul)                            \
  X(Div)                            \
  X(Mod)                            \
  X(Pow)                            \
  X(Max)                            \
  X(Min)                            \
  X(PRelu)                          \
  X(BiasGelu)                       \
  X(FastGelu)                       \
  X(PReluSlope)                     \
  X(ModSlope)                       \
  X(PowBaseSlope)                   \
  X(PowExponentSlope)               \
  X(Equal)                          \
  X(Greater)                        \
  X(GreaterOrEqual)                 \
  X(Less)                           \
  X(LessOrEqual)                    \
  X(And)                            \
  X(Or)                             \
  X(Xor)

#define TESSERA_REDUCTIONS(X) \
  X(ReduceSum)                \
  X(ReduceMean)               \
  X(ReduceMax)                \
  X(ReduceMin)                \
  X(ReduceProd)               \
  X(ReduceL1)                 \
  X(ReduceL2)                 \
  X(ReduceLogSum)             \
  X(ReduceLogSumExp)          \
  X(ReduceSumSquare)          \
  X(ReduceSumTraining)

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
  X(Put)                                 \
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
  TESSERA_REDUCTIONS(X)                  \
  X(ReduceExtremumGrad)                  \
  X(ArgMax)                              \
  X(ArgMin)                              \
  X(CumSum)                              \
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
  TESSERA_UNARY_OPERATORS(X)             \
  X(Gelu)                                \
  X(GeluMicrosoft)                       \
  TESSERA_UNARY_GRADIENTS(X)             \
  X(Clip)                                \
  X(ClipOld)                             \
  X(ClipGrad)                            \
  X(Cast)                                \
  X(CastLike)                            \
  X(Dropout)                             \
  X(DropoutOld)                          \
  /* broadcasting */                     \
  TESSERA_BINARY_OPERATORS(X)            \
  X(Where)                               \
  X(BiasGeluGrad_dX)                     \
  X(BiasFastGeluGrad_dX)                 \
  X(Sum)                                 \
  X(Mean)                                \
  X(DivGrad)                             \
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
  X(SGDOptimizer)                        \
  X(SGDOptimizerV2)                      \
  X(AdamWOptimizer)                      \
  X(Momentum)                            \
  X(Adagrad)                             \
  X(Adam)                                \
  X(Increment)

namespace tessera::ops::defined {

#define X(name) extern const Operator name;
TESSERA_OPERATORS(X)
#undef X

}  // namespace tessera::ops::defined
