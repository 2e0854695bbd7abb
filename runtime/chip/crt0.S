/* The first instructions of the fabric controller and of the cluster's cores. Memory is as the loader leaves it: images
 * in place, .bss zero. */
#include "ts_chip.h"

  .section .boot, "ax", %progbits
  .global _start
_start:
  .option push
  .option norelax
  la gp, __global_pointer$
  .option pop
  la sp, __fc_stack_end
  call ts_chip_fc
0:
  j 0b

/* The controller's stack stands before those of the others. */
  .balign 16
  .global ts_chip_core
ts_chip_core:
  .option push
  .option norelax
  la gp, __global_pointer$
  .option pop
  csrr a0, mhartid
  andi a0, a0, 31
  la sp, __core_stacks
  la t0, __controller_stack_bytes
  add sp, sp, t0
  li t0, TS_CHIP_CONTROLLER
  beq a0, t0, 2f
  slt t1, a0, t0 /* stacks up to its own: those of lower numbers, without the controller's */
  add t0, a0, t1
  la t1, __worker_stack_bytes
  mul t0, t0, t1
  add sp, sp, t0
2:
  call ts_chip_serve
1:
  j 1b

  .section .note.GNU-stack, "", %progbits
