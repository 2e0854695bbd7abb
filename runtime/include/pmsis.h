/* The part of PMSIS that emitted projects call, as the PULP and GAP SDKs declare it. Taken to an SDK, a project uses
 * the SDK's own <pmsis.h> instead of this file.
 *
 * Addresses are 32 bits: on the host, whatever a DMA touches is a static object of a program linked without PIE. */
#ifndef PMSIS_H
#define PMSIS_H

#include <stddef.h>
#include <stdint.h>

/* Where a static object lives. The host has one memory. */
#ifdef __riscv
#define PI_CL_L1 __attribute__((section(".data_l1")))
#define PI_L2 __attribute__((section(".l2_data")))
#else
#define PI_CL_L1
#define PI_L2
#endif

/* Devices. */
struct pi_device {
  void* config;
  void* data;
};
void pi_open_from_conf(struct pi_device* device, void* conf);

/* The cluster: a team of cores that runs one function at a time; core 0 is its master and works too. */
struct pi_cluster_conf {
  int id;
};
struct pi_cluster_task {
  void (*entry)(void*);
  void* arg;
  uint32_t stack_size;       /* of the master, in bytes; 0: the SDK's default */
  uint32_t slave_stack_size; /* of each other core */
};
void pi_cluster_conf_init(struct pi_cluster_conf* conf);
int pi_cluster_open(struct pi_device* device);
int pi_cluster_close(struct pi_device* device);
struct pi_cluster_task* pi_cluster_task(struct pi_cluster_task* task, void (*entry)(void*), void* arg);
int pi_cluster_send_task_to_cl(struct pi_device* device, struct pi_cluster_task* task);

#ifndef TS_CHIP /* chip/calls.h has them in line */
void pi_cl_team_fork(int cores, void (*entry)(void*), void* arg);
void pi_cl_team_barrier(void);
uint32_t pi_core_id(void);
uint32_t pi_cluster_id(void);
#endif

/* The cluster's DMA, between L2 (ext) and L1 (loc). A command is the driver's from the call until its wait returns. */
typedef enum {
  PI_CL_DMA_DIR_LOC2EXT = 0,
  PI_CL_DMA_DIR_EXT2LOC = 1,
} pi_cl_dma_dir_e;
#if !defined(TS_CHIP) || defined(TS_CHIP_SANITIZE)
typedef struct pi_cl_dma_cmd {
  uint32_t ext, loc, size, stride, length;
  int32_t dir, id, state;
} pi_cl_dma_cmd_t;
void pi_cl_dma_cmd(uint32_t ext, uint32_t loc, uint32_t size, pi_cl_dma_dir_e dir, pi_cl_dma_cmd_t* cmd);
/* `size` bytes in all, in lines of `length` bytes that start `stride` bytes apart on the ext side. */
void pi_cl_dma_cmd_2d(uint32_t ext, uint32_t loc, uint32_t size, uint32_t stride, uint32_t length, pi_cl_dma_dir_e dir,
                      pi_cl_dma_cmd_t* cmd);
void pi_cl_dma_cmd_wait(pi_cl_dma_cmd_t* cmd);
#endif
#ifdef TS_CHIP
#include "chip/calls.h"
#endif

/* The external RAM (L3), reached only by copies between it and L2. ext2loc 1: read. */
struct pi_hyperram_conf {
  int id;
};
typedef struct pi_cl_ram_req {
  uint32_t ram, data, size, stride, length;
  int32_t ext2loc, id, state;
  struct pi_cl_ram_req* next; /* in the driver's queue */
} pi_cl_ram_req_t;
void pi_hyperram_conf_init(struct pi_hyperram_conf* conf);
int pi_ram_open(struct pi_device* device);
void pi_ram_close(struct pi_device* device);
int pi_ram_alloc(struct pi_device* device, uint32_t* addr, uint32_t size);
int pi_ram_free(struct pi_device* device, uint32_t addr, uint32_t size);
void pi_ram_read(struct pi_device* device, uint32_t ram, void* data, uint32_t size);
void pi_ram_write(struct pi_device* device, uint32_t ram, void* data, uint32_t size);
void pi_cl_ram_read(struct pi_device* device, uint32_t ram, void* data, uint32_t size, pi_cl_ram_req_t* req);
void pi_cl_ram_write(struct pi_device* device, uint32_t ram, void* data, uint32_t size, pi_cl_ram_req_t* req);
void pi_cl_ram_copy(struct pi_device* device, uint32_t ram, void* data, uint32_t size, int ext2loc,
                    pi_cl_ram_req_t* req);
void pi_cl_ram_copy_2d(struct pi_device* device, uint32_t ram, void* data, uint32_t size, uint32_t stride,
                       uint32_t length, int ext2loc, pi_cl_ram_req_t* req);
void pi_cl_ram_copy_wait(pi_cl_ram_req_t* req);
static inline void pi_cl_ram_read_wait(pi_cl_ram_req_t* req) {
  pi_cl_ram_copy_wait(req);
}
static inline void pi_cl_ram_write_wait(pi_cl_ram_req_t* req) {
  pi_cl_ram_copy_wait(req);
}

/* Memory that is asked for once, at start-up. NULL where there is none left. */
void* pi_l2_malloc(int size);
void pi_l2_free(void* chunk, int size);
void* pi_cl_l1_malloc(struct pi_device* device, uint32_t size);
void pi_cl_l1_free(struct pi_device* device, void* chunk, int size);
void* pmsis_l1_malloc(uint32_t size);

/* Performance counters of the calling core. */
typedef enum {
  PI_PERF_CYCLES = 0,
  PI_PERF_INSTR = 1,
} pi_perf_event_e;
void pi_perf_conf(unsigned events);
void pi_perf_reset(void);
void pi_perf_start(void);
void pi_perf_stop(void);
uint32_t pi_perf_read(int id);

#endif
