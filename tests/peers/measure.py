#!/usr/bin/env python3
"""Measures smem beside CUB, cuBLAS, cuDNN and PyTorch, and writes the tables of samples/guide/performance.md.

    tests/peers/measure.py [--smem FILE] [--cuda FILE] [--page FILE] [--out FILE] [TABLE ...]

Runs `smem bench` and the peers in turns on one NVIDIA GPU, case by case, and prints each table in Markdown with device, driver, date
and command above it. With --page it replaces the tables of that page, which stand between `<!-- table: NAME -->` and
`<!-- end -->`. Needs PyTorch, and nvcc with cuBLAS or a program built of cuda.cu before (--cuda). A case that a peer refuses has
"-".

How times are made: those of smem by `smem bench` (events; calls of less than 32 MiB in a queue without events), those of CUB and
cuBLAS by cuda.cu in the same way, those of PyTorch by events around calls that a CUDA graph replays, so that Python's time does not
count. Beside these smem's calls are all in a queue without events, which would make each 4 us longer. Either side's calls take turns
among arrays that the second-level cache does not hold.
"""
import argparse
import collections
import datetime
import json
import math
import os
import re
import shlex
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


class Measured:
    """Runs the programs. Milliseconds, or None where a program refused the case."""

    def __init__(self, options):
        self.options = options
        self.device = ""

    def bench(self, words):
        """The rows of `smem bench WORDS`."""
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "rows.json")
            done = subprocess.run([self.options.smem, "bench", *shlex.split(words), "--json", file],
                                  capture_output=True, text=True)
            try:
                with open(file) as rows:
                    results = json.load(rows)
            except (OSError, ValueError):
                print(f"smem bench {words}: {done.stdout}{done.stderr}", file=sys.stderr)
                return []
        self.device = f"{results['device']} ({results['platform']}, driver {results['driver']}), smem {results['smem']}"
        for row in results["rows"]:
            if row["wrong"]:
                sys.exit(f"smem bench {words}: wrong results: {row['wrong']}")
        return results["rows"]

    def smem(self, words):
        """The row of `smem bench WORDS`, or None."""
        rows = self.bench(words + " --quick")
        return rows[-1] if rows else None

    def smem_ms(self, words, queue=False):
        """`queue`: in a queue without events, as PyTorch's calls are timed."""
        row = self.smem(words + (" --queue" if queue else ""))
        return row["median_s"] * 1e3 if row else None

    def share(self, words):
        row = self.smem(words)
        return row["share"] if row else None

    def cuda(self, case):
        done = subprocess.run([self.options.cuda, case], capture_output=True, text=True)
        if done.returncode != 0:
            print(done.stderr.strip(), file=sys.stderr)
            return None
        return float(done.stdout.split()[-1])

    def cuda_all(self, cases):
        """Of several cases by one process, in a dictionary."""
        done = subprocess.run([self.options.cuda, *cases], capture_output=True, text=True)
        print(done.stderr.strip(), file=sys.stderr)
        return {line.split()[0]: float(line.split()[1]) for line in done.stdout.splitlines()}

    def torch(self, make):
        """Of the calls that make(torch) returns, which return their results."""
        import torch

        torch.backends.cudnn.benchmark = True
        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cuda.matmul.allow_tf32 = False
        try:
            with torch.no_grad():
                return graph_milliseconds(torch, make)
        except Exception as error:  # whatever PyTorch refuses a case with
            print(f"PyTorch: {str(error)[:200]}", file=sys.stderr)
            return None
        finally:
            torch.cuda.empty_cache()


def graph_milliseconds(torch, make):
    """Median time of a call among 10 that a CUDA graph replays; of one call where it cannot be captured."""
    before = torch.cuda.memory_allocated()
    calls = [make(torch)]
    result = calls[0]()
    sets = min(2 ** 29 // max(torch.cuda.memory_allocated() - before, 1) + 1, 10)
    calls += [make(torch) for _ in range(sets - 1)]
    for call in calls * 3:
        result = call()
    torch.cuda.synchronize()
    del result
    results = collections.deque(maxlen=sets)  # until then a result's memory is not used again
    count, run = 1, calls[0]
    try:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for i in range(10):
                results.append(calls[i % sets]())
        count, run = 10, graph.replay
    except RuntimeError:
        torch.cuda.synchronize()
    times = []
    run()
    for _ in range(11):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        run()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / count)
    return sorted(times)[len(times) // 2]


def number(value, digits=3):
    """Three significant digits."""
    if value is None:
        return "-"
    if value == 0:
        return "0"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{places}f}"


