// Two kernels that overlap: the second is launched, with `overlaps=True`, while the first one works.
//
// Idea: "Programmatic Dependent Launch" in the CUDA C++ Programming Guide. Before Hopper neither does anything,
// and the second kernel starts when the first has ended.
#pragma once

// In the first kernel: once each of its blocks has come here or ended, the next kernel may start.
__device__ __forceinline__ void let_next_start() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

// In the second kernel, before it touches what the first one writes or reads: waits until that has ended.
__device__ __forceinline__ void wait_for_previous() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// At the start of a kernel that is a call of its own, or whose next one waits before it reads anything: it starts while
// the call before ends. Of some microseconds it spares one.
__device__ __forceinline__ void start_early() {
    let_next_start();
    wait_for_previous();
}
