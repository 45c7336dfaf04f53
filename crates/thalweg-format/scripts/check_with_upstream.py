"""Checks files that this crate writes against upstream's own reader and runtime.

Every program given is read and written again by the crate (with the example `check`), and then:

1. upstream's `deserialize_pte_binary` must find the same program in both files,
2. upstream's runtime must load both with full verification, and every method must give the same
   outputs, bit for bit, for the inputs recorded beside the program (`case.json`).

Data files beside a program are written again, too, and upstream gets those with the new program.

This is not part of `cargo test`: it needs a Python with `torch` and `executorch` installed
(`pip install executorch`). Run it from the root of the repository:

    cargo build -p thalweg-format --example check
    python crates/thalweg-format/scripts/check_with_upstream.py target/debug/examples/check fixtures/*/

Programs for backends that this build of upstream lacks are only deserialized.
"""

import collections
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
from executorch.exir._serialize._program import deserialize_pte_binary
from executorch.runtime import Runtime, Verification

DTYPES = {
    "f32": torch.float32,
    "f64": torch.float64,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "i64": torch.int64,
    "i32": torch.int32,
    "i16": torch.int16,
    "i8": torch.int8,
    "u8": torch.uint8,
    "bool": torch.bool,
}


def main(tool, folders):
    outcomes = collections.Counter()
    for folder in map(pathlib.Path, folders):
        for program in sorted(folder.glob("*.pte")):
            outcome = check(tool, program)
            outcomes[outcome.split(":")[0]] += 1
            if outcome not in ("same outputs",):
                print(f"{program}: {outcome}")
    print(dict(outcomes))
    return 1 if outcomes["WRONG"] else 0


def check(tool, program):
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        rewritten = rewrite(tool, program, scratch)
        data = sorted(program.parent.glob("*.ptd"))
        new_data = [rewrite(tool, path, scratch) for path in data]
        if same_program(program, rewritten) is False:
            return "WRONG: upstream reads another program"
        case = json.loads((program.parent / "case.json").read_text())
        try:
            before = run(program, data, case, program.parent)
            again = run(program, data, case, program.parent)
        except Exception as error:
            return f"not run: {str(error).splitlines()[0]}"
        if not same(before, again):
            return "not run: its outputs are random"
        try:
            after = run(rewritten, new_data, case, program.parent)
        except Exception as error:
            return f"WRONG: only the original runs: {error}"
        return "same outputs" if same(before, after) else "WRONG: other outputs"


def rewrite(tool, path, scratch):
    out = scratch / path.name
    subprocess.run([tool, "--rewrite", path, out], check=True)
    return out


def same_program(one, other):
    return readable(one) == readable(other)


def readable(path):
    file = deserialize_pte_binary(path.read_bytes())
    # Upstream takes the padding between constants for a part of them, and does not keep the
    # difference between a missing list and an empty one.
    program = repr(file.program).replace("=None", "=[]")
    named = file.named_data and sorted(
        (key, bytes(file.named_data.buffers[entry.buffer_index]))
        for key, entry in file.named_data.pte_data.items()
    )
    return program, repr(file.mutable_data), named


def run(program, data, case, folder):
    loaded = Runtime.get().load_program(
        program.read_bytes() if not data else program,
        verification=Verification.InternalConsistency,
        **({"data_path": data[0]} if data else {}),
    )
    outputs = []
    for name, calls in case["methods"].items():
        method = loaded.load_method(name)
        for call in calls:
            inputs = [value(v, folder) for v in call["inputs"]]
            outputs.append([copy(v) for v in method.execute(inputs)])
    return outputs


def value(recorded, folder):
    if "file" not in recorded:
        return recorded.get("value")
    raw = bytearray((folder / recorded["file"]).read_bytes())
    dtype = DTYPES[recorded["dtype"]]
    shape = recorded["shape"]
    if not raw:
        return torch.empty(shape, dtype=dtype)
    flat = torch.frombuffer(raw, dtype=dtype)
    order = recorded.get("dim_order")
    if not order:
        return flat.reshape(shape)
    inverse = [order.index(dim) for dim in range(len(order))]
    return flat.reshape([shape[dim] for dim in order]).permute(inverse)


def copy(output):
    return output.clone() if isinstance(output, torch.Tensor) else output


def same(one, other):
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, torch.Tensor):
        return one.shape == other.shape and bool(
            torch.equal(one.contiguous().view(torch.uint8), other.contiguous().view(torch.uint8))
            if one.dim()
            else torch.equal(one, other) or (one.isnan() and other.isnan())
        )
    return one == other


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
