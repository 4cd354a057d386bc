/* A thread that does one thing at a time, while who asks for it waits. */
#pragma once

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>

typedef struct cache_worker {
  pthread_t thread;
  sem_t asked, done;
  void (*work)(void *arg); /* NULL: it is to end */
  void *arg;
  bool alive;
} cache_worker;

void cache_worker_begin(cache_worker *worker);
void cache_worker_do(cache_worker *worker, void (*work)(void *arg), void *arg);
/* The thread has ended when this returns. */
void cache_worker_end(cache_worker *worker);
