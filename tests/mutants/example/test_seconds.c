#include "clock.h"

int main(void) {
  return seconds_of(75) == 15 ? 0 : 1;
}
