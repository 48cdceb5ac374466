// What a product does to its sums before they are stored: `finish(sums, column)` makes two neighbours of C, the first in an even
// column. Overloads of the functions here give a finish what it needs of C's columns in time. Most need nothing.
#pragma once

// Something for a thread's columns `first` and each eighth from there on, COUNT of them, that no store waits for.
template <int COUNT, class Finish>
__device__ __forceinline__ const Finish& for_columns(const Finish& finish, int) {
    return finish;
}
// Two neighbours of C, of which the first is in the thread's column number `index`.
template <class Finish>
__device__ __forceinline__ float2 finish_pair(const Finish& finish, float2 sums, int column, int) {
    return finish(sums, column);
}

// Asks for what it reads of 64 columns from this one on, so that it is in L2 when the sums are there. This may be in front of
// the wait for the kernel before, because L2 is where that leaves what it writes.
template <class Finish>
__device__ __forceinline__ void ask_for_columns(const Finish&, int) {}
