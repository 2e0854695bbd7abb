// What of a prompt's cache finds no room goes back to the host. Which regions, and when, is replayed for all layers
// with the residency manager that whole runs have; what the wire then makes wait follows from what else it has to
// bring.
//
//   times.end(what goes back) - times.end({})     seconds that a prompt takes longer for it
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tessera::accel {

struct WriteBack {
  int64_t layer = 0;  // that needs the room; the number of layers: the results at the end do
  uint64_t bytes = 0;
};

// A prompt with room for its cache, in seconds.
struct PromptTimes {
  struct Layer {
    double seconds = 0, made = 0;  // made: from its beginning until it stores K and V
  };
  std::vector<Layer> layers;
  double head = 0;
  double tables = 0;                     // of the wire, at the beginning
  double weights = 0, head_weights = 0;  // of the wire, for each layer and for the head
  double tail = 0;                       // of a layer, once its weights are there
  double link_rate = 0;                  // bytes a second
  bool host_waits = false;               // for scores, after everything else on the wire

  double end(std::span<const WriteBack> backs) const;
};

}  // namespace tessera::accel
