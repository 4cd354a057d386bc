/* How much memory this process has in RAM. */
#ifndef LK_CLI_RSS_H
#define LK_CLI_RSS_H

#include <stdint.h>

/* Resident set size in bytes, shared pages included; 0 where /proc is not there. */
uint64_t rss_now(void);

#endif
