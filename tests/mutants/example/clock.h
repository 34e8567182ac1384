/* A clock for the self-test of run.sh: nothing tests the hours. */
static inline int seconds_of(int time) {
  return time % 60;
}
static inline int minutes_of(int time) {
  return time / 60 % 60;
}
static inline int hours_of(int time) {
  int hours = 0;
  while (time >= 3600) time -= 3600, hours++;
  return hours;
}
