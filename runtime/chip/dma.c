/* The cluster's DMA (mchan): a counter for each command, freed by its wait. */
#include "chip.h"
#include "pmsis.h"
#include "profile.h"
#include "rules.h"

enum {
  DMA_COMMAND = 0x00, /* read: takes a counter */
  DMA_STATUS = 0x04,  /* a bit for each busy counter; a written bit frees one */
  LENGTH_BITS = 17,
  EXT2LOC = 1 << 17,
  INCREMENT = 1 << 18,
  TWO_D = 1 << 19,
  EVENT = 1 << 20,
};

static inline volatile uint32_t* dma(uint32_t offset) {
  return ts_register(TS_CHIP_DMA + offset);
}

void pi_cl_dma_cmd(uint32_t ext, uint32_t loc, uint32_t size, pi_cl_dma_dir_e dir, pi_cl_dma_cmd_t* cmd) {
  TS_RULE_ISSUE(cmd, loc);
  const uint32_t counter = *dma(DMA_COMMAND);
  *dma(DMA_COMMAND) = size | (uint32_t)dir << LENGTH_BITS | INCREMENT | EVENT;
  *dma(DMA_COMMAND) = loc;
  *dma(DMA_COMMAND) = ext;
  cmd->id = (int32_t)counter;
  TS_RULE_NOTE(cmd->loc, loc);
}

void pi_cl_dma_cmd_2d(uint32_t ext, uint32_t loc, uint32_t size, uint32_t stride, uint32_t length, pi_cl_dma_dir_e dir,
                      pi_cl_dma_cmd_t* cmd) {
  TS_RULE_ISSUE(cmd, loc);
  const uint32_t counter = *dma(DMA_COMMAND);
  *dma(DMA_COMMAND) = size | (uint32_t)dir << LENGTH_BITS | INCREMENT | TWO_D | EVENT;
  *dma(DMA_COMMAND) = loc;
  *dma(DMA_COMMAND) = ext;
  *dma(DMA_COMMAND) = length;
  *dma(DMA_COMMAND) = stride;
  cmd->id = (int32_t)counter;
  TS_RULE_NOTE(cmd->loc, loc);
}

/* The event says that some command has ended; the status says which. */
void pi_cl_dma_cmd_wait(pi_cl_dma_cmd_t* cmd) {
  TS_RULE_WAIT(cmd, cmd->loc);
  const uint32_t bit = 1u << cmd->id;
  if (*dma(DMA_STATUS) & bit) {
    ts_mark(TS_MARK_WAIT);
    *ts_event_unit(TS_EU_MASK) = 1 << TS_EVENT_DMA;
    do ts_sleep(TS_CHIP_EVENT_UNIT + TS_EU_WAIT_CLEAR);
    while (*dma(DMA_STATUS) & bit);
    *ts_event_unit(TS_EU_MASK) = TS_TEAM_EVENTS;
    ts_mark(TS_MARK_END);
  }
  *dma(DMA_STATUS) = bit;
}
