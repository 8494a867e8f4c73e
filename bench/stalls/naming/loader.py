"""Samples of a program that hangs when it is told to: reading one of them does not come back."""
import os, time

import torch


class Samples(torch.utils.data.Dataset):
    """Noise, and its class. Of one process the sample of a step is read forever."""

    def __init__(self, length, stuck_at, hung):
        self._length, self._stuck_at, self._hung = length, stuck_at, hung

    def __len__(self):
        return self._length

    def __getitem__(self, index):
        if index == self._stuck_at:
            self._hung()
            wait_for_storage()
        generator = torch.Generator().manual_seed(index)
        pixels = torch.randn(16, 64, generator=generator)
        return pixels, pixels[:, :10].argmax(1)


def wait_for_storage():
    """As a read of a file system whose server is away."""
    while True:
        time.sleep(3600)


def batches(length, workers, stuck_at, hung):
    return torch.utils.data.DataLoader(Samples(length, stuck_at, hung), batch_size=None, num_workers=workers)
