/* What C++ would do when the process ends: nothing. Threads may still be inside a primitive then,
 * and what the destructors would free goes with the process. The linker sends the registrations of
 * all that is linked into the module here. */

int __wrap___cxa_atexit(void (*destructor)(void *), void *object, void *module);

int __wrap___cxa_atexit(void (*destructor)(void *), void *object, void *module) {
  (void)destructor;
  (void)object;
  (void)module;
  return 0;
}
