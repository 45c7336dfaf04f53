#!/usr/bin/env python3
"""Compiles the kernels to the PTX beside them, with NVRTC.

    python3 -m venv VENV
    VENV/bin/pip install nvidia-cuda-nvrtc-cu12==12.4.127 nvidia-cuda-nvcc-cu12
    VENV/bin/python crates/thalweg-aoti/kernels/build.py

The second package has `ptxas`, which checks what was made for several GPUs; without it nothing is
checked. Commit the PTX with the change of the source: a test compares the hash in its first line.
"""

import ctypes
import glob
import os
import pathlib
import subprocess
import sys
import sysconfig
import tempfile

HERE = pathlib.Path(__file__).parent
# The architecture of the PTX. Tensor cores with bf16 came with 8.0; any later GPU runs it.
TARGET = "compute_80"
# The version of PTX that the first drivers of CUDA 12 take. `ptxas` says if something is newer.
PTX_VERSION = ".version 8.0"
# The matmuls: the format of weights, and the number of weights that are scaled together.
MATMULS = [(0, 32), (4, 32), (5, 32), (6, 8), (6, 16), (6, 32), (8, 32)]
# The files: their sources, and the macros for them.
FILES = {
    f"matmul{bits}_{unit}.ptx": ("matmul.cu", [f"BITS={bits}", f"UNIT={unit}"])
    for bits, unit in MATMULS
} | {"sort.ptx": ("sort.cu", []), "random.ptx": ("random.cu", [])}
CHECKED_FOR = ["sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"]


def hash_of(*parts: bytes) -> str:
    """FNV-1a with 64 bits, which a test computes too."""
    value = 0xCBF29CE484222325
    for byte in b"".join(parts):
        value = (value ^ byte) * 0x100000001B3 % (1 << 64)
    return f"{value:016x}"


def packages() -> pathlib.Path:
    return pathlib.Path(sysconfig.get_path("purelib")) / "nvidia"


def nvrtc() -> ctypes.CDLL:
    found = sorted(glob.glob(str(packages() / "**/libnvrtc.so*"), recursive=True))
    return ctypes.CDLL(found[0] if found else "libnvrtc.so.12")


def compile(library: ctypes.CDLL, source: str, defined: list[str]) -> str:
    program = ctypes.c_void_p()
    text = (HERE / source).read_bytes()

    def check(code: int, what: str) -> None:
        if code == 0:
            return
        size = ctypes.c_size_t()
        library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        library.nvrtcGetProgramLog(program, log)
        sys.exit(f"{source}: {what} failed with code {code}\n{log.value.decode()}")

    code = library.nvrtcCreateProgram(
        ctypes.byref(program), text, source.encode(), 0, None, None
    )
    check(code, "nvrtcCreateProgram")
    options = [f"-arch={TARGET}", "-std=c++17", f"-I{HERE}", "-default-device"]
    options += [f"-D{definition}" for definition in defined]
    given = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    check(library.nvrtcCompileProgram(program, len(options), given), "the compilation")
    size = ctypes.c_size_t()
    check(library.nvrtcGetPTXSize(program, ctypes.byref(size)), "nvrtcGetPTXSize")
    ptx = ctypes.create_string_buffer(size.value)
    check(library.nvrtcGetPTX(program, ptx), "nvrtcGetPTX")
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return ptx.value.decode()


def verify(name: str) -> None:
    found = glob.glob(str(packages() / "**/bin/ptxas"), recursive=True)
    if not found:
        print(f"{name}: not checked, there is no ptxas")
        return
    for target in CHECKED_FOR:
        with tempfile.TemporaryDirectory() as folder:
            made = os.path.join(folder, "made")
            command = [found[0], "-v", f"-arch={target}", str(HERE / name), "-o", made]
            result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode != 0:
            sys.exit(f"{name}, {target}: {result.stderr}")
        spills = [line for line in result.stderr.splitlines() if " bytes spill" in line]
        spilled = sum("0 bytes spill stores" not in line for line in spills)
        print(f"{name}: {target} takes it, {len(spills)} functions, {spilled} of them spill")


def main() -> None:
    library = nvrtc()
    shared = (HERE / "device.cuh").read_bytes()
    for name, (source, defined) in FILES.items():
        text = (HERE / source).read_bytes()
        ptx = compile(library, source, defined)
        first = f"// {source} {hash_of(text, shared)}\n"
        lines = [line.rstrip() for line in ptx.splitlines()]
        # Comments of the compiler say its version, and nothing else that matters.
        lines = [PTX_VERSION if line.startswith(".version") else line for line in lines]
        body = "\n".join(line for line in lines if line and not line.lstrip().startswith("//"))
        (HERE / name).write_text(first + body + "\n")
        verify(name)


main()