def ratio(peer, ours):
    return "-" if peer is None or ours is None else f"{peer / ours:.2f}"


def beside(m, cases, peer_name, queue=False):
    """Rows of a case's text, smem's and a peer's time, and their ratio. A case: (text, words, the peer's time)."""
    rows = []
    for text, words, peer in cases:
        ours = m.smem_ms(words, queue)
        theirs = peer()
        rows.append([text, number(ours), number(theirs), ratio(theirs, ours)])
    return ["case", "smem ms", f"{peer_name} ms", f"{peer_name} / smem"], rows


def shares(m, cases):
    return ["case", "variant", "ms", "share of copy"], [
        [text, row["variant"], number(row["median_s"] * 1e3), f"{row['share']:.2f}"]
        for text, words in cases
        if (row := m.smem(words))
    ]


def products(m):
    """Random shapes, as `smem bench gemm --random` draws them."""
    rows = []
    for kind in ["float", "tf32", "double", "half", "bfloat16", "int8"]:
        words = f"gemm --random {m.options.seed} --kind {kind} --shapes {m.options.shapes}"
        lines = subprocess.run([m.options.smem, "bench", *words.split(), "--print"], capture_output=True, text=True,
                               check=True).stdout.splitlines()
        times = [row["median_s"] * 1e3 for row in m.bench(words)]
        if len(times) != len(lines):
            sys.exit(f"smem bench {words}: {len(times)} of {len(lines)} shapes were measured")
        cases = []
        for line in lines:
            turns = ("t" if "--transpose-a" in line else "n") + ("t" if "--transpose-b" in line else "n")
            cases.append(f"gemm:{kind}:{line.split()[0]}:{turns}:1:queue")
        theirs = m.cuda_all(cases)
        ratios = sorted((theirs[case] / ours, line) for case, line, ours in zip(cases, lines, times) if case in theirs)
        print(kind, *[f"{r:.2f} {line};" for r, line in ratios[:5]], file=sys.stderr)
        mean = math.exp(sum(math.log(r) for r, _ in ratios) / len(ratios))
        rows.append([kind, str(len(ratios)), f"{mean:.2f}", str(sum(r < 0.75 for r, _ in ratios)), f"{ratios[0][0]:.2f}"])
    return ["type", "shapes", "cuBLAS / smem, geometric mean", "shapes under 0.75", "worst"], rows


def named_products(m):
    def case(text, words, kind, shape, batch=1, turns="nn"):
        return text, "gemm " + words, lambda: m.cuda(f"gemm:{kind}:{shape}:{turns}:{batch}")

    cases = [case(f"{n}^3 {kind}", f"{n}x{n}x{n} {'float --tf32' if kind == 'tf32' else kind}"
                  f"{' --out ' + kind if kind in ('half', 'bfloat16') else ''}", kind, f"{n}x{n}x{n}")
             for kind in ["float", "tf32", "double", "half", "bfloat16", "int8"] for n in [1024, 4096]]
    for batch, n, kind in [(128, 512, "half"), (500, 256, "half"), (1000, 128, "half"), (10000, 64, "half"), (10000, 64, "float"),
                           (100000, 16, "half"), (100000, 16, "float"), (100000, 16, "double")]:
        out = " --out half" if kind == "half" else ""
        cases.append(case(f"{batch:,} of {n}^3 {kind}", f"{n}x{n}x{n} {kind} --batch {batch}{out}", kind, f"{n}x{n}x{n}", batch))
    for n in [1, 4, 16]:
        cases.append(case(f"{n} x 8192 x 8192 half", f"{n}x8192x8192 half --out half", "half", f"{n}x8192x8192"))
    cases.append(case("8192 x 16 x 8192 half, B transposed", "8192x16x8192 half --out half --transpose-b", "half", "8192x16x8192", turns="nt"))
    cases.append(case("256 x 4096 x 4096 half, B transposed", "256x4096x4096 half --out half --transpose-b", "half", "256x4096x4096",
                      turns="nt"))
    columns, rows = beside(m, cases, "cuBLAS")
    for kind, n in [("float", 256), ("float", 1024), ("float", 4096), ("double", 256), ("double", 2048)]:
        ours = m.smem_ms(f"complex_gemm {n}x{n}x{n} {kind}")
        theirs = m.cuda(f"gemm:complex_{kind}:{n}x{n}x{n}")
        rows.append([f"{n}^3 complex {kind}", number(ours), number(theirs), ratio(theirs, ours)])
    for n in [4096, 8192]:
        ours = m.smem_ms(f"gemm {n}x{n}x{n} e4m3 --out bfloat16 --transpose-b", True)
        theirs = m.torch(lambda torch: fp8(torch, n))
        rows.append([f"{n}^3 e4m3 to bfloat16, both along k", number(ours), number(theirs), ratio(theirs, ours)])
    return columns, rows


