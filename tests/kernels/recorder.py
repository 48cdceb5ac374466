"""What launchers of products from rows that begin anywhere launch, without a GPU."""

import torch


class Recorder:
    """Stands for a CudaProgram; keeps what is launched."""

    multiprocessor_count = 132

    def __init__(self) -> None:
        self.launches: list[tuple[str, int | tuple[int, int], list[int], int]] = []

    def launch(
        self, name: str, grid: int | tuple[int, int], _: int, *arguments: torch.Tensor | int, **given: int
    ) -> None:
        assert given["overlaps"]
        sizes = [value for value in arguments if isinstance(value, int)]
        self.launches.append((name, grid, sizes, given.get("cluster", 1)))
