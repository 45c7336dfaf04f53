#!/usr/bin/env python3
"""Runs programs on Thalweg and on upstream's Python package in turn, and prints a table.

    pip install executorch          # brings torch
    cargo build --release -p thalweg-cli
    benches/compare_upstream.py --thalweg target/release/thalweg FOLDER...

Each folder holds a `model.pte` and the `case.json` that says what its first call takes, as those of
the CPU fixtures do. Three sides are compared: Thalweg with its own kernels, upstream with its portable
kernels (the same program), and upstream with XNNPACK: the program of the folder whose name ends in
`_xnnpack`, where there is one. Ratios are upstream's time over Thalweg's: above 1, Thalweg is faster.

How it is measured. The sides alternate in short rounds, so that a machine that is busy for a while is
busy for all of them. A round gives the median of its calls and the best one. The table has the median
over the rounds of the first, and the smallest of all of the second; on a machine that others use, too,
the best is the better number.

Threads. Thalweg is told with `--threads`. Upstream has one pool for all of its kernels, which
`_unsafe_reset_threadpool` makes anew; torch's number of threads does not matter to it.

What is inside. Thalweg: `Method::run`, from inputs in memory to outputs in memory (`thalweg bench`).
Upstream: `set_inputs` and `execute` of a loaded method, through its Python bindings; its outputs are
not fetched. What the bindings cost by themselves is in the last line, measured on a program that adds
two small tensors (`--overhead`), as the difference between the two sides.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

TYPES = {"f32": "float32", "f64": "float64", "f16": "float16", "bf16": "bfloat16", "i64": "int64",
         "i32": "int32", "i16": "int16", "i8": "int8", "u8": "uint8", "bool": "bool"}


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("folders", nargs="*")
    options.add_argument("--thalweg", default="target/release/thalweg", help="the program to measure")
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--seconds", type=float, default=0.3, help="how long a round is, for each side")
    options.add_argument("--threads", default=f"1,{os.cpu_count()}", help="numbers of threads, as in 1,8")
    options.add_argument("--nice", type=int, default=0, help="niceness of what is measured")
    options.add_argument("--overhead", help="a folder with a program of one small addition")
    options.add_argument("--json", help="a file for all numbers")
    options.add_argument("--upstream", action="store_true", help=argparse.SUPPRESS)
    args = options.parse_args()
    if args.upstream:
        return serve_upstream()
    upstream = Upstream(args)
    threads = [int(count) for count in args.threads.split(",")]
    rows = [compare(folder.rstrip("/"), count, upstream, args) for folder in args.folders for count in threads]
    print_table(rows)
    if args.overhead:
        row = compare(args.overhead.rstrip("/"), 1, upstream, args)
        rows.append(row)
        print(f"\nOverhead of the bindings: about {row['portable'][0] - row['thalweg'][0]:.1f} µs a call.")
    if args.json:
        with open(args.json, "w") as file:
            json.dump(rows, file, indent=1)


def compare(folder, threads, upstream, args):
    """Median and best time of each side, in µs."""
    sides = {"thalweg": lambda: thalweg_times(folder, threads, args),
             "portable": lambda: upstream.times(folder, threads)}
    if os.path.exists(os.path.join(folder + "_xnnpack", "model.pte")):
        sides["xnnpack"] = lambda: upstream.times(folder + "_xnnpack", threads)
    rounds = {side: [] for side in sides}
    for _ in range(args.rounds):
        for side, measure in sides.items():
            rounds[side].append(measure())
    row = {"program": os.path.basename(folder), "threads": threads}
    for side, times in rounds.items():
        times = [pair for pair in times if pair]
        if times:
            row[side] = (statistics.median(pair[0] for pair in times), min(pair[1] for pair in times))
    return row


def print_table(rows):
    print("| program | threads | Thalweg, µs | portable, µs | ratio | XNNPACK, µs | ratio | ratio of the best |")
    print("|---|---|---|---|---|---|---|---|")
    number = lambda pair: f"{pair[0]:.1f} ({pair[1]:.1f})" if pair else "-"
    for row in rows:
        mine, portable, delegated = (row.get(side) for side in ("thalweg", "portable", "xnnpack"))
        ratio = lambda other, at: f"{other[at] / mine[at]:.2f}" if mine and other else "-"
        print(f"| {row['program']} | {row['threads']} | {number(mine)} | {number(portable)} | {ratio(portable, 0)} "
              f"| {number(delegated)} | {ratio(delegated, 0)} | {ratio(delegated, 1)} |")
    print("\nMedian over rounds, in parentheses the best call.")


def thalweg_times(folder, threads, args):
    """Median and best time of a call, of a process that makes calls for about as long as asked."""
    def bench(calls):
        command = ["nice", "-n", str(args.nice), args.thalweg, "bench", folder, "--json",
                   "--threads", str(threads), "--repeat", str(calls), "--warmup", "20"]
        done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ, RAYON_NUM_THREADS=str(threads)))
        if done.returncode != 0:
            print(f"{folder}: {done.stderr.strip()}", file=sys.stderr)
            return None
        return json.loads(done.stdout)["programs"][0]
    first = bench(10)
    found = first and bench(int(min(max(args.seconds * 1e6 / max(first["median_us"], 1), 10), 1e6)))
    return found and (found["median_us"], found["best_us"])


class Upstream:
    """A process with upstream's runtime, which takes long to start."""

    def __init__(self, args):
        self.seconds = args.seconds
        self.process = subprocess.Popen(["nice", "-n", str(args.nice), sys.executable, os.path.abspath(__file__), "--upstream"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def times(self, folder, threads):
        print(json.dumps([folder, threads, self.seconds]), file=self.process.stdin, flush=True)
        for line in self.process.stdout:
            if line.startswith("@"):
                return json.loads(line[1:])
        print(f"{folder}: upstream's process has ended", file=sys.stderr)
        return None


def serve_upstream():
    from executorch.extension.pybindings import portable_lib
    from executorch.runtime import Runtime
    import torch
    runtime, methods = Runtime.get(), {}
    for module in ("executorch.kernels.quantized", "executorch.extension.llm.custom_ops.custom_ops"):
        try:
            __import__(module)
        except Exception:
            pass

    def value(folder, entry):
        if "file" not in entry:
            return entry.get("value")
        with open(os.path.join(folder, entry["file"]), "rb") as file:
            data = bytearray(file.read())
        return torch.frombuffer(data, dtype=getattr(torch, TYPES[entry["dtype"]])).reshape(entry["shape"])

    pool = None
    for line in sys.stdin:
        folder, threads, seconds = json.loads(line)
        if threads != pool:
            portable_lib._unsafe_reset_threadpool(threads)
            methods, pool = {}, threads
        if folder not in methods:
            with open(os.path.join(folder, "case.json")) as file:
                name, calls = next(iter(json.load(file)["methods"].items()))
            program = runtime.load_program(os.path.join(folder, "model.pte"))
            inputs = [value(folder, entry) for entry in calls[0]["inputs"]]
            methods[folder] = (program, program._program.load_method(name), inputs)
        _, method, inputs = methods[folder]
        times = []
        end = time.perf_counter() + seconds
        while time.perf_counter() < end or len(times) < 30:
            start = time.perf_counter()
            method.set_inputs(inputs)
            method.execute()
            times.append((time.perf_counter() - start) * 1e6)
        # The first calls find cold caches, as Thalweg's warm-up does.
        times = sorted(times[10:])
        print("@" + json.dumps([times[len(times) // 2], times[0]]), flush=True)


if __name__ == "__main__":
    main()
