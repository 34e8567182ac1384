/* A program outside of the project: includes the installed headers, links the installed library. */
#include <rpinn/rpinn.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  printf("compiled against %s, running %s\n", RPINN_VERSION, rpinn_version());
  return strcmp(RPINN_VERSION, rpinn_version()) == 0 ? 0 : 1;
}
