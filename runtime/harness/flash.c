/* On a board: fills the external RAM from the read-only file system in flash. The SDK's tools put the files there that
 * flash.mk lists. */
#ifdef TS_BOARD
#include "bsp/flash.h"
#include "bsp/flash/hyperflash.h"
#include "bsp/fs.h"
#include "bsp/fs/readfs.h"
#include "harness.h"

#ifndef TS_FLASH_CONF /* another flash: give its structure and what sets it up, as the SDK names them */
#define TS_FLASH_CONF struct pi_hyperflash_conf
#define TS_FLASH_CONF_INIT pi_hyperflash_conf_init
#endif

static int load_file(struct pi_device* fs, struct pi_device* ram, const struct ts_file* file, uint32_t to,
                     uint8_t* between, uint32_t most) {
  pi_fs_file_t* from = pi_fs_open(fs, file->name, 0);
  if (!from) return 3;
  uint32_t done = 0;
  while (done < file->bytes) {
    const uint32_t rest = file->bytes - done;
    const int32_t part = pi_fs_read(from, between, rest < most ? rest : most);
    if (part <= 0) break; /* shorter than it was written */
    pi_ram_write(ram, to + done, between, (uint32_t)part);
    done += (uint32_t)part;
  }
  pi_fs_close(from);
  return done == file->bytes ? 0 : 4;
}

int ts_load_files(struct pi_device* ram, uint32_t to, uint8_t* between, uint32_t part) {
  static struct pi_device flash, fs;
  static TS_FLASH_CONF flash_conf;
  TS_FLASH_CONF_INIT(&flash_conf);
  pi_open_from_conf(&flash, &flash_conf);
  if (pi_flash_open(&flash)) return 1;
  static struct pi_readfs_conf fs_conf;
  pi_readfs_conf_init(&fs_conf);
  fs_conf.fs.flash = &flash;
  pi_open_from_conf(&fs, &fs_conf);
  int failed = pi_fs_mount(&fs) ? 2 : 0;
  for (uint32_t i = 0; i < ts_run_config.file_count && !failed; ++i) {
    const struct ts_file* file = &ts_run_config.files[i];
    failed = load_file(&fs, ram, file, to + file->offset, between, part);
  }
  if (failed != 2) pi_fs_unmount(&fs);
  pi_flash_close(&flash);
  return failed;
}
#else
typedef int ts_no_flash; /* C wants something in every file */
#endif
