#include "member_share.h"

static uint64_t divide_up(uint64_t number, uint64_t divisor) {
  return (number + divisor - 1) / divisor;
}

RpinnMemberShare rpinn_member_share(uint64_t num_members, size_t places, RpinnMemberShare most) {
  RpinnMemberShare share = most;
  if (!places || !num_members) return share;
  if (places > most.num_slots) places = most.num_slots;
  uint64_t num_threads = divide_up(num_members, places);
  if (num_threads < share.num_threads) share.num_threads = (size_t)num_threads;
  uint64_t each = divide_up(num_members, share.num_threads);
  if (each < share.num_slots) share.num_slots = (size_t)each;
  return share;
}
