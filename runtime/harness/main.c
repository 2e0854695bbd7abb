/* The entry point on a device. */
#include "harness.h"

int main(void) {
  return ts_run();
}
