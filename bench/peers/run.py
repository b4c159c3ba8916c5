#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""halftone and its peers, interleaved: whole training steps, each in a process of its own, A B C A B C ...

    bench/peers/run.py --python /usr/bin/python3 --python ~/new/bin/python --json peers.json --markdown peers.md

Every python that can import torch is a peer (eager; torch.compile where it has that; channels_last for the CNN).
Prints the medians with their spread and halftone's rate over the peer's, a ratio per round.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
WARMUP = {"gpt2": 3, "cnn": 5, "mlp": 50}
STEPS = {"gpt2": 8, "cnn": 30, "mlp": 500}
ITEMS = {"gpt2": "tokens/s", "cnn": "images/s", "mlp": "images/s"}


def environment(options, peer):
    result = dict(os.environ, OMP_WAIT_POLICY=options.wait_policy, OMP_NUM_THREADS=str(options.threads))
    if peer and options.blas:
        result["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, (options.blas, os.environ.get("LD_LIBRARY_PATH"))))
    return result


def call(command, options, peer):
    done = subprocess.run(command, env=environment(options, peer), capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip().splitlines() or ["exit code %d" % done.returncode])[-1])
    return done.stdout


def peer(python, options, *arguments):
    output = call([python, str(HERE / "pytorch.py"), *map(str, arguments)], options, True)
    return json.loads(output.strip().splitlines()[-1])


class Halftone:
    name = "halftone"

    def __init__(self, options):
        self.options = options

    def run(self, model, recipe, first):
        options = self.options
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "step.json"
            command = [options.halftone, "bench", "step", "--model", model, "--recipes", recipe, "--repetitions", "1",
                       "--warmup", WARMUP[model], "--steps", options.steps or STEPS[model], "--threads",
                       options.threads, "--json", file]
            call([str(word) for word in command + ([] if first else ["--no-memory"])], options, False)
            result = json.loads(file.read_text())
        measured = result["recipes"][0]
        return {"items_per_second": measured["items_per_second"],
                "peak_resident": measured.get("memory", {}).get("peak"),
                "of_roofline": measured["of_roofline"], "matmul_gflops": measured["matmul_gflops"],
                "version": result["environment"]["halftone"]}


class PyTorch:
    def __init__(self, options, python, mode, description):
        self.options, self.python, self.mode = options, python, mode
        self.name = "PyTorch %s%s" % (description["torch"].split("+")[0], "" if mode == "eager" else ", " + mode)

    def run(self, model, format_, first):
        return peer(self.python, self.options, "--model", model, "--format", format_, "--mode", self.mode, "--warmup",
                    WARMUP[model], "--steps", self.options.steps or STEPS[model], "--threads", self.options.threads)


def find_peers(options):
    """The pythons that can import torch, with what it is made of; says which can not."""
    found = []
    for python in options.python:
        try:
            found.append((python, peer(python, options, "--describe")))
        except (OSError, RuntimeError, ValueError) as error:
            print("missing: %s: %s" % (python, error), file=sys.stderr)
    return found


def contenders(options, peers, model):
    result = [Halftone(options)]
    for python, description in peers:
        result.append(PyTorch(options, python, "eager", description))
        if model == "cnn":
            result.append(PyTorch(options, python, "channels_last", description))
        if description["has_compile"] and not options.no_compile:
            result.append(PyTorch(options, python, "compile", description))
    return result


def measure(options, peers):
    results = []
    for model in options.models:
        for format_ in options.formats:
            entries = [{"model": model, "format": format_, "name": contender.name, "contender": contender, "rounds": []}
                       for contender in contenders(options, peers, model)]
            for number in range(options.repetitions):
                for entry in entries:
                    if "failure" in entry:
                        continue
                    print("%s %s, round %d of %d: %s" % (model, format_, number + 1, options.repetitions, entry["name"]),
                          file=sys.stderr)
                    try:
                        entry["rounds"].append(entry["contender"].run(model, format_, number == 0))
                    except (OSError, RuntimeError, ValueError) as error:
                        entry["failure"] = str(error)
                        print("failed: %s" % error, file=sys.stderr)
            results += [{key: value for key, value in entry.items() if key != "contender"} for entry in entries]
    return results


def spread(values):
    return {"median": statistics.median(values), "low": min(values), "high": max(values)}


def summarise(results):
    ours = {(entry["model"], entry["format"]): entry for entry in results if entry["name"] == "halftone"}
    for entry in results:
        rates = [measured["items_per_second"] for measured in entry["rounds"]]
        if not rates:
            continue
        entry["items_per_second"] = spread(rates)
        peaks = [measured["peak_resident"] for measured in entry["rounds"] if measured.get("peak_resident")]
        entry["peak_resident"] = max(peaks) if peaks else None
        reference = [measured["items_per_second"] for measured in ours[entry["model"], entry["format"]]["rounds"]]
        ratios = [a / b for a, b in zip(reference, rates)]  # of one round: what the machine did to one, it did to both
        if entry["name"] != "halftone" and ratios:
            entry["halftone_over_it"] = spread(ratios)


