/* How much memory this process has in RAM. */
#pragma once

#include <stdint.h>

/* Resident set size in bytes, shared pages included; 0 where /proc is not there. */
uint64_t rss_now(void);

/* The most that it was since rss_forget_peak; 0 where /proc is not there. Where the system does not
 * let a process forget the peak, it is that of the whole process. */
uint64_t rss_peak(void);
void rss_forget_peak(void);
