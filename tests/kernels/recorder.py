"""What launchers of products from rows that begin anywhere launch, without a GPU."""

import torch


class Recorder:
    """Stands for a CudaProgram; keeps what is launched."""

    def __init__(self) -> None:
        self.launches: list[tuple[str, int, list[int], int]] = []

    def launch(self, name: str, grid: int, _: int, *arguments: torch.Tensor | int, **given: int) -> None:
        assert given["overlaps"]
        sizes = [value for value in arguments if isinstance(value, int)]
        self.launches.append((name, grid, sizes, given["cluster"]))