def memory(entry):
    return "–" if not entry.get("peak_resident") else "%.0f" % (entry["peak_resident"] / 2**20)


def rows(results):
    for entry in results:
        head = [entry["model"], entry["format"], entry["name"]]
        if "items_per_second" not in entry:
            yield head + ["failed: " + entry.get("failure", "")[:60], "", "", "", ""]
            continue
        rate, ratio = entry["items_per_second"], entry.get("halftone_over_it")
        warmup = [measured["warmup_seconds"] for measured in entry["rounds"] if "warmup_seconds" in measured]
        yield head + ["%s %s" % (format(round(rate["median"]), ","), ITEMS[entry["model"]]),
                      "%s–%s" % (format(round(rate["low"]), ","), format(round(rate["high"]), ",")),
                      "" if ratio is None else "%.2f (%.2f–%.2f)" % (ratio["median"], ratio["low"], ratio["high"]),
                      memory(entry), "%.0f s" % statistics.median(warmup) if warmup else ""]


HEAD = ["model", "format", "", "median", "slowest–fastest", "halftone is faster by", "peak MiB", "warm-up"]


def markdown(report):
    lines = ["<!-- written by bench/peers/run.py -->",
             "%s, %s, %d threads, OMP_WAIT_POLICY=%s, %d rounds, interleaved." % (
                 report["date"], report["processor"], report["threads"], report["wait_policy"], report["repetitions"]),
             "", "| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD)]
    lines += ["| " + " | ".join(row) + " |" for row in rows(report["results"])]
    lines += ["", "Peers:", ""]
    for description in report["peers"]:
        rates = ", ".join("%s %s" % (name, "%.0f GFLOP/s" % rate if isinstance(rate, (int, float)) else "none")
                          for name, rate in description["matmul_gflops"].items())
        lines.append("- PyTorch %s, Python %s, %s; its matmuls: %s" % (
            description["torch"], description["python"], description["onednn"] or "without oneDNN", rates))
    return "\n".join(lines + ["- " + line for line in report["warnings"]]) + "\n"


def table(results):
    lines = [HEAD] + list(rows(results))
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEAD))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines)


def slow_products(results, peers):
    """A peer without a fast BLAS is no peer: what its matmul rate is beside halftone's."""
    ours = {entry["format"]: max(measured["matmul_gflops"] for measured in entry["rounds"])
            for entry in results if entry["name"] == "halftone" and entry["rounds"]}
    for python, description in peers:
        for name, rate in description["matmul_gflops"].items():
            if name in ours and isinstance(rate, (int, float)) and rate < ours[name] / 2:
                yield ("%s: matmuls of %s run at %.0f GFLOP/s, halftone's at %.0f: is a fast BLAS installed "
                       "(libopenblas0-pthread, or --blas FOLDER)?" % (python, name, rate, ours[name]))


def processor():
    try:
        with open("/proc/cpuinfo") as lines:
            return next(line.split(": ", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--halftone", default=str(ROOT / "build/release/halftone"), help="the command")
    parser.add_argument("--python", action="append", help="one with torch; several times for several versions")
    parser.add_argument("--models", default="gpt2,cnn,mlp", type=lambda text: text.split(","))
    parser.add_argument("--formats", default="float32,bfloat16", type=lambda text: text.split(","))
    parser.add_argument("--repetitions", default=5, type=int, help="rounds")
    parser.add_argument("--steps", default=0, type=int, help="of a process after warm-up; 0: by model")
    parser.add_argument("--threads", default=len(os.sched_getaffinity(0)), type=int)
    parser.add_argument("--wait-policy", default="PASSIVE", help="OMP_WAIT_POLICY of all")
    parser.add_argument("--blas", help="a folder with the libblas.so.3 that peers should use")
    parser.add_argument("--no-compile", action="store_true", help="without torch.compile")
    parser.add_argument("--json", help="all numbers")
    parser.add_argument("--markdown", help="the table for docs/performance.md")
    options = parser.parse_args()
    options.python = options.python or [sys.executable]
    for model in options.models:
        if model not in STEPS:
            parser.error("--models: %s; expected %s" % (model, ", ".join(STEPS)))

    peers = find_peers(options)
    results = measure(options, peers)
    summarise(results)
    report = {"date": datetime.date.today().isoformat(), "processor": processor(), "threads": options.threads,
              "wait_policy": options.wait_policy, "repetitions": options.repetitions, "blas": options.blas,
              "peers": [dict(description, python_path=python) for python, description in peers],
              "warnings": list(slow_products(results, peers)), "results": results}
    print(table(results))
    for warning in report["warnings"]:
        print("warning: " + warning)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(report, indent=1) + "\n")
    if options.markdown:
        pathlib.Path(options.markdown).write_text(markdown(report))


if __name__ == "__main__":
    main()
