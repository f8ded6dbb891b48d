/* Wherry: wherry-agent, which carries background jobs out. It is the library and nothing else.
 * SPDX-License-Identifier: Apache-2.0 */
#include <wherry.h>

int main(int count, char **arguments) {
  return wherry_agent_main(count, (const char *const *)arguments);
}
