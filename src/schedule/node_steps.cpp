#include "schedule/node_steps.hpp"

#include <algorithm>

namespace tessera::schedule {

Section NodeSteps::section(NodeSteps* before, NodeSteps* after, Next next) {
  if (plan_.nest.empty()) {
    if (before)
      for (auto until : {Until::FirstKernel, Until::End})
        before->wait_late(until, *this, section_.variables, section_.body);
    if (after)
      for (bool far : {true, false})
        after->issue_early([&](auto& way) { return way.far_away == far; }, section_.variables, section_.body);
    section_.body.push_back({kernel(0, steps_->whole())});
  } else {
    tile_loop(before, after);
  }
  if (after && next == Next::InAnotherEntry) after->wait_early(section_.variables, section_.body);
  return std::move(section_);
}

namespace {

bool from_far(const Way& way) {
  return way.far_away;
}

}  // namespace

void NodeSteps::tile_loop(NodeSteps* before, NodeSteps* after) {
  auto& body = section_.body;
  prologue(body);
  // What comes from far away is asked for a whole node ahead, but not before what this one needs.
  if (after && last_from_far() < 0) after->issue_early(from_far, section_.variables, body);
  if (total() == 1) {
    step(0, steps_->at(0, "", body), before, after, body);
  } else {
    auto t = steps_->new_variable("t");
    Block inside;
    auto tiles = steps_->at(Expr::var(t), "", inside);
    step(Expr::var(t), tiles, before, after, inside);
    body.push_back({Loop{t, total(), std::move(inside)}});
  }
  epilogue(body);
  if (before) before->wait_late(Until::End, *this, section_.variables, body);
  drop_unused(body);
}

// What is fetched once is fetched here, and the first tile of everything that is fetched ahead: from the outside in.
void NodeSteps::prologue(Block& body) {
  auto first = steps_->at(0, "", body);
  for (int level = 0; level <= innermost(); ++level) {
    for (auto& way : ways_)
      if (way.in() && way.level == level && starts_before(way) && !way.early) fetch(way, 0, first, body);
    for (auto& way : ways_)
      if (way.in() && way.level == level && way.deep)
        fetch(way, way.period, steps_->at(way.period, "next_", body), body);
  }
  for (auto& way : ways_)
    if (way.in() && way.level == innermost() && way.resident() && !way.here) wait(way, 0, first, body);
}

void NodeSteps::step(const Expr& t, const TileBoxes& tiles, NodeSteps* before, NodeSteps* after, Block& body) {
  for (int level = 0; level <= innermost(); ++level) fetch_now(level, t, tiles, body);
  for (int level = 0; level <= innermost(); ++level) fetch_ahead(level, t, false, body);
  arrive(t, tiles, body);
  put_together(t, tiles, body);
  fetch_ahead(innermost(), t, true, body);
  keep_ahead(t, tiles, body);
  fetch_far(t, body);
  if (after && last_from_far() >= 0) {
    Block ahead;
    after->issue_early(from_far, section_.variables, ahead);
    guard(equal(t, last_from_far()), std::move(ahead), body);
  }
  free_slots(t, body);
  // What is there comes when this node has asked for its own last tile, or at once where that is too late; what it
  // makes itself comes under its last kernel.
  for (bool now : {true, false}) {
    Block next;
    auto which = [&](auto& way) { return !way.far_away && ready(way, before, *after) == now; };
    if (after) after->issue_early(which, section_.variables, next);
    guard(equal(t, !now ? total() - 1 : plan_.at_once ? 0 : last_from_near()), std::move(next), body);
  }
  Block last;
  body.push_back({kernel(t, tiles.back())});
  if (before) before->wait_late(Until::FirstKernel, *this, section_.variables, last);
  guard(equal(t, 0), std::move(last), body);
  send_far(t, body);
  for (int level = innermost(); level >= 0; --level) write_back(level, t, tiles, body);
}

// Ways whose tiles change together stand under one condition.
template <class Which, class Each>
void NodeSteps::by_period(Which which, Each each) {
  std::vector<std::pair<int64_t, int64_t>> seen;
  for (auto& way : ways_) {
    if (way.resident() || !which(way) || std::ranges::count(seen, std::pair{way.period, span(way)})) continue;
    seen.emplace_back(way.period, span(way));
    std::vector<const Way*> group;
    for (auto& other : ways_)
      if (!other.resident() && which(other) && other.period == way.period && span(other) == span(way))
        group.push_back(&other);
    each(way.period, span(way), group);
  }
}

// The step in which the last tile from far away is asked for; -1 where that is before the first.
int64_t NodeSteps::last_from_far() const {
  int64_t last = -1;
  for (auto& way : ways_) {
    if (!way.in() || !way.far_away || way.resident() || (way.deep && way.times == 2)) continue;
    const auto asked = way.sliding ? way.sliding->reached : -1;  // of the turn after the one that frees the slot
    last = std::max(last, way.deep ? total() - 2 * way.period + asked : total() - (way.doubled() ? 2 : 1) * way.period);
  }
  return last;
}

// The step in which the last tile of L1 is asked for: an engine serves in order, and what comes for the next node would
// stand before it.
int64_t NodeSteps::last_from_near() const {
  int64_t last = 0;
  for (auto& way : ways_) {
    if (!way.in() || way.far_away || way.resident()) continue;
    last = std::max(last, total() - (!way.doubled() ? way.period : tardy(way) ? 1 : 2 * way.period));
  }
  return last;
}

// A tile for the next turn of the outer slots can be fetched before this turn is over only if both turns are there;
// what is updated in place comes back to the outer slot first.
bool NodeSteps::ahead_across(const Way& way) const {
  if (way.outer < 0) return true;
  auto& outer = ways_[static_cast<size_t>(way.outer)];
  return outer.resident() || (outer.doubled() && outer.partner < 0);
}

// Whether its first tile is fetched before the loop: it stays, or the loop fetches ahead, here or further in.
bool NodeSteps::starts_before(const Way& way) const {
  if (way.resident() || way.doubled()) return true;
  return std::ranges::any_of(ways_, [&](auto& inner) {
    return inner.in() && inner.outer >= 0 && &ways_[static_cast<size_t>(inner.outer)] == &way && starts_before(inner);
  });
}

// What passes through an outer slot is there only when that has arrived.
void NodeSteps::fetch(const Way& way, const Expr& step, const TileBoxes& tiles, Block& body) {
  if (way.outer >= 0) {
    auto& outer = ways_[static_cast<size_t>(way.outer)];
    Block arrived;
    wait(outer, step / outer.period, tiles, arrived);
    guard(outer.resident() ? equal(step, 0) : equal(step % outer.period, 0), std::move(arrived), body);
  }
  issue(way, step, tiles, body);
}

void NodeSteps::fetch_now(int level, const Expr& t, const TileBoxes& tiles, Block& body) {
  by_period([&](auto& way) { return way.in() && way.level == level && !way.doubled(); },
            [&](int64_t period, int64_t, auto& group) {
              Block now;
              for (auto* way : group) {
                keep_now(*way, t, tiles, now);
                Block one;
                fetch(*way, t, tiles, one);
                guard(way->early || starts_before(*way) ? less(0, t) : Expr(1), std::move(one), now);
              }
              guard(equal(t % period, 0), std::move(now), body);
            });
  by_period([&](auto& way) { return way.in() && way.level == level && way.doubled() && !ahead_across(way); },
            [&](int64_t, int64_t span, auto& group) {
              Block now;
              for (auto* way : group) fetch(*way, t, tiles, now);
              guard(both(equal(t % span, 0), less(0, t)), std::move(now), body);
            });
}

// (`dense`: what comes to a slot of which something was put in place before.)
void NodeSteps::fetch_ahead(int level, const Expr& t, bool dense, Block& body) {
  for (bool across : {true, false})
    by_period(
        [&](auto& way) {
          return way.in() && way.level == level && way.dense == dense && way.doubled() && !way.deep && !tardy(way) &&
                 ahead_across(way) == across;
        },
        [&](int64_t period, int64_t span, auto& group) {
          Expr local = span == total() ? t : t % span;
          if (!across && period == span) return;
          auto within = across ? less(t + period, total()) : less(local + period, span);
          Block ahead;
          fetch_next(group, t + period, t, less(period - 1, across ? t : local), ahead);
          guard(both(equal(t % period, 0), within), std::move(ahead), body);
        });
  by_period(
      [&](auto& way) { return way.in() && way.level == level && way.dense == dense && way.doubled() && tardy(way); },
      [&](int64_t period, int64_t span, auto& group) {
        Block ahead;
        // What an outer slot sent home was waited for when that slot left.
        auto open = both(less(period - 1, t), less(0, t / period % (span / period)));
        fetch_next(group, t + 1, t, open, ahead);
        guard(both(equal(t % period, period - 1), less(t + 1, total())), std::move(ahead), body);
      });
}

// An in-place slot is free again only when what was written back from it has left; `open` where that is still to be
// seen.
void NodeSteps::fetch_next(const std::vector<const Way*>& group, const Expr& then, const Expr& t, const Expr& open,
                           Block& body) {
  Block old;
  auto period = group[0]->period;
  auto before = steps_->at(t - period, "old_", old);
  for (auto* way : group)
    if (way->partner >= 0) wait(ways_[static_cast<size_t>(way->partner)], t / period - 1, before, old);
  drop_unused(old);
  guard(open, std::move(old), body);
  auto next = steps_->at(then, "next_", body);
  for (auto* way : group) fetch(*way, then, next, body);
}

void NodeSteps::arrive(const Expr& t, const TileBoxes& tiles, Block& body) {
  by_period([&](auto& way) { return way.in() && way.level == innermost(); },
            [&](int64_t period, int64_t, auto& group) {
              Block now;
              for (auto* way : group) {
                Block one;
                wait(*way, t / period, tiles, one);
                guard(way->here ? less(0, t) : Expr(1), std::move(one), now);
              }
              guard(equal(t % period, 0), std::move(now), body);
            });
}

// When the last tile that an outer slot holds has gone inwards, the slot is free: its next tile but one may come, and
// has the time of a whole turn for that. A slot that the turn after reaches back to is free when that has been done.
void NodeSteps::fetch_far(const Expr& t, Block& body) {
  for (auto& way : ways_) {
    if (!way.in() || !way.deep || !way.sliding) continue;
    Block now;
    Expr then = t + (way.period - way.sliding->reached);
    fetch(way, then, steps_->at(then, "far_", now), now);
    auto when = both(equal(t % way.period, way.sliding->reached), less(way.period - 1, t));
    guard(both(when, less(then, total())), std::move(now), body);
  }
  by_period([](auto& way) { return way.in() && way.deep && !way.sliding; },
            [&](int64_t period, int64_t, auto& group) {
              Block now;
              Expr then = t + (1 + period);
              auto next = steps_->at(then, "far_", now);
              for (auto* way : group) fetch(*way, then, next, now);
              guard(both(equal((t + 1) % period, 0), less(then, total())), std::move(now), body);
            });
}

// An outer slot that was filled in the turn before leaves under this turn's kernels, not before them: by now all of it
// has come out of the near memory. Before the first tile of this turn comes out, what stood in its slot has left.
void NodeSteps::send_far(const Expr& t, Block& body) {
  by_period([](auto& way) { return !way.in() && way.deep; },
            [&](int64_t period, int64_t, auto& group) {
              Block now;
              auto filled = steps_->at(t - 1, "far_", now);
              for (auto* way : group) {
                for (auto& inner : ways_) {
                  if (inner.in() || !inner.doubled() || inner.outer < 0) continue;
                  if (&ways_[static_cast<size_t>(inner.outer)] != way) continue;
                  Block out;
                  wait(inner, (t - 1) / inner.period, filled, out);
                  // In place, its slot was needed for the next tile, as long as there was one.
                  guard(inner.partner < 0 || tardy(inner) ? Expr(1) : equal(t, total() - inner.period), std::move(out),
                        now);
                }
                issue(*way, t - 1, filled, now);
              }
              guard(both(equal(t % period, 0), less(0, t)), std::move(now), body);
            });
  for (auto& inner : ways_) {
    if (inner.in() || !under_deep(inner)) continue;
    auto& way = ways_[static_cast<size_t>(inner.outer)];
    Block now;
    wait(way, t / way.period - 2, steps_->at(t - 2 * way.period, "old_", now), now);
    guard(both(equal(t % way.period, inner.period - 1), less(2 * way.period - 1, t)), std::move(now), body);
  }
}

// A slot that was written back two turns ago may be written again once that has left.
void NodeSteps::free_slots(const Expr& t, Block& body) {
  // What passes through a deep slot was waited for when that slot left.
  by_period([&](auto& way) { return !way.in() && way.doubled() && way.partner < 0 && under_deep(way); },
            [&](int64_t period, int64_t span, auto& group) {
              if (period == span) return;
              Block now;
              auto old = steps_->at(t - 2 * period, "old_", now);
              for (auto* way : group) wait(*way, t / period - 2, old, now);
              auto open = both(less(2 * period - 1, t), less(0, (t / period - 1) % (span / period)));
              guard(both(equal(t % period, 0), open), std::move(now), body);
            });
  by_period([&](auto& way) { return !way.in() && way.doubled() && way.partner < 0 && !way.deep && !under_deep(way); },
            [&](int64_t period, int64_t span, auto& group) {
              if (2 * period >= span) return;
              Block now;
              auto old = steps_->at(t - 2 * period, "old_", now);
              for (auto* way : group) wait(*way, t / period - 2, old, now);
              Expr local = span == total() ? t : t % span;
              guard(both(equal(t % period, 0), less(2 * period - 1, local)), std::move(now), body);
            });
  by_period([&](auto& way) { return lazy(way); },
            [&](int64_t period, int64_t, auto& group) {
              Block now;
              auto old = steps_->at(t - period, "old_", now);
              for (auto* way : group) wait(*way, t / period - 1, old, now);
              guard(both(equal(t % period, 0), less(0, t)), std::move(now), body);
            });
}

void NodeSteps::write_back(int level, const Expr& t, const TileBoxes& tiles, Block& body) {
  by_period([&](auto& way) { return !way.in() && way.level == level && !way.deep; },
            [&](int64_t period, int64_t, auto& group) {
              Block now;
              // Engines serve in order: what the next tile of an in-place operand waits for goes before the rest.
              for (bool in_place : {true, false})
                for (auto* way : group)
                  if ((way->partner >= 0) == in_place) send_home(*way, t, tiles, now);
              for (auto* way : group)
                if (!way->doubled() && !lazy(*way)) wait(*way, t / period, tiles, now);
              guard(equal(t % period, period - 1), std::move(now), body);
            });
}

// An outer slot leaves when everything that came to it from inside has arrived.
void NodeSteps::send_home(const Way& way, const Expr& t, const TileBoxes& tiles, Block& body) {
  for (auto& inner : ways_) {
    if (inner.in() || inner.outer < 0 || &ways_[static_cast<size_t>(inner.outer)] != &way) continue;
    if (!inner.resident() && !inner.doubled()) continue;
    Expr turn = t / inner.period;
    if (inner.doubled() && way.period >= 2 * inner.period) {
      auto old = steps_->at(t - inner.period, "old_", body);
      wait(inner, turn - 1, old, body);
    }
    wait(inner, turn, tiles, body);
  }
  issue(way, t, tiles, body);
}

void NodeSteps::epilogue(Block& body) {
  auto end = steps_->at(total() - 1, "", body);
  for (int level = innermost(); level >= 0; --level)
    for (auto& way : ways_)
      if (!way.in() && (way.resident() || way.deep) && way.level == level) send_home(way, total() - 1, end, body);
  for (auto& way : ways_)
    if (!way.in() && way.outer < 0 && (way.resident() || way.doubled() || lazy(way)))
      for (auto turn = std::max<int64_t>(0, way.times - way.slot_count); turn < way.first_late(); ++turn)
        wait(way, turn, steps_->at(turn * way.period, "", body), body);
}

template <class Which>
void NodeSteps::issue_early(Which which, std::vector<std::string>& variables, Block& body) {
  if (plan_.nest.empty()) return;
  steps_->speak_in(variables);
  auto first = steps_->at(0, "", body);
  for (auto& way : ways_)
    if (way.early && which(way)) issue(way, 0, first, body);
  steps_->speak_in(section_.variables);
}

bool NodeSteps::ready(const Way& way, const NodeSteps* before, const NodeSteps& after) const {
  if (way.at_last || sends(way.far, false) || (before && before->sends(way.far, true))) return false;
  const int late = before ? before->late(way.engine) : 0;
  return needs(way.engine) + late + after.early(way.engine) <=
         target_.engines[static_cast<size_t>(way.engine)].in_flight;
}

void NodeSteps::wait_early(std::vector<std::string>& variables, Block& body) {
  if (plan_.nest.empty()) return;
  steps_->speak_in(variables);
  auto first = steps_->at(0, "", body);
  for (auto& way : ways_)
    if (way.early) wait(way, 0, first, body), way.here = true;
  steps_->speak_in(section_.variables);
}

// Whether something goes to that home, or may still be on its way when the node has ended.
bool NodeSteps::sends(BufferId home, bool late) const {
  return std::ranges::any_of(
      ways_, [&](auto& way) { return !way.in() && way.outer < 0 && way.far == home && (!late || way.late); });
}

bool NodeSteps::moves(BufferId home) const {
  return std::ranges::any_of(ways_, [&](auto& way) { return way.outer < 0 && way.far == home; });
}

// The bus to L3 is slow: what the node after has nothing to do with may take all of its time.
void NodeSteps::wait_late(Until until, const NodeSteps& after, std::vector<std::string>& variables, Block& body) {
  if (plan_.nest.empty()) return;
  steps_->speak_in(variables);
  for (auto& way : ways_) {
    if (until != (way.far_away && !after.moves(way.far) ? Until::End : Until::FirstKernel)) continue;
    if (way.resident() || way.doubled() || lazy(way))
      for (auto turn = way.first_late(); turn < way.times; ++turn)
        wait(way, turn, steps_->at(turn * way.period, "", body), body);
  }
  steps_->speak_in(section_.variables);
}

}  // namespace tessera::schedule
