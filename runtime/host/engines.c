/* The two engines of PMSIS in terms of transfers: the cluster's DMA (L2 - L1) and the external RAM's (L3 - L2). */
#include <stdint.h>
#include <string.h>

#include "host.h"
#include "pmsis.h"
#include "transfer.h"

/* Lines are `stride` apart on the far side and dense on the near one. */
static struct ts_transfer strided(const void* request, uint8_t* far, uint8_t* near, uint32_t size, uint32_t stride,
                                  uint32_t line, int inwards) {
  struct ts_transfer in = {request, far, near, stride, line, size, line};
  struct ts_transfer out = {request, near, far, line, stride, size, line};
  return inwards ? in : out;
}

void pi_cl_dma_cmd_2d(uint32_t ext, uint32_t loc, uint32_t size, uint32_t stride, uint32_t length, pi_cl_dma_dir_e dir,
                      pi_cl_dma_cmd_t* cmd) {
  struct ts_transfer t =
      strided(cmd, ts_host_pointer(ext), ts_host_pointer(loc), size, stride, length, dir == PI_CL_DMA_DIR_EXT2LOC);
  ts_host_issue(&t, &cmd->id, &cmd->state);
}

void pi_cl_dma_cmd(uint32_t ext, uint32_t loc, uint32_t size, pi_cl_dma_dir_e dir, pi_cl_dma_cmd_t* cmd) {
  pi_cl_dma_cmd_2d(ext, loc, size, size, size, dir, cmd);
}

void pi_cl_dma_cmd_wait(pi_cl_dma_cmd_t* cmd) {
  ts_host_wait(cmd, cmd->id, &cmd->state);
}

enum { RAM_SIZE = 64 << 20 };
static uint8_t ram_bytes[RAM_SIZE];
static uint32_t ram_used;

static uint8_t* ram_at(uint32_t address, uint64_t size) {
  if (address + size > RAM_SIZE) ts_host_die("an address beyond the external RAM");
  return ram_bytes + address;
}

uint8_t* ts_host_ram(uint32_t address) {
  return ram_at(address, 0);
}

void pi_hyperram_conf_init(struct pi_hyperram_conf* conf) {
  conf->id = 0;
}
int pi_ram_open(struct pi_device* device) {
  (void)device;
  return 0;
}
void pi_ram_close(struct pi_device* device) {
  (void)device;
}

int pi_ram_alloc(struct pi_device* device, uint32_t* addr, uint32_t size) {
  (void)device;
  if (size > RAM_SIZE - ram_used) return -1;
  *addr = ram_used;
  ram_used += (size + 15u) & ~15u;
  return 0;
}
int pi_ram_free(struct pi_device* device, uint32_t addr, uint32_t size) {
  (void)device, (void)addr, (void)size;
  return 0;
}

void pi_ram_read(struct pi_device* device, uint32_t ram, void* data, uint32_t size) {
  (void)device;
  memcpy(data, ram_at(ram, size), size);
}
void pi_ram_write(struct pi_device* device, uint32_t ram, void* data, uint32_t size) {
  (void)device;
  memcpy(ram_at(ram, size), data, size);
}

void pi_cl_ram_copy_2d(struct pi_device* device, uint32_t ram, void* data, uint32_t size, uint32_t stride,
                       uint32_t length, int ext2loc, pi_cl_ram_req_t* req) {
  (void)device;
  uint64_t lines = length ? (size + length - 1) / length : 0;
  uint8_t* far = ram_at(ram, lines ? (lines - 1) * stride + length : 0);
  struct ts_transfer t = strided(req, far, data, size, stride, length, ext2loc);
  ts_host_issue(&t, &req->id, &req->state);
}
void pi_cl_ram_copy(struct pi_device* device, uint32_t ram, void* data, uint32_t size, int ext2loc,
                    pi_cl_ram_req_t* req) {
  pi_cl_ram_copy_2d(device, ram, data, size, size, size, ext2loc, req);
}
void pi_cl_ram_read(struct pi_device* device, uint32_t ram, void* data, uint32_t size, pi_cl_ram_req_t* req) {
  pi_cl_ram_copy(device, ram, data, size, 1, req);
}
void pi_cl_ram_write(struct pi_device* device, uint32_t ram, void* data, uint32_t size, pi_cl_ram_req_t* req) {
  pi_cl_ram_copy(device, ram, data, size, 0, req);
}
void pi_cl_ram_copy_wait(pi_cl_ram_req_t* req) {
  ts_host_wait(req, req->id, &req->state);
}
