#!/usr/bin/env python3
"""Looks for operators that are slower on Thalweg than by upstream's portable kernels.

    pip install executorch          # brings torch
    cargo build --release -p thalweg-cli
    benches/compare_operators.py --sized CACHE [--thalweg target/release/thalweg] [FOLDER...]

A folder holds a `model.pte` and the `case.json` that says what its calls take, as the recorded cases of
operators do. With `--sized` there are also programs of one operator on 1, 1,000 and 1,000,000 elements,
which the script exports into the folder CACHE, once.

How it is measured. One process of each side, one thread, in turns: a batch of programs on Thalweg, the same
batch on upstream, and so for some rounds. A round gives the median of a program's calls, and the smallest
median of the rounds counts, so that a machine that is busy for a while does no harm.

Small tensors. A call of upstream through its binding takes far longer than an operator on one element, so that
subtracting the one leaves little of the other. Therefore there are also programs that apply one operator 64
times in a row to one element (`chain_...`); what they take, without the program that does nothing, is divided by 64.

What is inside. Thalweg: `Method::run`, with binding of inputs and outputs (`thalweg bench`). Upstream:
`execute` of a loaded method, through its Python bindings, without `set_inputs`. What the binding costs by
itself is measured in every turn with a program that only returns its input, and subtracted from upstream's
times: all of it, although a part is upstream's own. Where less is left than the noise of that measurement
(`--noise`), a program counts as slower only if Thalweg takes longer than upstream by more than this noise.

Printed are the programs on which Thalweg is slower, the worst first. `--json` writes all numbers.
"""

import argparse
import glob
import json
import os
import statistics
import subprocess
import sys
import time

TYPES = {"f32": "float32", "f64": "float64", "f16": "float16", "bf16": "bfloat16", "i64": "int64",
         "i32": "int32", "i16": "int16", "i8": "int8", "u8": "uint8", "bool": "bool",
         "u16": "uint16", "u32": "uint32", "u64": "uint64", "c64": "complex64", "c128": "complex128"}
SIZES = (1, 1_000, 1_000_000)
CHAIN = 64


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("folders", nargs="*")
    options.add_argument("--thalweg", default="target/release/thalweg", help="the program to measure")
    options.add_argument("--sized", metavar="CACHE", help="export and measure programs of 1, 1,000 and 1,000,000 elements")
    options.add_argument("--only", help="only folders whose name contains one of these, as in add,mul")
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--best", action="store_true",
                         help="the best call of a round, not the median: where others use the machine")
    options.add_argument("--batch", type=int, default=60, help="programs in a turn")
    options.add_argument("--noise", type=float, default=0.15, help="µs that are no difference")
    options.add_argument("--json", help="a file for all numbers")
    options.add_argument("--export", metavar="CACHE", help=argparse.SUPPRESS)
    options.add_argument("--upstream", action="store_true", help=argparse.SUPPRESS)
    args = options.parse_args()
    if args.upstream:
        return serve_upstream(args.best)
    if args.export:
        return export_sized(args.export)
    folders = [folder.rstrip("/") for folder in args.folders]
    if args.sized:
        # In a process of its own: exporting leaves much behind.
        subprocess.run([sys.executable, os.path.abspath(__file__), "--export", args.sized], check=True)
        folders += sorted(map(os.path.dirname, glob.glob(os.path.join(args.sized, "*", "*", "model.pte"))),
                          key=lambda folder: (size_of(folder), folder))
    folders = [folder for folder in folders if os.path.basename(os.path.dirname(folder)) != "empty"]
    if args.only:
        folders = [folder for folder in folders if any(part in folder for part in args.only.split(","))]
    chains = [folder for folder in folders if "/chain_" in folder]
    folders = [folder for folder in folders if "/chain_" not in folder]
    binding = None
    upstream = Upstream(args.best)
    if args.sized:
        empty = os.path.join(args.sized, "empty", "n1")
        row = compare([empty], upstream, args, rounds=9)[0]
        binding = row["upstream"]
        print(f"Upstream's binding takes {binding:.2f} µs; Thalweg's call of the same program {row['thalweg']:.2f} µs.\n")
        chains = compare(chains, upstream, args, rounds=5) if chains else []
        print("| on one element | Thalweg, ns | portable, ns | ratio |\n|---|---|---|---|")
        for chain in chains:
            mine, theirs = ((chain[side] - row[side]) / CHAIN * 1000 for side in ("thalweg", "upstream"))
            print(f"| {chain['program'][6:-3]} | {mine:.0f} | {theirs:.0f} | {theirs / mine:.2f} |")
        print()
    rows = []
    large = [folder for folder in folders if size_of(folder) >= SIZES[-1]]
    small = [folder for folder in folders if size_of(folder) < SIZES[-1]]
    for part in (small, large):
        for at in range(0, len(part), args.batch):
            rows += compare_batch(part[at:at + args.batch], binding and empty, upstream, args)
            print(f"\r{len(rows)} of {len(folders)}", end="", file=sys.stderr, flush=True)
    print_table(rows, args)
    if args.json:
        with open(args.json, "w") as file:
            json.dump({"binding_us": binding, "programs": rows, "chains": chains}, file, indent=1)


