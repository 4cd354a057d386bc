/* How much memory this process has in RAM. */
#ifndef LK_CLI_COMMON_RSS_H
#define LK_CLI_COMMON_RSS_H

#include <stdint.h>

/* Resident set size in bytes, shared pages included; 0 where /proc is not there. */
uint64_t rss_now(void);

/* The most that it was since the last rss_forget_peak, or since the process began where the system cannot
 * forget; 0 where it is not known. */
uint64_t rss_peak(void);
void rss_forget_peak(void);

#endif
