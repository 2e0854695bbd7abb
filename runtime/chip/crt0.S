/* The first instructions of the fabric controller and of the cluster's cores. Memory is as the loader leaves it: images
 * in place, .bss zero. */
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

/* Core i has the i-th stack. */
  .balign 16
  .global ts_chip_core
ts_chip_core:
  .option push
  .option norelax
  la gp, __global_pointer$
  .option pop
  csrr a0, mhartid
  andi a0, a0, 31
  addi t0, a0, 1
  la t1, __core_stack_bytes
  mul t0, t0, t1
  la sp, __core_stacks
  add sp, sp, t0
  call ts_chip_serve
1:
  j 1b

  .section .note.GNU-stack, "", %progbits
