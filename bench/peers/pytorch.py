# SPDX-License-Identifier: Apache-2.0
"""Training steps of the models of `halftone bench step` in PyTorch, any version from 1.12 on: one JSON line.

A step is batch, forward, backward and AdamW, as in halftone. Warm-up (with compilation) is timed apart.
`--describe` prints what this PyTorch is made of, and its matmul rates, instead.
"""
import argparse
import json
import os
import platform
import time

import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.c_fc, self.mlp_proj = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attention(self, x):
        batch, context, width = x.shape
        q, k, v = (part.view(batch, context, self.heads, width // self.heads).transpose(1, 2)
                   for part in self.c_attn(x).split(width, dim=2))
        if hasattr(functional, "scaled_dot_product_attention"):
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = (q @ k.transpose(-2, -1)) * (k.shape[-1] ** -0.5)
            mask = torch.ones(context, context, dtype=torch.bool).triu(1)
            y = functional.softmax(scores.masked_fill(mask, float("-inf")), dim=-1) @ v
        return self.c_proj(y.transpose(1, 2).reshape(batch, context, width))

    def forward(self, x):
        x = x + self.attention(self.ln_1(x))
        return x + self.mlp_proj(functional.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(size.vocabulary, size.width), nn.Embedding(size.context, size.width)
        self.h = nn.ModuleList(Block(size.width, size.heads) for _ in range(size.layers))
        self.ln_f = nn.LayerNorm(size.width)
        for parameter in self.parameters():
            if parameter.dim() == 2:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for block in self.h:
            x = block(x)
        return functional.linear(self.ln_f(x), self.wte.weight)


class Cnn(nn.Sequential):
    def __init__(self):
        def convolution(inputs, outputs):
            return nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()
        super().__init__(*convolution(1, 32), *convolution(32, 64), nn.MaxPool2d(2), *convolution(64, 128),
                         nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128 * 7 * 7, 256), nn.ReLU(), nn.Linear(256, 10))


class Mlp(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Flatten(), nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(),
                         nn.Linear(512, 10))


def adamw(parameters):
    """The fastest form that this version has."""
    parameters = list(parameters)
    for form in ({"fused": True}, {"foreach": True}, {}):
        try:
            return torch.optim.AdamW(parameters, lr=1e-4, **form), next(iter(form), "plain")
        except (TypeError, RuntimeError):
            continue
    raise RuntimeError("no AdamW")


def peak_resident():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))


def described():
    rates = {}
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        try:
            best = 0
            for rows, inner, columns in ((1024, 1024, 1024), (2048, 384, 1536), (2048, 1536, 384)):
                a, b = torch.rand(rows, inner).to(dtype), torch.rand(inner, columns).to(dtype)
                times = []
                for _ in range(6):
                    start = time.perf_counter()
                    a @ b
                    times.append(time.perf_counter() - start)
                best = max(best, 2e-9 * rows * inner * columns / sorted(times[1:])[2])
            rates[str(dtype).split(".")[1]] = round(best, 1)
        except RuntimeError as error:
            rates[str(dtype).split(".")[1]] = str(error).splitlines()[0]
    onednn = [line.strip(" -") for line in torch.__config__.show().splitlines() if "MKL-DNN" in line]
    return {"torch": torch.__version__, "python": platform.python_version(), "threads": torch.get_num_threads(),
            "onednn": onednn[0] if onednn else None, "onednn_used": torch.backends.mkldnn.is_available(),
            "has_compile": hasattr(torch, "compile"), "matmul_gflops": rates}


def run(options):
    torch.manual_seed(1)
    tokens = options.model == "gpt2"
    model = Gpt2(options) if tokens else Cnn() if options.model == "cnn" else Mlp()
    if options.mode == "channels_last":
        model = model.to(memory_format=torch.channels_last)
    optimizer, form = adamw(model.parameters())
    forward = torch.compile(model) if options.mode == "compile" else model
    generator = torch.Generator().manual_seed(1)
    if tokens:
        data = torch.randint(options.vocabulary, (16, options.batch, options.context + 1), generator=generator)
    else:
        images = torch.randint(256, (4096, 28, 28), generator=generator, dtype=torch.uint8)
        labels = torch.arange(4096) % 10

    def batch(step):
        if tokens:
            rows = data[step % len(data)]
            return rows[:, :-1].contiguous(), rows[:, 1:].reshape(-1)
        first = step * options.batch % (4096 - options.batch)
        x = (images[first:first + options.batch].unsqueeze(1).float() / 255 - 0.2860) / 0.3530
        if options.mode == "channels_last":
            x = x.to(memory_format=torch.channels_last)
        return x, labels[first:first + options.batch]

    def steps(first, count):
        start = time.perf_counter()
        for step in range(first, first + count):
            x, targets = batch(step)
            optimizer.zero_grad(set_to_none=True)
            if options.format == "float32":
                outputs = forward(x)
                loss = functional.cross_entropy(outputs.reshape(len(targets), -1), targets)
            else:
                with torch.autocast("cpu", dtype=getattr(torch, options.format)):
                    outputs = forward(x)
                    loss = functional.cross_entropy(outputs.reshape(len(targets), -1), targets)
            loss.backward()
            optimizer.step()
        return time.perf_counter() - start, loss.item()

    warmup, _ = steps(0, options.warmup)
    seconds, loss = steps(options.warmup, options.steps)
    if not loss == loss:
        raise RuntimeError("the loss is NaN")
    items = options.batch * (options.context if tokens else 1)
    return {"torch": torch.__version__, "python": platform.python_version(), "optimizer": form,
            "threads": torch.get_num_threads(), "wait_policy": os.environ.get("OMP_WAIT_POLICY", ""),
            "warmup_seconds": warmup, "milliseconds": 1e3 * seconds / options.steps,
            "items_per_second": items * options.steps / seconds, "peak_resident": peak_resident(), "loss": loss}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--describe", action="store_true")
    parser.add_argument("--model", choices=("gpt2", "cnn", "mlp"), default="gpt2")
    parser.add_argument("--format", choices=("float32", "bfloat16", "float16"), default="float32")
    parser.add_argument("--mode", choices=("eager", "compile", "channels_last"), default="eager")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--warmup", type=int, default=3)
    parser.add_argument("--threads", type=int, default=0)
    for name, value in (("batch", 0), ("context", 256), ("width", 384), ("layers", 6), ("heads", 6),
                        ("vocabulary", 256)):
        parser.add_argument("--" + name, type=int, default=value)
    options = parser.parse_args()
    options.batch = options.batch or (8 if options.model == "gpt2" else 128)
    if options.threads:
        torch.set_num_threads(options.threads)
    print(json.dumps(described() if options.describe else run(options)))


if __name__ == "__main__":
    main()
