#!/bin/bash
# Makes the headers that .exp/variants.py takes beside the tree's: .exp/base, those in front of these commits, and
# .exp/lab, this tree's with the differences of .exp/lab. From the tree's root, where git is: roots.sh FIRST_COMMIT
set -e
mkdir -p .exp/base/shared .exp/lab/shared
names="attention_backward_block attention_backward_copies attention_backward_divided attention_backward_ends
attention_backward_short attention_backward_short_pieces attention_backward_spare wgmma_attention_backward
wgmma_attention_products"
for name in $names; do
    git show "$1~:kernels/shared/$name.cuh" > ".exp/base/shared/$name.cuh"
    git show "$1:kernels/shared/$name.cuh" > ".exp/lab/shared/$name.cuh"
    if [ -f "trial/lab/$name.cuh.diff" ]; then patch -s ".exp/lab/shared/$name.cuh" "trial/lab/$name.cuh.diff"; fi
done
