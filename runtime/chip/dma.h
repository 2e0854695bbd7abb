/* The cluster's DMA (mchan): a counter for each command, freed by its wait. */
#ifndef TS_CHIP_DMA_H
#define TS_CHIP_DMA_H

#include "chip.h"
#include "profile.h"
#include "rules.h"

enum {
  TS_DMA_COMMAND = 0x00, /* read: takes a counter */
  TS_DMA_STATUS = 0x04,  /* a bit for each busy counter; a written bit frees one */
  TS_DMA_LENGTH_BITS = 17,
  TS_DMA_INCREMENT = 1 << 18,
  TS_DMA_TWO_D = 1 << 19,
  TS_DMA_EVENT = 1 << 20,
};

static inline volatile uint32_t* ts_dma(uint32_t offset) {
  return ts_register(TS_CHIP_DMA + offset);
}

/* What every command begins with. Its counter is kept last: the engine starts as soon as it knows all. */
static inline uint32_t ts_dma_begin(uint32_t ext, uint32_t loc, uint32_t size, pi_cl_dma_dir_e dir, uint32_t flags) {
  const uint32_t counter = *ts_dma(TS_DMA_COMMAND);
  *ts_dma(TS_DMA_COMMAND) = size | (uint32_t)dir << TS_DMA_LENGTH_BITS | TS_DMA_INCREMENT | TS_DMA_EVENT | flags;
  *ts_dma(TS_DMA_COMMAND) = loc;
  *ts_dma(TS_DMA_COMMAND) = ext;
  return counter;
}

TS_DMA_CALL void pi_cl_dma_cmd(uint32_t ext, uint32_t loc, uint32_t size, pi_cl_dma_dir_e dir, pi_cl_dma_cmd_t* cmd) {
  TS_RULE_ISSUE(cmd, loc);
  cmd->id = (uint8_t)ts_dma_begin(ext, loc, size, dir, 0);
  TS_RULE_NOTE(cmd->loc, loc);
}

TS_DMA_CALL void pi_cl_dma_cmd_2d(uint32_t ext, uint32_t loc, uint32_t size, uint32_t stride, uint32_t length,
                                  pi_cl_dma_dir_e dir, pi_cl_dma_cmd_t* cmd) {
  TS_RULE_ISSUE(cmd, loc);
  const uint32_t counter = ts_dma_begin(ext, loc, size, dir, TS_DMA_TWO_D);
  *ts_dma(TS_DMA_COMMAND) = length;
  *ts_dma(TS_DMA_COMMAND) = stride;
  cmd->id = (uint8_t)counter;
  TS_RULE_NOTE(cmd->loc, loc);
}

/* The event says that some command has ended; the status says which. */
TS_DMA_CALL void pi_cl_dma_cmd_wait(pi_cl_dma_cmd_t* cmd) {
  TS_RULE_WAIT(cmd, cmd->loc);
  const uint32_t bit = 1u << cmd->id;
  if (__builtin_expect((*ts_dma(TS_DMA_STATUS) & bit) != 0, 0)) {
    ts_mark(TS_MARK_WAIT);
    *ts_event_unit(TS_EU_MASK) = 1 << TS_EVENT_DMA;
    do ts_sleep(TS_CHIP_EVENT_UNIT + TS_EU_WAIT_CLEAR);
    while (*ts_dma(TS_DMA_STATUS) & bit);
    *ts_event_unit(TS_EU_MASK) = TS_TEAM_EVENTS;
    ts_mark(TS_MARK_END);
  }
  *ts_dma(TS_DMA_STATUS) = bit;
}

#endif
