// What the timing engine needs to know from inside the GPU.

static __device__ unsigned long long nanoseconds() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

// Each multiprocessor notes its cycle counter and the time: two marks give its clock in between.
// marks[2 * m] = cycles, marks[2 * m + 1] = nanoseconds of multiprocessor m.
extern "C" __global__ void roofscope_mark(unsigned long long* marks) {
  unsigned int multiprocessor;
  asm volatile("mov.u32 %0, %smid;" : "=r"(multiprocessor));
  marks[2 * multiprocessor] = clock64();
  marks[2 * multiprocessor + 1] = nanoseconds();
}

// A kernel of known duration.
extern "C" __global__ void roofscope_spin(long long duration_ns) {
  const unsigned long long start = nanoseconds();
  while (nanoseconds() - start < (unsigned long long)duration_ns) {
  }
}

// A kernel of which the core clock decides one part and the wall clock the other.
extern "C" __global__ void roofscope_mix(long long cycles, long long duration_ns) {
  const long long first = clock64();
  while (clock64() - first < cycles) {
  }
  const unsigned long long start = nanoseconds();
  while (nanoseconds() - start < (unsigned long long)duration_ns) {
  }
}

// What a launch costs by itself.
extern "C" __global__ void roofscope_nothing() {}
