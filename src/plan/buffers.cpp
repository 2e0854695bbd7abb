#include "plan/buffers.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>

namespace tessera::plan {

namespace {

// Of the core that controls, measured: a call of a kernel with its arguments, a command and its wait; a request to the
// external RAM passes the fabric controller. Most of it is code that the caches have forgotten, the kernels' with it.
constexpr double kTileOverhead = 400, kTransferOverhead = 70, kRequestOverhead = 270;
// All of it takes so many times as long with the stack in L2.
constexpr double kFarStack = 2;

// Of that, what transfers may count on to hide under: measured again, without what the caches forget.
// Kernels and transfers are in each other's way at the banks of L1.
constexpr double kSureOverhead = 0.4, kUnderKernels = 1.15;

// Of the time of transfers, what may be seen of them beyond what max(compute, transfers) makes unavoidable.
constexpr double kShownShare = 0.08;

// Rows that the cores move, measured: a call with its formulas and with code that the caches have forgotten, its own
// and then the kernel's; a line; and bytes a cycle. A tile that is put together takes a longer call, and some of what
// is kept is moved twice, aside and back.
constexpr double kKeepOverhead = 600, kPutOverhead = 900, kMovedAside = 1.25, kMovedLine = 4, kMovedRate = 12;

// The share of tiles that come after a neighbour.
double following(const Sliding& slides) {
  return static_cast<double>(slides.tiles - 1) / static_cast<double>(slides.tiles);
}

double moving_cycles(double bytes, double lines) {
  return bytes / kMovedRate + lines * kMovedLine;
}

}  // namespace

Buffers::Buffers(const TilingProblem& p, const std::vector<Traveller>& travellers, const std::vector<TileLevel>& nest,
                 const Loops& loops, double kernels)
    : nest_(nest),
      travellers_(travellers.size()),
      kernels_(kernels),
      tiles_(static_cast<double>(loops.total())),
      control_(p.far_stacks ? kFarStack : 1) {
  const auto near = static_cast<int>(nest.size()) - 1;
  if (p.l2.engine) queue_ = p.l2.engine->in_flight;
  near_queue_ = p.l1.engine->in_flight;
  const bool carry = carried(p, nest.back().tile);
  if (carry) kernels_ = 0;
  for (size_t i = 0; i < travellers.size(); ++i) {
    auto& t = travellers[i];
    const bool far = passes_l2(t) && near > 0;
    for (int level = near; level >= 0; --level) {
      Lane lane{.traveller = i, .l1 = level == near, .both = t.in && t.out};
      if (lane.l1 ? !passes_l1(t) : !far) continue;
      auto& tile = nest[static_cast<size_t>(level)].tile;
      auto& floor = lane.l1 ? p.l1 : p.l2;
      lane.slot = slot_size(t, tile, floor);
      if (t.scratch < 0) {
        auto around = lane.l1 && far ? extents(*t.map, nest[0].tile) : t.map->view;
        auto print = footprint(*t.map, tile, around);
        auto every = period(*t.map, loops, level);
        lane.turns = tiles_ / static_cast<double>(every);
        if (t.in) lane.in = transfer_cycles(print, t.element_size, *floor.engine, Way::In);
        if (t.out) lane.out = transfer_cycles(print, t.element_size, *floor.engine, Way::Out);
        lane.overhead = lane.turns * (lane.l1 ? kTransferOverhead : kRequestOverhead) *
                        static_cast<double>(print.commands + 1) * (lane.both ? 2 : 1);
        lane.under_transfers = lane.l1 && !lane.both && t.home == kL2;
        if (carry && lane.l1 && t.output == 0) {
          auto& came = lanes_[*carried_];
          came.out = lane.out;
          came.overhead += lane.overhead;
          goes_on_ = i;
          continue;
        }
        if (carry && lane.l1 && t.input == 0) carried_ = lanes_.size(), lane.under_transfers = false;
        if (every < loops.total()) movers_ |= 1u << lanes_.size();
      }
      lanes_.push_back(lane);
      if (!t.in || t.out || t.scratch >= 0) continue;
      if (!lane.l1)
        add_kept(lane, p, t, loops);
      else if (!carry)
        add_shared(lane, p, t, loops, far ? extents(*t.map, nest[0].tile) : t.map->view);
    }
  }
}

void Buffers::add_kept(Lane lane, const TilingProblem& p, const Traveller& t, const Loops& loops) {
  const auto slides = sliding(p.map, *t.map, loops);
  if (!slides) return;
  const auto own = own_extents(*slides, extents(*t.map, loops.tile[0]));
  lane.slot = slot_for(own, t.element_size, p.l2);
  lane.in = transfer_cycles(footprint(own, t.map->view), t.element_size, *p.l2.engine, Way::In);
  const double back = lane.turns * following(*slides);
  lane.overhead += kTransferOverhead * back * static_cast<double>(slides->reaching * (2 * slides->runs - 1));
  lanes_.back().kept = static_cast<int>(kept_.size());
  kept_.push_back({lane, *slides});
}

// What a tile keeps, the cores move. The rest comes to its place, by a command for every line, because engines leave no
// gaps in L1; and where that would be more than one and there are two slots, dense to the other, and the cores move
// that as well: who asks for many lines waits until the engine, which serves in order, has done what it was asked
// before.
void Buffers::add_shared(Lane lane, const TilingProblem& p, const Traveller& t, const Loops& loops,
                         const Shape& around) {
  if (p.halos == Halos::Fetch) return;
  const auto slides = sliding_within(p.map, *t.map, loops);
  if (!slides) return;
  const auto all = extents(*t.map, loops.tile.back()), own = own_extents(*slides, all);
  const auto row = footprint(all, around).elements / all[slides->axis] * t.element_size;
  const auto lines = static_cast<double>(slides->runs);
  const auto keep = moving_cycles(static_cast<double>(slides->shared() * row), lines);
  const auto put = moving_cycles(static_cast<double>(slides->most * row), lines);
  auto add = [&](const Footprint& rest, double overhead, bool dense) {
    auto one = lane;
    one.overhead += lane.turns * following(*slides) * overhead;
    one.in += following(*slides) * (transfer_cycles(rest, t.element_size, *p.l1.engine, Way::In) - lane.in);
    kept_.push_back({one, *slides, dense});
    return static_cast<int>(kept_.size()) - 1;
  };
  auto rest = footprint(own, around);
  const auto more = slides->runs - rest.commands;
  if (more > 0) lanes_.back().dense = add(rest, kPutOverhead + kMovedAside * keep + put, true);
  rest.commands = std::max(rest.commands, slides->runs);
  lanes_.back().kept =
      add(rest, kKeepOverhead + keep + kTransferOverhead * static_cast<double>(std::max<int64_t>(0, more)), false);
}

// The slot of the tile before is there until the last inner tile that reaches back has come; only then is the tile
// after asked for, and that must be before an inner one is fetched from it, ahead of its time.
bool Buffers::keeps(size_t lane, uint32_t twice) const {
  if (lanes_[lane].kept < 0) return false;
  const auto& slides = kept_[static_cast<size_t>(lanes_[lane].kept)].sliding;
  return lanes_[lane].l1 || ((twice >> lane & 1) && slides.reached < ahead(lane, twice));
}

int Buffers::kept(size_t lane, uint32_t twice) const {
  if (!keeps(lane, twice)) return -1;
  return (twice >> lane & 1) && lanes_[lane].dense >= 0 ? lanes_[lane].dense : lanes_[lane].kept;
}

// The step of an outer tile's turn in which the first inner tile of the next one is fetched.
int64_t Buffers::ahead(size_t far, uint32_t twice) const {
  return std::llround(tiles_ / lanes_[far].turns) - (twice >> (far - 1) & 1 ? 1 : 0);
}

// Tiles that keep what they share are asked for that much later in the turn before theirs.
double Buffers::asked_late(uint32_t twice, double kernel) const {
  double most = 0;
  for (size_t i = 0; i < lanes_.size(); ++i)
    if (!lanes_[i].l1 && keeps(i, twice)) {
      auto& [lane, slides, dense] = kept_[static_cast<size_t>(lanes_[i].kept)];
      most = std::max(most, (lane.turns - 2) * static_cast<double>(slides.reached + 1) * kernel);
    }
  return most;
}

uint32_t Buffers::keepers(uint32_t twice) const {
  uint32_t found = 0;
  for (size_t i = 0; i < lanes_.size(); ++i)
    if (!lanes_[i].l1 && keeps(i, twice)) found |= 1u << lanes_[i].traveller;
  return found;
}

// What comes from L3 has its next tile on its way, and the one after that where L1 has one slot, which waits for it at
// the last moment; of what goes, two tiles may be. Between L2 and L1, every slot may be on its way.
bool Buffers::queue_holds(uint32_t twice) const {
  int requests = 0, near = 0;
  for (size_t i = 0; i < lanes_.size(); ++i) {
    if (lanes_[i].l1) {
      near += ((lanes_[i].in > 0) + (lanes_[i].out > 0)) * (twice >> i & 1 ? 2 : 1);
      continue;
    }
    const bool two = twice >> i & 1, behind = i > 0 && lanes_[i - 1].traveller == lanes_[i].traveller;
    const bool early = behind && (twice >> (i - 1) & 1);
    if (lanes_[i].in > 0) requests += two && !early ? 2 : 1;
    if (lanes_[i].out > 0) requests += two ? 2 : 1;
  }
  return requests <= queue_ && near <= near_queue_;
}

// Two slots in which tiles come and go on are of use only where they can come from the next outer tile, and go to it,
// while this one is there.
bool Buffers::carries_on(uint32_t twice) const {
  if (!carried_ || !(twice >> *carried_ & 1)) return true;
  for (size_t i = 0; i < lanes_.size(); ++i)
    if (!lanes_[i].l1 && ((movers_ & ~twice) >> i & 1)) return false;
  return true;
}

// Every set while few lanes move; else all, all but one, all of a hop, none. More than the engine's queue holds is none
// of them.
std::vector<uint32_t> Buffers::choices() const {
  constexpr int kFew = 4;
  std::vector<uint32_t> out{movers_};
  if (std::popcount(movers_) <= kFew) {
    while (out.back() != 0) out.push_back((out.back() - 1) & movers_);
  } else {
    uint32_t near = 0;
    for (size_t i = 0; i < lanes_.size(); ++i) {
      if (movers_ >> i & 1) out.push_back(movers_ & ~(1u << i));
      if (lanes_[i].l1) near |= 1u << i;
    }
    if (auto hop = movers_ & near; hop != 0 && hop != movers_) out.insert(out.end(), {hop, movers_ & ~near});
    out.push_back(0);
  }
  std::erase_if(out, [&](uint32_t twice) { return twice != 0 && !(queue_holds(twice) && carries_on(twice)); });
  return out;
}

// Both directions of the cluster's engine run at once, those of the external bus in turn; what is double buffered runs
// under the kernels, the rest between them.
Buffers::Cost Buffers::cost(uint32_t twice) const {
  Cost cost;
  double overhead = carried_ ? 0 : tiles_ * kTileOverhead, serial = 0;
  struct Both {
    double in = 0, out = 0;
    void add(const Lane& lane, double turns) { in += turns * lane.in, out += turns * lane.out; }
    void add(const Lane& lane) { add(lane, lane.turns - 1); }
    double together() const { return std::max(in, out) + 0.15 * std::min(in, out); }
  } near, far, alone;  // overlapped with compute, by hop; with each other only
  Both engine[2];      // all that they do, by hop
  for (size_t i = 0; i < lanes_.size(); ++i) {
    auto& lane = this->lane(i, twice);
    const bool two = twice >> i & 1;
    // The bus is slow: were the slots of an in-place operand shared, nothing could come before the last had gone.
    const int slots = (two ? 2 : 1) * (two && !lane.l1 && lane.both ? 2 : 1);
    (lane.l1 ? cost.l1_bytes : cost.l2_bytes) += lane.slot * slots;
    overhead += lane.overhead;
    cost.head += lane.l1 ? lanes_[i].in : lane.in;  // the first tile of L1 keeps nothing
    cost.tail += lane.out;
    engine[lane.l1].add(lane, lane.turns);
    if (two)
      (lane.l1 ? near : far).add(lane);
    else if (lane.under_transfers)
      alone.add(lane);
    else
      serial += (lane.turns - 1) * (lane.in + lane.out + at_each_turn(i, twice));
  }
  overhead *= control_;
  cost.busy = kernels_ + overhead;
  cost.compute = kernels_ + kSureOverhead * overhead;
  cost.sure = cost.compute / kUnderKernels;
  const double kernel = cost.busy / tiles_;
  cost.cycles = cost.head + serial + alone.together() +
                std::max({cost.busy + second_tiles(twice, kernel), near.together(),
                          far.in + far.out + idle_bus(twice, kernel) + asked_late(twice, kernel)}) +
                cost.tail;
  const double moving = std::max(engine[1].together(), engine[0].in + engine[0].out);
  cost.moving = moving;
  cost.allowed = kShownShare * moving + std::max(0.0, moving - cost.compute);
  cost.shown = std::max(0.0, cost.cycles - cost.busy - cost.allowed);
  return cost;
}

// A tile goes on to a second slot of L1 before the kernel of the one before it, and what was made leaves L2 after the
// next kernel: at either end, the second tiles between L3 and L2 have only what kernels are left to hide under.
double Buffers::second_tiles(uint32_t twice, double kernel) const {
  std::map<double, double> needed, made;  // by the number of kernels that are left: cycles of the bus
  for (size_t i = 1; i < lanes_.size(); ++i) {
    auto& lane = this->lane(i, twice);
    if (lane.l1 || !(twice >> i & 1) || lanes_[i - 1].traveller != lane.traveller) continue;
    const double every = tiles_ / lane.turns;
    const bool early = twice >> (i - 1) & 1;
    if (lane.in > 0) needed[every - (early ? 1 : 0)] += lane.in;
    if (lane.out > 0 && !lane.both) made[every - 1] += lane.out;
  }
  double waits = 0;
  for (auto* end : {&needed, &made}) {
    double most = 0, bus = 0;
    for (auto& [kernels, cycles] : *end) most = std::max(most, (bus += cycles) - kernels * kernel);
    waits += most;
  }
  return waits;
}

// Where nothing comes from L3, the bus to it stands still until the first outer tile is made. (Where nothing goes
// there, what the next operator fetches comes while the last one is used.)
double Buffers::idle_bus(uint32_t twice, double kernel) const {
  double least = std::numeric_limits<double>::infinity();  // kernels of an outer tile that goes
  for (size_t i = 0; i < lanes_.size(); ++i) {
    auto& lane = lanes_[i];
    if (lane.l1 || !(twice >> i & 1)) continue;
    if (lane.in > 0) return 0;
    least = std::min(least, tiles_ / lane.turns);
  }
  return std::isinf(least) ? 0 : least * kernel;
}

// With one slot in L2, nothing goes on to L1 before the next tile has come, and that comes when the last has left L1.
double Buffers::at_each_turn(size_t far, uint32_t twice) const {
  if (lanes_[far].l1 || far == 0 || lanes_[far - 1].traveller != lanes_[far].traveller) return 0;
  auto& near = lanes_[far - 1];
  return twice >> (far - 1) & 1 ? near.in + near.out : 0;
}

Tiling Buffers::tiling(uint32_t twice, const Cost& cost, bool as_asked) const {
  Tiling out{.nest = nest_, .l1 = std::vector<Slots>(travellers_), .l2 = std::vector<Slots>(travellers_)};
  for (size_t i = 0; i < lanes_.size(); ++i) {
    auto& lane = this->lane(i, twice);
    const bool two = twice >> i & 1;
    const auto k = kept(i, twice);
    const auto* dense = k >= 0 && kept_[static_cast<size_t>(k)].dense ? &kept_[static_cast<size_t>(k)] : nullptr;
    (lane.l1 ? out.l1 : out.l2)[lane.traveller] = {.count = two ? 2 : 1,
                                                   .size = lane.slot,
                                                   .apart = two && !lane.l1 && lane.both,
                                                   .in = lane.in,
                                                   .out = lane.out,
                                                   .turns = lane.turns,
                                                   .keeps = k >= 0,
                                                   .run = dense ? dense->sliding.tiles : 0};
  }
  for (size_t i = 0; i < lanes_.size(); ++i)
    if (auto& lane = lanes_[i]; lane.l1 && (twice >> i & 1) && lane.out == 0) out.free_at_last += lane.slot;
  out.carried = carried_.has_value();
  if (carried_) out.l1[goes_on_] = out.l1[lanes_[*carried_].traveller];
  out.cycles = cost.cycles, out.shown = cost.shown, out.head = cost.head, out.tail = cost.tail;
  out.waits = cost.cycles - cost.busy - cost.head - cost.tail, out.allowed = cost.allowed;
  out.first = out.last = cost.sure / tiles_;
  out.quiet = out.sure = cost.sure;
  double asked = 0;  // and still to come
  for (size_t i = 0; i < lanes_.size(); ++i) {
    auto& lane = lanes_[i];
    if (!lane.l1 || lane.in == 0 || lane.turns == 1) continue;
    const bool two = twice >> i & 1;
    out.quiet = std::min(out.quiet, cost.sure / lane.turns * (two ? 2 : 1));
    if (two) asked += lane.in;
  }
  out.quiet = std::max(0.0, out.quiet - asked);
  out.moving = cost.moving, out.compute = cost.compute;
  out.l1_bytes = cost.l1_bytes, out.l2_bytes = cost.l2_bytes;
  out.as_asked = as_asked;
  out.tiles = static_cast<int64_t>(tiles_);
  return out;
}

}  // namespace tessera::plan
