"""A data-parallel training with the three lines of the SDK and nothing else: what torchrun starts in the tests."""

import argparse
import atexit
import os
import time
from collections.abc import Iterator

import torch
import torch.distributed as dist

import roundwatch

WIDTH = 256


def loader(steps: int, slow_s: float) -> Iterator[torch.Tensor]:
    for _ in range(steps):
        time.sleep(slow_s)
        yield torch.ones(16, WIDTH)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--slow-rank", type=int, default=-1)
    parser.add_argument("--slow-s", type=float, default=0.1, help="how much longer it takes to load a batch")
    parser.add_argument("--hook", action="store_true", help="register a communication hook")
    options = parser.parse_args()
    trained: list[bool] = []
    # Now and then gloo's threads make torch abort while Python ends, with us or without: what is registered first here
    # comes last, after the run's own end.
    atexit.register(lambda: os._exit(0) if trained else None)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    layers = torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU(), torch.nn.Linear(WIDTH, 8))
    model = torch.nn.parallel.DistributedDataParallel(layers, bucket_cap_mb=0.1)
    model.training = False  # as Lightning leaves it after an evaluation; what is within it trains
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    buckets = []

    def hook(_: object, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        buckets.append(bucket.index())
        gradient = bucket.buffer().div_(dist.get_world_size())
        dist.all_reduce(gradient)
        # Done already: a callback that gloo's thread still runs while Python ends makes torch abort the process.
        done: torch.futures.Future[torch.Tensor] = torch.futures.Future()
        done.set_result(gradient)
        return done

    if options.hook:
        model.register_comm_hook(None, hook)
    slow = dist.get_rank() == options.slow_rank
    run = roundwatch.init("ddp", run_id="ddp")
    run.watch_ddp(model)
    for batch in run.steps(loader(options.steps, options.slow_s if slow else 0)):
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()
    weights = float(next(model.parameters()).detach().sum())
    # One write: all ranks share one pipe, and what print writes in pieces may be another's in between.
    os.write(1, f"buckets {os.environ['RANK']} {len(buckets)} {weights}\n".encode())
    dist.destroy_process_group()
    trained.append(True)


if __name__ == "__main__":
    main()
