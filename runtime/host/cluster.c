/* The cluster on a host: N persistent threads. The caller of a fork is core 0. A thread that has nothing to do spins
 * for a moment and then sleeps, since the machine may have fewer CPUs than the cluster has cores. */
#define _GNU_SOURCE
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host.h"
#include "pmsis.h"

enum { MAX_CORES = 64, CORES_BITS = 8 };

static struct {
  _Atomic uint32_t job;     /* number of the fork << CORES_BITS | cores in it */
  _Atomic uint32_t left;    /* cores that still work on it */
  _Atomic uint32_t arrived; /* at the barrier */
  _Atomic uint32_t phase;   /* of the barrier */
  void (*entry)(void*);
  void* arg;
  uint32_t cores;   /* of the running fork; 1 outside of one */
  uint32_t threads; /* that exist, core 0 included */
  int spins;
} team = {.cores = 1, .threads = 1};

static _Thread_local uint32_t core;

_Noreturn void ts_host_die(const char* rule) {
  fprintf(stderr, "host runtime: %s\n", rule);
  abort();
}

static void sleep_while(_Atomic uint32_t* word, uint32_t value) {
  for (int i = 0; i < team.spins; ++i) {
    if (atomic_load_explicit(word, memory_order_acquire) != value) return;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  while (atomic_load_explicit(word, memory_order_acquire) == value)
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void wake_all(_Atomic uint32_t* word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void finish_job(void) {
  if (atomic_fetch_sub(&team.left, 1) == 1) wake_all(&team.left);
}

static void* worker(void* id) {
  core = (uint32_t)(uintptr_t)id;
  uint32_t seen = 0;
  for (;;) {
    sleep_while(&team.job, seen);
    seen = atomic_load(&team.job);
    /* Who is not in the team must not look at the job: it may be over already. */
    if (core >= (seen & ((1u << CORES_BITS) - 1))) continue;
    team.entry(team.arg);
    finish_job();
  }
  return NULL;
}

static void grow_team(uint32_t cores) {
  if (cores > MAX_CORES) ts_host_die("more cores than the host's cluster has");
  long cpus = sysconf(_SC_NPROCESSORS_ONLN);
  team.spins = (long)cores <= cpus ? 4000 : 0;
  for (; team.threads < cores; ++team.threads) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, worker, (void*)(uintptr_t)team.threads)) ts_host_die("cannot start a thread");
    pthread_detach(thread);
  }
}

void pi_cl_team_fork(int cores, void (*entry)(void*), void* arg) {
  if (core != 0 || team.cores != 1) ts_host_die("pi_cl_team_fork from inside a team");
  if (cores < 1) ts_host_die("pi_cl_team_fork with no cores");
  ts_host_tick();
  if (cores == 1) {
    entry(arg);
    return;
  }
  if ((uint32_t)cores > team.threads) grow_team((uint32_t)cores);
  team.cores = (uint32_t)cores;
  team.entry = entry;
  team.arg = arg;
  atomic_store(&team.left, (uint32_t)cores);
  uint32_t number = (atomic_load(&team.job) >> CORES_BITS) + 1;
  atomic_store(&team.job, number << CORES_BITS | (uint32_t)cores);
  wake_all(&team.job);
  entry(arg);
  finish_job();
  for (uint32_t left; (left = atomic_load(&team.left)) != 0;) sleep_while(&team.left, left);
  team.cores = 1;
}

void pi_cl_team_barrier(void) {
  if (core == 0) ts_host_tick();
  if (team.cores == 1) return;
  uint32_t phase = atomic_load(&team.phase);
  if (atomic_fetch_add(&team.arrived, 1) + 1 == team.cores) {
    atomic_store(&team.arrived, 0);
    atomic_store(&team.phase, phase + 1);
    wake_all(&team.phase);
  } else {
    sleep_while(&team.phase, phase);
  }
}

uint32_t pi_core_id(void) {
  return core;
}
uint32_t pi_cluster_id(void) {
  return 0;
}

void pi_cluster_conf_init(struct pi_cluster_conf* conf) {
  conf->id = 0;
}
void pi_open_from_conf(struct pi_device* device, void* conf) {
  device->config = conf;
}
int pi_cluster_open(struct pi_device* device) {
  (void)device;
  return 0;
}
int pi_cluster_close(struct pi_device* device) {
  (void)device;
  return 0;
}

struct pi_cluster_task* pi_cluster_task(struct pi_cluster_task* task, void (*entry)(void*), void* arg) {
  *task = (struct pi_cluster_task){.entry = entry, .arg = arg};
  return task;
}

int pi_cluster_send_task_to_cl(struct pi_device* device, struct pi_cluster_task* task) {
  (void)device;
  task->entry(task->arg);
  ts_host_expect_idle();
  return 0;
}

/* A host has no cycles to count: every counter stays at zero, and whoever prints them says so. */
void pi_perf_conf(unsigned events) {
  (void)events;
}
void pi_perf_reset(void) {}
void pi_perf_start(void) {}
void pi_perf_stop(void) {}
uint32_t pi_perf_read(int id) {
  (void)id;
  return 0;
}