def name_of(folder):
    return "/".join(folder.split("/")[-2:])


def size_of(folder):
    """Elements of an exported program; 0 for a recorded one."""
    name = os.path.basename(folder).split("_")[0]
    return int(name[1:]) if name.startswith("n") and name[1:].isdigit() else 0


def compare_batch(folders, empty, upstream, args):
    """As `compare`, without what the binding takes at the same time, if there is a program to measure it."""
    if not empty:
        return compare(folders, upstream, args)
    binding, *rows = compare([empty, *folders], upstream, args)
    for row in rows:
        if row["upstream"] is not None:
            row["upstream"] = max(row["upstream"] - binding["upstream"], 0.0)
    return rows


def compare(folders, upstream, args, rounds=None):
    """For each folder the smallest median of each side, in µs, or none if the side cannot run it."""
    found = {side: {folder: [] for folder in folders} for side in ("thalweg", "upstream")}
    for _ in range(rounds or args.rounds):
        for folder, value in thalweg_times(folders, args).items():
            found["thalweg"][folder].append(value)
        for folder in folders:
            value = upstream.time(folder)
            if value is not None:
                found["upstream"][folder].append(value)
    smallest = lambda side, folder: min(found[side][folder], default=None)
    return [{"program": name_of(folder), "size": size_of(folder),
             "thalweg": smallest("thalweg", folder), "upstream": smallest("upstream", folder)} for folder in folders]


def print_table(rows, args):
    both = [row for row in rows if row["thalweg"] is not None and row["upstream"] is not None]
    slower = [row for row in both if row["thalweg"] > row["upstream"] * 1.05 + args.noise]
    slower.sort(key=lambda row: row["upstream"] / row["thalweg"])
    print("\n| program | Thalweg, µs | portable, µs | ratio |\n|---|---|---|---|")
    for row in slower:
        print(f"| {row['program']} | {row['thalweg']:.2f} | {row['upstream']:.2f} | {row['upstream'] / row['thalweg']:.2f} |")
    print()
    for size in sorted({row["size"] for row in both}):
        part = [row for row in both if row["size"] == size]
        ratio = statistics.median(row["upstream"] / row["thalweg"] for row in part)
        behind = sum(row["size"] == size for row in slower)
        label = f"{size:,} elements" if size else "recorded"
        print(f"{label}: {len(part)} programs on both, {behind} of them slower; median ratio {ratio:.1f}")
    for side in ("thalweg", "upstream"):
        print(f"not run by {side}: {sum(row[side] is None for row in rows)}")


def thalweg_times(folders, args):
    """Medians by folder. A program that fails takes its batch along, which is then halved."""
    calls = "9" if all(size_of(folder) >= SIZES[-1] for folder in folders) else "200"
    command = [args.thalweg, "bench", *folders, "--json",
               "--threads", "1", "--repeat", calls, "--warmup", "3" if calls == "9" else "20"]
    done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ, RAYON_NUM_THREADS="1"))
    if done.returncode == 0:
        programs = json.loads(done.stdout)["programs"]
        which = "best_us" if args.best else "median_us"
        return {folder: program[which] for folder, program in zip(folders, programs, strict=True)}
    if len(folders) == 1:
        print(f"{folders[0]}: {done.stderr.strip()}", file=sys.stderr)
        return {}
    half = len(folders) // 2
    return {**thalweg_times(folders[:half], args), **thalweg_times(folders[half:], args)}


