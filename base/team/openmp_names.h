/* The names that oneDNN's copy in .deps asks for. Nobody else calls them. */
#pragma once

void LKTM_parallel(void (*fn)(void *), void *data, unsigned threads, unsigned flags);
void LKTM_barrier(void);
int lkt_get_max_threads(void);
int lkt_get_num_threads(void);
int lkt_get_thread_num(void);
int lkt_in_parallel(void);
