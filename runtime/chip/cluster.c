/* The cluster: its boot, tasks from the fabric controller (FC), teams. The event unit passes a function and its
 * argument to the cores of a team, and a barrier brings them together again. */
#include "chip.h"
#include "pmsis.h"
#include "profile.h"
#include "rules.h"

enum {
  CLUSTER_FETCH_ENABLE = 0x08,
  CLUSTER_BOOT_ADDRESS = 0x40,
  CLUSTER_SOFTWARE_EVENT = 0xe00, /* the event unit's peripheral side, 4 bytes an event */
  CLUSTER_ICACHE_ENABLE = 0x1400,
  FC_INTERRUPT_MASK_SET = 0x04,
  FC_INTERRUPT_SET = 0x10,
  FC_INTERRUPT_CLEAR = 0x14,
  DONE_INTERRUPT = 1 << 1,
};

/* All cores meet at the team's barrier. A controller that does not work waits at another one, for itself and them. */
enum {
  TEAM_BARRIER = TS_EU_BARRIER,
  JOIN_BARRIER = TS_CHIP_CONTROLLER_WORKS ? TEAM_BARRIER : TS_EU_BARRIER + 0x20,
  CONTROLLER = 1 << TS_CHIP_CONTROLLER,
};

extern void ts_chip_core(void);

static volatile struct {
  struct pi_cluster_task* task;
  uint32_t done;
} mailbox;

/* Who is passed what the controller dispatches, and who meets at the barriers. */
static void team_of(int cores) {
  const uint32_t team = (1u << cores) - 1;
  *ts_event_unit(TS_EU_TEAM) = team;
  *ts_event_unit(TEAM_BARRIER) = team;
  *ts_event_unit(TEAM_BARRIER + TS_EU_BARRIER_TARGET) = team;
  if (!TS_CHIP_CONTROLLER_WORKS) {
    *ts_event_unit(JOIN_BARRIER) = team | CONTROLLER;
    *ts_event_unit(JOIN_BARRIER + TS_EU_BARRIER_TARGET) = team | CONTROLLER;
  }
}

/* It begins where a line of the instruction cache does. */
__attribute__((aligned(16))) void ts_fork(void (*entry)(void*), void* arg) {
  ts_mark(TS_MARK_KERNEL);
  *ts_event_unit(TS_EU_DISPATCH) = (uint32_t)(uintptr_t)entry;
  *ts_event_unit(TS_EU_DISPATCH) = (uint32_t)(uintptr_t)arg;
  if (TS_CHIP_CONTROLLER_WORKS) entry(arg);
  ts_sleep(TS_CHIP_EVENT_UNIT + JOIN_BARRIER + TS_EU_BARRIER_WAIT);
  ts_mark(TS_MARK_END);
}

void ts_fork_some(int cores, void (*entry)(void*), void* arg) {
  team_of(cores);
  ts_fork(entry, arg);
  team_of(TS_CHIP_WORKERS);
}

static _Noreturn void work(void) {
  *ts_event_unit(TS_EU_MASK) = TS_TEAM_EVENTS;
  for (;;) {
    void (*entry)(void*) = (void (*)(void*))(uintptr_t)ts_sleep(TS_CHIP_EVENT_UNIT + TS_EU_DISPATCH);
    void* arg = (void*)(uintptr_t)ts_sleep(TS_CHIP_EVENT_UNIT + TS_EU_DISPATCH);
    entry(arg);
    ts_sleep(TS_CHIP_EVENT_UNIT + JOIN_BARRIER + TS_EU_BARRIER_WAIT);
  }
}

static _Noreturn void control(void) {
  *ts_register(TS_CHIP_FC_INTERRUPT + FC_INTERRUPT_MASK_SET) = DONE_INTERRUPT;
  team_of(TS_CHIP_WORKERS);
  for (;;) {
    *ts_event_unit(TS_EU_MASK) = 1 << TS_EVENT_TASK;
    ts_sleep(TS_CHIP_EVENT_UNIT + TS_EU_WAIT_CLEAR);
    *ts_event_unit(TS_EU_MASK) = TS_TEAM_EVENTS;
    struct pi_cluster_task* task = mailbox.task;
    task->entry(task->arg);
    ts_rule_idle();
    mailbox.done = 1;
    *ts_register(TS_CHIP_FC_INTERRUPT + FC_INTERRUPT_SET) = DONE_INTERRUPT;
  }
}

/* Where crt0.S ends, on every core of the cluster. */
_Noreturn void ts_chip_serve(uint32_t core) {
  if (core == TS_CHIP_CONTROLLER) control();
  work();
}

void pi_cluster_conf_init(struct pi_cluster_conf* conf) {
  conf->id = 0;
}

int pi_cluster_open(struct pi_device* device) {
  (void)device;
  const uint32_t cores = ((1u << TS_CHIP_WORKERS) - 1) | CONTROLLER;
  *ts_register(TS_CHIP_CLUSTER + CLUSTER_ICACHE_ENABLE) = ~0u;
  for (uint32_t i = 0; cores >> i; ++i)
    *ts_register(TS_CHIP_CLUSTER + CLUSTER_BOOT_ADDRESS + 4 * i) = (uint32_t)(uintptr_t)ts_chip_core;
  *ts_register(TS_CHIP_CLUSTER + CLUSTER_FETCH_ENABLE) = cores;
  return 0;
}

int pi_cluster_close(struct pi_device* device) {
  (void)device;
  return 0;
}

struct pi_cluster_task* pi_cluster_task(struct pi_cluster_task* task, void (*entry)(void*), void* arg) {
  task->entry = entry;
  task->arg = arg;
  task->stack_size = 0;
  task->slave_stack_size = 0;
  return task;
}

/* The FC sleeps until the task is done. */
int pi_cluster_send_task_to_cl(struct pi_device* device, struct pi_cluster_task* task) {
  (void)device;
  mailbox.task = task;
  mailbox.done = 0;
  *ts_register(TS_CHIP_CLUSTER + CLUSTER_SOFTWARE_EVENT + 4 * TS_EVENT_TASK) = CONTROLLER;
  while (!mailbox.done) __asm__ volatile("wfi" ::: "memory");
  *ts_register(TS_CHIP_FC_INTERRUPT + FC_INTERRUPT_CLEAR) = DONE_INTERRUPT;
  return 0;
}