def fp8(torch, n):
    a, b = [torch.randn(n, n, device="cuda").to(torch.float8_e4m3fn) for _ in range(2)]
    one = torch.ones((), device="cuda")
    return lambda: torch._scaled_mm(a, b.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16)


def sorts(m):
    def keys(power, kind):
        return f"2^{power} {kind}", f"sort {2 ** power} {kind}", lambda: m.cuda(f"sort:{kind}:{2 ** power}")

    def pairs(key, value):
        return (f"2^26 pairs of {key} with {value}", f"sort {2 ** 26} {key} --op sort_pairs --value {value}",
                lambda: m.cuda(f"pairs:{key},{value}:{2 ** 26}"))

    return beside(m, [
        keys(27, "uint32"), keys(27, "float"), keys(28, "half"), keys(26, "uint64"), keys(26, "double"),
        keys(20, "uint32"), keys(16, "uint32"),
        pairs("uint32", "uint32"), pairs("uint32", "uint64"), pairs("uint64", "uint32"), pairs("uint64", "uint64"),
        ("2^26 uint32 by a comparison", f"sort_by {2 ** 26} uint32", lambda: m.cuda(f"merge_sort:uint32:{2 ** 26}")),
        *[(f"reduce_by_key of 2^28 float, runs of {run}", f"reduce_by_key {2 ** 28} --run-length {run}",
           lambda run=run: m.cuda(f"reduce_by_key:float:{2 ** 28}:{run}")) for run in [1, 8, 1000]],
    ], "CUB")


def row_sorts(m):
    def rows(shape):
        r, c = [int(n) for n in shape.split("x")]
        return (f"rows of {r:,} x {c:,} float", f"sort_rows {shape}",
                lambda: m.torch(lambda torch: (lambda a: lambda: torch.sort(a, 1))(torch.rand(r, c, device="cuda"))))

    def top(k):
        return (f"top {k:,} of 2^28 float", f"top_k {2 ** 28} --k {k}",
                lambda: m.torch(lambda torch: (lambda a: lambda: torch.topk(a, k))(torch.rand(2 ** 28, device="cuda"))))

    columns, table = beside(m, [
        rows("1000000x32"), rows("65536x512"), rows("4096x8192"), rows(f"128x{2 ** 20}"),
        top(1), top(64), top(2048), top(100000),
        ("top 64 of rows of 4,096 x 8,192 float", "top_k 4096x8192 --k 64",
         lambda: m.torch(lambda torch: (lambda a: lambda: torch.topk(a, 64, 1))(torch.rand(4096, 8192, device="cuda")))),
    ], "PyTorch", True)
    table.append(["sum of 2^28 float, for comparison", number(m.smem_ms(f"reduce {2 ** 28}")), "-", "-"])
    return columns, table


