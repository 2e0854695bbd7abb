// The networks of the zoo, layer by layer. Each takes a batch and returns what the network makes of its input.
//
//   Layers l(graph, 1);   graph.outputs = {resnet8(l, 4)};      input f32[4,3,32,32] -> scores f32[4,10]
#pragma once

#include <vector>

#include "train/zoo_layers.hpp"

namespace tessera::train {

TensorId perceptron(Layers& l, int64_t batch, const std::vector<int64_t>& widths);
TensorId autoencoder(Layers& l, int64_t batch);
TensorId dscnn(Layers& l, int64_t batch);
TensorId resnet8(Layers& l, int64_t batch);
TensorId mobilenetv1(Layers& l, int64_t batch);

// The compact convolutional transformer CCT-2/3x2 on square images, and its parts on `tokens` of that width.
TensorId cct(Layers& l, int64_t batch, int64_t image, int64_t width);
TensorId attention_block(Layers& l, int64_t batch, int64_t tokens, int64_t width);
TensorId encoder_block(Layers& l, int64_t batch, int64_t tokens, int64_t width);

}  // namespace tessera::train
