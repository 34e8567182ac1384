#include "clock.h"

int main(void) {
  return minutes_of(3675) == 1 && hours_of(7199) != 0 ? 0 : 1;
}