def spreads(m):
    """Keys that are not uniform, beside those that are."""
    rows = []
    for text, words, others in [
        ("sort of 2^27 uint32", f"sort {2 ** 27}", ["--distinct 1", "--distinct 2", "--spread zipf", "--spread sorted",
                                                    "--spread reversed"]),
        *[(f"top {k:,} of 2^28 float", f"top_k {2 ** 28} --k {k}", ["--distinct 1", "--distinct 2", "--spread high-bits",
                                                                    "--spread sorted"]) for k in [64, 2048, 100000]],
    ]:
        uniform = m.smem_ms(words)
        rows.append([text, "uniform", number(uniform), "1.00"])
        for other in others:
            ours = m.smem_ms(f"{words} {other}")
            rows.append([text, f"`{other}`", number(ours), ratio(ours, uniform)])
    return ["case", "keys", "smem ms", "of uniform keys' time"], rows


def short_calls(m):
    cases = []
    for size in [1000, 30000, 10 ** 6, 5 * 10 ** 6]:
        for text, words, name in [("sum", "reduce {}", "sum"), ("inclusive sum", "scan {}", "scan"),
                                  ("copy_if, half of them", "select {}", "copy_if")]:
            cases.append((f"{text} of {size:,} float", words.format(size),
                          lambda name=name, size=size: m.cuda(f"{name}:float:{size}")))
    columns, rows = beside(m, cases, "CUB")
    in_us = [[text, number(float(a) * 1e3) if a != "-" else a, number(float(b) * 1e3) if b != "-" else b, r]
             for text, a, b, r in rows]
    return [c.replace(" ms", " us") for c in columns], in_us


def vectors(m):
    n = 2 ** 28
    return beside(m, [
        ("sum of 2^28 float", f"reduce {n}", lambda: m.cuda(f"sum:float:{n}")),
        ("inclusive sum of 2^28 float", f"scan {n}", lambda: m.cuda(f"scan:float:{n}")),
        ("copy_if of 2^28 float, half of them", f"select {n}", lambda: m.cuda(f"copy_if:float:{n}")),
        ("partition of 2^28 float", f"select {n} --op partition", lambda: m.cuda(f"partition:float:{n}")),
        ("partition_reversed of 2^28 float, CUB's order", f"select {n} --op partition_reversed",
         lambda: m.cuda(f"partition:float:{n}")),
        ("run_length_encode of 2^28 float, runs of 20", f"select {n} --op run_length_encode --per-cent 5",
         lambda: m.cuda(f"run_lengths:float:{n}:20")),
    ], "CUB")


def rows(m):
    table = []
    for shape in ["1000000x128", "16384x16384", "4096x50257", "8192x1000"]:
        for words in ["softmax {}", "norm {} --weight --bias", "norm {} --op rms_norm --weight"]:
            of_types = [m.share(words.format(f"{shape} {kind}")) for kind in ["float", "half"]]
            name = "rms_norm" if "rms" in words else "layer_norm" if "norm" in words else "softmax"
            table.append([f"{name} of {shape.replace('x', ' x ')}", *[f"{share:.2f}" if share else "-" for share in of_types]])
    return ["rows", "float", "half"], table


def attention(m):
    def cudnn(batch, heads, kv_heads, length, size, causal, keys=None, kind="float16"):
        def make(torch):
            import torch.nn.functional as functional
            from torch.nn.attention import SDPBackend, sdpa_kernel

            of = {"device": "cuda", "dtype": getattr(torch, kind)}
            q = torch.randn(batch, heads, length, size, **of)
            k, v = [torch.randn(batch, kv_heads, keys or length, size, **of) for _ in range(2)]

            def call():
                with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
                    return functional.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=heads != kv_heads)

            return call

        return lambda: m.torch(make)

    cases = []
    for batch, heads, kv_heads, length, size in [(4, 16, 16, 4096, 64), (4, 16, 16, 4096, 128), (2, 16, 16, 4096, 256),
                                                 (1, 32, 8, 16384, 128), (4, 16, 16, 4095, 128), (32, 16, 16, 512, 128)]:
        for causal in [False, True]:
            text = f"{batch} x {heads}{f'/{kv_heads}' if kv_heads != heads else ''} heads of {length}, size {size}"
            words = f"attention {batch}x{heads}x{length}x{size} half"
            words += f" --kv-heads {kv_heads}" if kv_heads != heads else ""
            cases.append((text + (", causal" if causal else ""), words + (" --causal" if causal else ""),
                          cudnn(batch, heads, kv_heads, length, size, causal)))
    cases.append(("4 x 16 heads of 4096, size 128, bfloat16", "attention 4x16x4096x128 bfloat16",
                  cudnn(4, 16, 16, 4096, 128, False, kind="bfloat16")))
    for batch, heads, kv_heads, keys in [(16, 32, 32, 8192), (16, 32, 8, 8192), (1, 32, 8, 131072), (64, 32, 8, 1000)]:
        words = f"attention {batch}x{heads}x1x128 half --keys {keys}" + (f" --kv-heads {kv_heads}" if kv_heads != heads else "")
        cases.append((f"one query, {batch} x {heads}/{kv_heads} heads, {keys} keys, size 128", words,
                      cudnn(batch, heads, kv_heads, 1, 128, False, keys)))
    return beside(m, cases, "cuDNN", True)