class Upstream:
    """A process with upstream's runtime, started again where a program ends it."""

    def __init__(self, best):
        self.best, self.process, self.refused = best, None, set()

    def time(self, folder):
        if folder in self.refused:
            return None
        if self.process is None:
            command = [sys.executable, os.path.abspath(__file__), "--upstream"] + ["--best"] * self.best
            self.process = subprocess.Popen(command, text=True,
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        print(folder, file=self.process.stdin, flush=True)
        for line in self.process.stdout:
            if line.startswith("@"):
                value = json.loads(line[1:])
                if value is None:
                    self.refused.add(folder)
                return value
        self.process.wait()
        self.process = None
        self.refused.add(folder)
        return None


def serve_upstream(best):
    from executorch.extension.pybindings import portable_lib
    from executorch.runtime import Runtime
    import torch
    runtime = Runtime.get()
    portable_lib._unsafe_reset_threadpool(1)
    for module in ("executorch.kernels.quantized", "executorch.extension.llm.custom_ops.custom_ops"):
        try:
            __import__(module)
        except Exception:
            pass

    def value(folder, entry):
        if "file" not in entry:
            return float(entry["value"]) if entry.get("kind") == "double" else entry.get("value")
        with open(os.path.join(folder, entry["file"]), "rb") as file:
            data = bytearray(file.read())
        dtype, shape = getattr(torch, TYPES[entry["dtype"]]), entry["shape"]
        if not data:
            return torch.empty(shape, dtype=dtype)
        tensor, order = torch.frombuffer(data, dtype=dtype), entry.get("dim_order")
        if not order:
            return tensor.reshape(shape)
        return tensor.reshape([shape[i] for i in order]).permute([order.index(i) for i in range(len(order))])

    methods = {}
    for line in sys.stdin:
        folder = line.strip()
        try:
            if folder not in methods:
                with open(os.path.join(folder, "case.json")) as file:
                    name, calls = next(iter(json.load(file)["methods"].items()))
                program = runtime.load_program(os.path.join(folder, "model.pte"))
                inputs = [value(folder, entry) for entry in calls[0]["inputs"]]
                if len(methods) > 200:
                    methods.clear()
                methods[folder] = (program, program._program.load_method(name), inputs)
            _, method, inputs = methods[folder]
            times, end = [], time.perf_counter_ns() + 30_000_000
            while len(times) < 220 and (time.perf_counter_ns() < end or len(times) < 3):
                method.set_inputs(inputs)
                start = time.perf_counter_ns()
                method.execute()
                times.append((time.perf_counter_ns() - start) / 1000)
            # The first calls find cold caches, as Thalweg's warm-up does.
            times = times[min(20, len(times) // 3):]
            result = min(times) if best else statistics.median(times)
        except Exception:
            result = None
        print("@" + json.dumps(result), flush=True)


# --- programs of given sizes --------------------------------------------------------------------------


def sized_calls(torch):
    """For each operator: its name in the folder, the operator, what it takes at a size, and its other arguments."""
    A = torch.ops.aten
    f32, f16, i64, i32, u8, b8 = torch.float32, torch.float16, torch.int64, torch.int32, torch.uint8, torch.bool
    names = {f32: "f32", f16: "f16", i64: "i64", i32: "i32", u8: "u8", b8: "bool"}
    matrix = {1: (1, 1), 1_000: (20, 50), 1_000_000: (1000, 1000)}
    image = {1: (1, 1, 1, 1), 1_000: (1, 10, 10, 10), 1_000_000: (1, 16, 250, 250)}
    volume = {1: (1, 1, 1, 1, 1), 1_000: (1, 10, 1, 10, 10), 1_000_000: (1, 16, 10, 50, 125)}

    def data(shape, dtype=f32, low=0.2, high=0.9):
        if dtype == b8:
            return torch.rand(shape) > 0.5
        if dtype.is_floating_point:
            return (torch.rand(shape) * (high - low) + low).to(dtype)
        return torch.randint(1, 9, shape, dtype=dtype)

    calls = []

    def add(name, operator, make, **keywords):
        calls.append((name, operator, make, keywords))

    one = lambda dtype, low=0.2, high=0.9, more=(): lambda n: (data(matrix[n], dtype, low, high), *more)
    two = lambda dtype: lambda n: (data(matrix[n], dtype), data(matrix[n], dtype))
    for name in ("acos acosh asin asinh atan atanh cos cosh erf exp expm1 log log10 log1p log2 reciprocal rsqrt sigmoid sin sinh "
                 "sqrt tan tanh abs ceil floor neg round sign trunc relu isinf isnan gelu elu hardtanh leaky_relu logit glu").split():
        low, high = (1.1, 3.0) if name == "acosh" else (0.2, 0.9)
        if name == "glu":
            add(name, A.glu.default, lambda n: (data((matrix[n][0], 2 * matrix[n][1])),))
        else:
            add(name, getattr(A, name).default, one(f32, low, high))
    for name in "exp tanh gelu sqrt neg relu".split():
        add(name + "_f16", getattr(A, name).default, one(f16))
    for name, dtype in (("abs", i64), ("neg", i32), ("relu", i64), ("sin", i64), ("logical_not", b8), ("logical_not", f32),
                        ("bitwise_not", i32), ("bitwise_not", u8)):
        add(f"{name}_{names[dtype]}", getattr(A, name).default, one(dtype))
    for full in ("add.Tensor sub.Tensor mul.Tensor div.Tensor floor_divide.default fmod.Tensor remainder.Tensor pow.Tensor_Tensor "
                 "atan2.default maximum.default minimum.default eq.Tensor ne.Tensor lt.Tensor le.Tensor gt.Tensor ge.Tensor "
                 "logical_and.default logical_or.default logical_xor.default").split():
        name, overload = full.split(".")
        operator = getattr(getattr(A, name), overload)
        for dtype in (f32, i64):
            if name != "atan2" or dtype == f32:
                add(f"{name}_{names[dtype]}", operator, two(dtype))
        if overload == "Tensor":
            add(f"{name}.Scalar_f32", getattr(A, name).Scalar, one(f32, more=(3.0,)))
            if name in ("add", "mul", "eq", "remainder"):
                add(f"{name}.Scalar_i64", getattr(A, name).Scalar, one(i64, more=(3,)))
        if name in ("add", "mul", "div", "eq", "maximum"):
            add(f"{name}_row", operator, lambda n: (data(matrix[n]), data(matrix[n][1:])))
            add(f"{name}_column", operator, lambda n: (data(matrix[n]), data((matrix[n][0], 1))))
            add(f"{name}_mixed", operator, lambda n: (data(matrix[n]), data(matrix[n], i32)))
    add("add_f16", A.add.Tensor, two(f16))
    add("mul_i32", A.mul.Tensor, two(i32))
    add("add_u8", A.add.Tensor, two(u8))
    for mode in ("floor", "trunc"):
        add(f"div_{mode}_f32", A.div.Tensor_mode, two(f32), rounding_mode=mode)
        add(f"div_{mode}_i64", A.div.Tensor_mode, two(i64), rounding_mode=mode)
    for exponent in (2, 3, 0.5, 1.7):
        add(f"pow.Tensor_Scalar_{exponent}", A.pow.Tensor_Scalar, one(f32, more=(exponent,)))
    add("pow.Scalar", A.pow.Scalar, lambda n: (2.0, data(matrix[n])))
    add("rsub.Scalar", A.rsub.Scalar, one(f32, more=(1.0,)))
    for name in ("and", "or", "xor"):
        for dtype in (i64, b8):
            add(f"bitwise_{name}_{names[dtype]}", getattr(A, f"bitwise_{name}").Tensor, two(dtype))
    for name in ("left", "right"):
        add(f"bitwise_{name}_shift_i32", getattr(A, f"bitwise_{name}_shift").Tensor, two(i32))
    add("clamp", A.clamp.default, one(f32, more=(0.3, 0.7)))
    add("clamp_i64", A.clamp.default, one(i64, more=(2, 5)))
    add("clamp.Tensor", A.clamp.Tensor, lambda n: (data(matrix[n]), data(matrix[n]), data(matrix[n])))
    add("where", A.where.self, lambda n: (data(matrix[n], b8), data(matrix[n]), data(matrix[n])))
    add("where_row", A.where.self, lambda n: (data(matrix[n], b8), data(matrix[n]), data(matrix[n][1:])))
    add("masked_fill", A.masked_fill.Scalar, lambda n: (data(matrix[n]), data(matrix[n], b8), 2.0))

    for name in ("amax", "amin", "sum", "mean", "prod", "any", "argmax", "argmin", "max", "min", "cumsum", "var", "softmax", "log_softmax"):
        for dim in (0, 1):
            operator, arguments = {
                "sum": (A.sum.dim_IntList, ([dim],)), "mean": (A.mean.dim, ([dim],)), "amax": (A.amax.default, ([dim],)),
                "amin": (A.amin.default, ([dim],)), "prod": (A.prod.dim_int, (dim,)), "any": (A.any.dim, (dim,)),
                "argmax": (A.argmax.default, (dim,)), "argmin": (A.argmin.default, (dim,)), "max": (A.max.dim, (dim,)),
                "min": (A.min.dim, (dim,)), "cumsum": (A.cumsum.default, (dim,)), "var": (A.var.dim, ([dim],)),
                "softmax": (A._softmax.default, (dim, False)), "log_softmax": (A._log_softmax.default, (dim, False))}[name]
            add(f"{name}_d{dim}", operator, one(f32, more=arguments))
    add("sum_i64", A.sum.dim_IntList, one(i64, more=([1],)))
    add("sum_f16", A.sum.dim_IntList, one(f16, more=([1],)))
    add("any_bool", A.any.dim, lambda n: (torch.zeros(matrix[n], dtype=b8), 1))
    add("sum_all", A.sum.dim_IntList, one(f32, more=(None,)))
    for name in ("mean", "max", "min", "prod"):
        add(f"{name}_all", getattr(A, name).default, one(f32))
    add("any_all", A.any.default, lambda n: (torch.zeros(matrix[n], dtype=b8),))
    add("argmax_all", A.argmax.default, one(f32))
    add("var.correction_all", A.var.correction, one(f32), correction=1)
    add("var_mean", A.var_mean.correction, one(f32, more=([1],)), correction=1)
    add("topk", A.topk.default, lambda n: (data(matrix[n]), min(10, matrix[n][1])))
    add("median", A.median.dim, one(f32, more=(1,)))

    channel = lambda n: data((image[n][1],))
    add("native_layer_norm", A.native_layer_norm.default, lambda n: (data(matrix[n]), [matrix[n][1]], data(matrix[n][1:]), data(matrix[n][1:]), 1e-5))
    add("native_group_norm", A.native_group_norm.default,
        lambda n: (data(image[n]), channel(n), channel(n), 1, image[n][1], image[n][2] * image[n][3], 1, 1e-5))
    add("batch_norm", A._native_batch_norm_legit_no_training.default,
        lambda n: (data(image[n]), channel(n), channel(n), channel(n), channel(n), 0.1, 1e-5))

    for dtype in (f32, i64, u8):
        t = names[dtype]
        add(f"permute_{t}", A.permute_copy.default, one(dtype, more=([1, 0],)))
        add(f"clone_{t}", A.clone.default, one(dtype))
        add(f"slice_{t}", A.slice_copy.Tensor, one(dtype, more=(1, 0, 10**9, 2)))
        add(f"slice_rows_{t}", A.slice_copy.Tensor, one(dtype, more=(0, 0, 10**9, 2)))
        add(f"cat0_{t}", A.cat.default, lambda n, dtype=dtype: ([data(matrix[n], dtype), data(matrix[n], dtype)], 0))
        add(f"cat1_{t}", A.cat.default, lambda n, dtype=dtype: ([data(matrix[n], dtype), data(matrix[n], dtype)], 1))
        add(f"flip_{t}", A.flip.default, one(dtype, more=([0, 1],)))
        add(f"flip_last_{t}", A.flip.default, one(dtype, more=([1],)))
        add(f"expand_{t}", A.expand_copy.default, lambda n, dtype=dtype: (data((matrix[n][0], 1), dtype), list(matrix[n])))
        add(f"index_select_{t}", A.index_select.default, lambda n, dtype=dtype: (data(matrix[n], dtype), 1, torch.randint(0, matrix[n][1], (matrix[n][1],))))
        add(f"full_like_{t}", A.full_like.default, one(dtype, more=(3,)))
    for source, target in ((f32, f16), (f16, f32), (f32, i64), (i64, f32), (b8, f32), (f32, b8), (u8, f32)):
        add(f"to_{names[source]}_{names[target]}", A._to_copy.default, one(source), dtype=target)
    rows = lambda n: torch.randint(0, matrix[n][0], (matrix[n][0],))
    places = lambda n: torch.randint(0, matrix[n][1], matrix[n])
    add("index_select_rows", A.index_select.default, lambda n: (data(matrix[n]), 0, rows(n)))
    add("embedding", A.embedding.default, lambda n: (data(matrix[n]), rows(n)))
    add("index", A.index.Tensor, lambda n: (data(matrix[n]), [rows(n)]))
    add("index_pairs", A.index.Tensor, lambda n: (data(matrix[n]), [places(n) % matrix[n][0], places(n)]))
    add("index_put", A.index_put.default, lambda n: (data(matrix[n]), [rows(n)], data(matrix[n])))
    add("gather", A.gather.default, lambda n: (data(matrix[n]), 1, places(n)))
    add("gather_rows", A.gather.default, lambda n: (data(matrix[n]), 0, places(n) % matrix[n][0]))
    add("scatter.src", A.scatter.src, lambda n: (data(matrix[n]), 1, places(n), data(matrix[n])))
    add("scatter.value", A.scatter.value, lambda n: (data(matrix[n]), 1, places(n), 2.0))
    add("scatter_add", A.scatter_add.default, lambda n: (data(matrix[n]), 1, places(n), data(matrix[n])))
    add("masked_select", A.masked_select.default, lambda n: (data(matrix[n]), data(matrix[n], b8)))
    add("nonzero", A.nonzero.default, lambda n: (data(matrix[n], b8),))
    add("select", A.select_copy.int, one(f32, more=(1, 0)))
    add("select_scatter", A.select_scatter.default, lambda n: (data(matrix[n]), data(matrix[n][:1]), 1, 0))
    add("slice_scatter", A.slice_scatter.default, lambda n: (data(matrix[n]), data(matrix[n]), 1, 0, 10**9))
    add("stack", A.stack.default, lambda n: ([data(matrix[n]), data(matrix[n])], 1))
    add("stack_last", A.stack.default, lambda n: ([data(matrix[n]), data(matrix[n])], -1))
    add("split", A.split_copy.Tensor, one(f32, more=(25, 1)))
    add("unbind", A.unbind_copy.int, lambda n: (data((4, max(n // 4, 1))), 0))
    add("repeat", A.repeat.default, one(f32, more=([2, 2],)))
    add("roll", A.roll.default, one(f32, more=([1, 3], [0, 1])))
    add("tril", A.tril.default, one(f32))
    add("t_copy", A.t_copy.default, one(f32))
    add("diagonal", A.diagonal_copy.default, one(f32))
    add("as_strided", A.as_strided_copy.default, lambda n: (data(matrix[n]), list(matrix[n])[::-1], [1, matrix[n][1]]))
    add("unfold", A.unfold_copy.default, one(f32, more=(1, 1, 1)))
    add("constant_pad_nd", A.constant_pad_nd.default, one(f32, more=([1, 1, 1, 1], 0.5)))
    add("fill", A.fill.Scalar, one(f32, more=(2.0,)))
    add("full", A.full.default, lambda n: (list(matrix[n]), 2.0))
    add("zeros", A.zeros.default, lambda n: (list(matrix[n]),))
    add("arange", A.arange.start_step, lambda n: (0, n, 1))
    add("cdist", A._cdist_forward.default, lambda n: (data((max(matrix[n][0] // 4, 1), 16)), data((max(matrix[n][0] // 4, 1), 16)), 2.0, None))
    add("dropout", A.native_dropout.default, one(f32, more=(0.3, False)))

    square = lambda n: {1: 1, 1_000: 3, 1_000_000: 3}[n]
    add("max_pool2d", A.max_pool2d_with_indices.default, lambda n: (data(image[n]), [square(n)] * 2, [2, 2], [square(n) // 2] * 2))
    add("avg_pool2d", A.avg_pool2d.default, lambda n: (data(image[n]), [square(n)] * 2, [2, 2], [square(n) // 2] * 2))
    add("adaptive_avg_pool2d", A._adaptive_avg_pool2d.default, lambda n: (data(image[n]), [1, 1]))
    convolution = lambda n, groups, k: (data(image[n]), data((image[n][1], image[n][1] // groups, k, k)), channel(n), [1, 1], [k // 2] * 2, [1, 1], False, [0, 0], groups)
    add("convolution", A.convolution.default, lambda n: convolution(n, 1, square(n)))
    add("convolution_1x1", A.convolution.default, lambda n: convolution(n, 1, 1))
    add("convolution_depthwise", A.convolution.default, lambda n: convolution(n, image[n][1], square(n)))
    for pad in ("reflection", "replication"):
        edge = lambda n: [0 if n == 1 else 1] * 4
        add(f"{pad}_pad2d", getattr(A, f"{pad}_pad2d").default, lambda n: (data(image[n]), edge(n)))
    add("pixel_shuffle", A.pixel_shuffle.default, lambda n: (data((1, 4, *matrix_half(matrix[n]))), 2))
    add("pixel_unshuffle", A.pixel_unshuffle.default, lambda n: (data((1, 1, max(matrix[n][0], 2), max(matrix[n][1], 2))), 2))
    add("upsample_nearest2d", A.upsample_nearest2d.vec, lambda n: (data(image[n]), None, [2.0, 2.0]))
    add("upsample_bilinear2d", A.upsample_bilinear2d.vec, lambda n: (data(image[n]), None, False, [2.0, 2.0]))
    add("grid_sampler_2d", A.grid_sampler_2d.default, lambda n: (data(image[n]), data((1, *image[n][2:], 2), f32, -1, 1), 0, 0, False))
    narrow = {1: 1, 1_000: 20, 1_000_000: 16}
    add("mm", A.mm.default, lambda n: (data(matrix[n]), data((matrix[n][1], narrow[n]))))
    add("mm_vector", A.mm.default, lambda n: (data((1, matrix[n][0])), data(matrix[n])))
    add("addmm", A.addmm.default, lambda n: (data((narrow[n],)), data(matrix[n]), data((matrix[n][1], narrow[n]))))
    add("bmm", A.bmm.default, lambda n: (data((1, *matrix[n])), data((1, matrix[n][1], narrow[n]))))
    add("linear", A.linear.default, lambda n: (data(matrix[n]), data((narrow[n], matrix[n][1]))))
    add("fft_r2c", A._fft_r2c.default, one(f32, more=([1], 0, True)))
    return calls


def chained_calls(torch):
    """Operators whose result can be their first operand again, with what they take."""
    A = torch.ops.aten
    one, mask, place = torch.ones(1, 1), torch.ones(1, 1, dtype=torch.bool), torch.zeros(1, dtype=torch.int64)
    return [
        ("add", A.add.Tensor, lambda x, y: A.add.Tensor(x, y), (one, one)),
        ("mul.Scalar", A.mul.Scalar, lambda x: A.mul.Scalar(x, 2.0), (one,)),
        ("relu", A.relu.default, A.relu.default, (one,)),
        ("where", A.where.self, lambda x, m, y: A.where.self(m, x, y), (one, mask, one)),
        ("sum", A.sum.dim_IntList, lambda x: A.sum.dim_IntList(x, [1], True), (one,)),
        ("softmax", A._softmax.default, lambda x: A._softmax.default(x, 1, False), (one,)),
        ("layer_norm", A.native_layer_norm.default, lambda x, w: A.native_layer_norm.default(x, [1], w, w, 1e-5)[0], (one, one[0])),
        ("permute", A.permute_copy.default, lambda x: A.permute_copy.default(x, [1, 0]), (one,)),
        ("index", A.index.Tensor, lambda x, i: A.index.Tensor(x, [i]), (one, place)),
        ("mm", A.mm.default, lambda x, y: A.mm.default(x, y), (one, one)),
    ]


def matrix_half(shape):
    return max(shape[0] // 2, 1), max(shape[1] // 2, 1)


def export_sized(cache):
    """Exports the programs that the cache does not have yet."""
    import warnings
    warnings.filterwarnings("ignore")
    import torch
    from torch.utils._pytree import tree_flatten, tree_unflatten
    from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge
    from executorch.exir.passes import MemoryPlanningPass

    class Call(torch.nn.Module):
        """Calls an operator; its tensors are inputs, the rest is fixed."""

        def __init__(self, operator, leaves, spec, keywords):
            super().__init__()
            self.operator, self.leaves, self.spec, self.keywords = operator, leaves, spec, keywords

        def forward(self, *inputs):
            inputs = iter(inputs)
            leaves = [next(inputs) if leaf is Call else leaf for leaf in self.leaves]
            return self.operator(*tree_unflatten(leaves, self.spec), **self.keywords)

    class Empty(torch.nn.Module):
        def forward(self, x):
            return x

    def write(folder, module, inputs, preserved):
        program = to_edge(torch.export.export(module, inputs, strict=False),
                          compile_config=EdgeCompileConfig(_check_ir_validity=False, preserve_ops=preserved))
        # Inputs are lent, not copied: what is measured is the operator.
        planning = MemoryPlanningPass(alloc_graph_input=False)
        program = program.to_executorch(ExecutorchBackendConfig(remove_view_copy=False, memory_planning_pass=planning))
        os.makedirs(folder, exist_ok=True)
        entries = []
        for at, tensor in enumerate(inputs):
            with open(os.path.join(folder, f"in{at}.bin"), "wb") as file:
                file.write(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
            dtype = next(short for short, name in TYPES.items() if getattr(torch, name) == tensor.dtype)
            entries.append({"file": f"in{at}.bin", "dtype": dtype, "shape": list(tensor.shape)})
        with open(os.path.join(folder, "case.json"), "w") as file:
            json.dump({"tolerance": 0, "methods": {"forward": [{"inputs": entries, "outputs": []}]}}, file)
        # Last, since a folder with a program is a finished one.
        with open(os.path.join(folder, "model.pte"), "wb") as file:
            program.write_to_file(file)

    def missing(folder):
        return not any(os.path.exists(os.path.join(folder, name)) for name in ("model.pte", "refused"))

    if missing(os.path.join(cache, "empty", "n1")):
        write(os.path.join(cache, "empty", "n1"), Empty(), (torch.ones(1),), [])
    class Chain(torch.nn.Module):
        """The same call again and again, each on the result of the one before."""

        def __init__(self, call):
            super().__init__()
            self.call = call

        def forward(self, x, *rest):
            for _ in range(CHAIN):
                x = self.call(x, *rest)
            return x

    for name, operator, call, inputs in chained_calls(torch):
        folder = os.path.join(cache, f"chain_{name}", "n1")
        if missing(folder):
            write(folder, Chain(call), inputs, [operator])
    for size in reversed(SIZES):
        for name, operator, make, keywords in sized_calls(torch):
            folder = os.path.join(cache, name, f"n{size}")
            if not missing(folder):
                continue
            try:
                torch.manual_seed(size)
                leaves, spec = tree_flatten(make(size))
                inputs = tuple(leaf for leaf in leaves if isinstance(leaf, torch.Tensor))
                leaves = [Call if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
                write(folder, Call(operator, leaves, spec, keywords), inputs, [operator])
            except Exception as failure:
                print(f"{name} at {size}: {type(failure).__name__}: {str(failure).splitlines()[:1]}", file=sys.stderr)
                # Without a program there is nothing to try again the next time.
                os.makedirs(folder, exist_ok=True)
                open(os.path.join(folder, "refused"), "w").close()


if __name__ == "__main__":
    main()