def convolutions(m):
    layers = [(64, 56, 64, 3, 1, 1), (128, 28, 128, 3, 1, 1), (256, 14, 256, 3, 1, 1), (512, 7, 512, 3, 1, 1),
              (64, 56, 256, 1, 1, 1), (256, 56, 512, 1, 2, 1), (16, 112, 16, 3, 1, 1), (3, 224, 64, 7, 2, 1),
              (32, 112, 32, 3, 1, 32), (128, 56, 128, 3, 1, 128), (64, 112, 64, 3, 2, 64), (256, 14, 256, 5, 1, 256)]

    def cudnn(layer, kind, last):
        channels, side, filters, window, stride, groups = layer

        def make(torch):
            import torch.nn.functional as functional

            form = torch.channels_last if last else torch.contiguous_format
            x = torch.randn(64, channels, side, side, device="cuda", dtype=kind(torch)).contiguous(memory_format=form)
            w = torch.randn(filters, channels // groups, window, window, device="cuda", dtype=kind(torch))
            w = w.contiguous(memory_format=form)
            return lambda: functional.conv2d(x, w, stride=stride, padding=window // 2, groups=groups)

        return m.torch(make)

    table = []
    for layer in layers:
        channels, side, filters, window, stride, groups = layer
        words = (f"conv2d {side}x{side} {{}} --channels {channels} --filters {filters} --window {window} --stride {stride} "
                 f"--groups {groups} --batch 64")
        half, planes = [m.smem_ms(words.format("half") + layout, True) for layout in [" --interleaved", ""]]
        int8 = m.smem_ms(words.format("int8") + " --interleaved", True)
        single = m.smem_ms(words.format("float") + (" --winograd 4x4" if window == 3 and groups == 1 else ""), True)
        cudnn_half, cudnn_planes = [cudnn(layer, lambda torch: torch.float16, last) for last in [True, False]]
        both = [cudnn(layer, lambda torch: torch.float32, last) for last in [False, True]]
        cudnn_float = min([t for t in both if t is not None], default=None)
        name = f"{channels} x {side}^2, {filters} of {window} x {window}{f' / {stride}' if stride > 1 else ''}"
        name += ", a filter for each channel" if groups > 1 else ""
        table.append([name])
        for ours, theirs in [(half, cudnn_half), (planes, cudnn_planes), (single, cudnn_float)]:
            table[-1] += [number(ours), number(theirs), ratio(theirs, ours)]
        table[-1].append(number(int8))
    columns = ["64 images"]
    for kind in ["half, channels last", "half, planes", "float"]:
        columns += [f"{kind}: smem ms", "cuDNN ms", "cuDNN / smem"]
    return columns + ["int8, channels last: smem ms"], table


def memory_bound(m):
    return shares(m, [
        ("transpose of 16384 x 16384 float", "transpose 16384x16384"),
        ("transpose of 16001 x 15999 float", "transpose 16001x15999"),
        ("transpose of 33,000,000 x 6 float", "transpose 33000000x6"),
        ("transpose of 6 x 33,000,000 float", "transpose 6x33000000"),
        ("transpose of 16,000,000 x 12 float", "transpose 16000000x12"),
        ("2,500,000 transposes of 7 x 7 float", "transpose 7x7 --batch 2500000"),
        ("17,000 transposes of 100 x 77 float", "transpose 100x77 --batch 17000"),
        ("transpose of 32749 x 32771 bytes", "transpose 32749x32771 uchar"),
        ("median 5 x 5, 8192 x 8192 float", "median_blur 8192x8192 --window 5"),
        ("median 5 x 5, 8192 x 8192 bytes", "median_blur 8192x8192 uint8 --window 5"),
        ("box weights 7 x 7, 8192 x 8192 float", "convolve2d 8192x8192 --kernel 7x7"),
        ("Gaussian 5 x 5, 8192 x 8192 bytes", "separable 8192x8192 uint8"),
        ("Gaussian 15 x 15, 8192 x 8192 bytes", "separable 8192x8192 uint8 --window 15"),
        ("Gaussian 5 x 5, 8192 x 8192 half", "separable 8192x8192 half"),
        ("box 101 x 101, 8192 x 8192 bytes", "box_blur 8192x8192 uint8 --radius 50"),
        ("box radius 200, 8192 x 8192 float", "box_blur 8192x8192 --radius 200"),
        ("box 3 x 3, 8192 x 8192 of four bytes", "box_blur 8192x8192 uint8 --channels 4"),
        ("moving_mean of 2^28 float by 5,001", f"moving_mean {2 ** 28} --window 5001"),
        ("moving_mean of 2^28 float by 100,001", f"moving_mean {2 ** 28} --window 100001"),
    ])


TABLES = {
    "products": products,
    "named-products": named_products,
    "sorts": sorts,
    "row-sorts": row_sorts,
    "spreads": spreads,
    "short-calls": short_calls,
    "vectors": vectors,
    "rows": rows,
    "attention": attention,
    "convolutions": convolutions,
    "memory-bound": memory_bound,
}


def markdown(columns, table):
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in table])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=", ".join(TABLES))
    parser.add_argument("--smem", default="smem", help="the smem command")
    parser.add_argument("--cuda", help="the program built of cuda.cu; default: nvcc builds it")
    parser.add_argument("--page", help="replace the tables of this page")
    parser.add_argument("--out", help="also write the tables to this file, one after the other")
    parser.add_argument("--seed", type=int, default=3307, help="of the random products")
    parser.add_argument("--shapes", type=int, default=60, help="random products of each type")
    options = parser.parse_args()
    unknown = [name for name in options.tables if name not in TABLES]
    if unknown:
        parser.error(f"no table {unknown[0]}; there are: {', '.join(TABLES)}")
    folder = tempfile.TemporaryDirectory()
    if not options.cuda:
        options.cuda = os.path.join(folder.name, "cuda")
        subprocess.run(["nvcc", "-O3", "-std=c++17", "-arch=native", "-o", options.cuda, os.path.join(HERE, "cuda.cu"), "-lcublas"],
                       check=True)
    measured = Measured(options)
    for name in options.tables or TABLES:
        begin = datetime.datetime.now()
        columns, table = TABLES[name](measured)
        drawn = f" --seed {options.seed} --shapes {options.shapes}" if name == "products" else ""
        text = (f"{measured.device}, {datetime.date.today()}: `tests/peers/measure.py {name}{drawn}`\n\n"
                + markdown(columns, table))
        print(f"## {name}\n\n{text}\n", flush=True)
        print(f"{name}: {(datetime.datetime.now() - begin).seconds} s", file=sys.stderr)
        if options.out:
            with open(options.out, "a") as out:
                out.write(f"<!-- table: {name} -->\n{text}\n<!-- end -->\n\n")
        if options.page:
            with open(options.page) as page:
                before = page.read()
            after, count = re.subn(rf"<!-- table: {name} -->\n.*?<!-- end -->",
                                   lambda _: f"<!-- table: {name} -->\n{text}\n<!-- end -->", before, flags=re.S)
            if count == 0:
                sys.exit(f"{options.page}: no <!-- table: {name} -->")
            with open(options.page, "w") as page:
                page.write(after)


if __name__ == "__main__":
    main()
