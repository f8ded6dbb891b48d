#!/usr/bin/env python3
# Wherry: bulk jobs compared with img2dataset
# SPDX-License-Identifier: Apache-2.0
"""usage: bench_bulk.py [--pictures N] [--runs N] [--img2dataset PYTHON] [--workers N]... [--tls]

Downloads N pictures of 640x427 pixels from nginx on this machine, fits them into 256 pixels, and writes tar files. Prints
the CPU time (user and system) of all processes of the job per picture, and the pictures per second. The runs of the two
programs alternate. PYTHON is an interpreter with img2dataset.

Needs Pillow and the photographs of Debian's package mate-backgrounds.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Dict, List, Tuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests/TestServer"))

from wherry_testserver.nginx import Nginx  # noqa: E402

PHOTOGRAPHS = "/usr/share/backgrounds/mate/nature"


def make_pictures(folder: str) -> List[str]:
    """Writes a small copy of each photograph, and returns the file names."""
    from PIL import Image

    names = sorted(name for name in os.listdir(PHOTOGRAPHS) if name.endswith(".jpg"))
    for name in names:
        with Image.open(os.path.join(PHOTOGRAPHS, name)) as picture:
            small = picture.convert("RGB").resize((640, 427), Image.Resampling.LANCZOS)
            file = io.BytesIO()
            small.save(file, "JPEG", quality=85)
        pathlib.Path(folder, name).write_bytes(file.getvalue())
    return names


def measured(command: List[str], environment: Dict[str, str]) -> Tuple[float, float]:
    """Returns the CPU time of a program with all of its processes, and its duration, in seconds."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, time.monotonic() - begun


def wherry(urls: str, folder: str, workers: int, ca: str) -> List[str]:
    code = (
        "from wherry.bulk import Download, Resize, WebDataset, run\n"
        f"result = run({urls!r}, [Download(deny_addresses=None, verify={ca!r}), Resize(256, quality=0.95)],\n"
        f"             WebDataset({folder!r}), shard_size=500, workers={workers}, max_per_host=64, progress=False)\n"
        "assert result.ok and not result.statistics.failures, result\n"
    )
    return [sys.executable, "-c", code]


def img2dataset(python: str, urls: str, folder: str, workers: int) -> List[str]:
    return [
        python, "-m", "img2dataset.main", "--url_list", urls, "--output_folder", folder, "--output_format", "webdataset",
        "--image_size", "256", "--resize_mode", "keep_ratio", "--resize_only_if_bigger", "True", "--encode_quality", "95",
        "--processes_count", str(workers), "--thread_count", "64", "--number_sample_per_shard", "500",
        "--enable_wandb", "False",
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--pictures", type=int, default=4000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--workers", type=int, action="append")
    parser.add_argument("--img2dataset", metavar="PYTHON")
    parser.add_argument("--tls", action="store_true")
    chosen = parser.parse_args()
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "bindings/python/src")}
    with tempfile.TemporaryDirectory() as place:
        pictures = os.path.join(place, "pictures")
        os.mkdir(pictures)
        os.chmod(place, 0o755)
        names = make_pictures(pictures)
        with Nginx(root=pictures) as nginx:
            base = f"https://localhost:{nginx.tls_port}" if chosen.tls else f"http://127.0.0.1:{nginx.port}"
            environment["SSL_CERT_FILE"] = nginx.ca
            urls = os.path.join(place, "urls.txt")
            with open(urls, "w") as file:
                file.writelines(f"{base}/{names[n % len(names)]}?{n}\n" for n in range(chosen.pictures))
            for workers in chosen.workers or [1, 2]:
                results: Dict[str, List[Tuple[float, float]]] = {"wherry": [], "img2dataset": []}
                for _ in range(chosen.runs):
                    for name in results:
                        folder = os.path.join(place, "out")
                        if name == "img2dataset" and not chosen.img2dataset:
                            continue
                        command = (
                            wherry(urls, folder, workers, nginx.ca)
                            if name == "wherry"
                            else img2dataset(chosen.img2dataset, urls, folder, workers)
                        )
                        results[name].append(measured(command, environment))
                        shutil.rmtree(folder)
                for name, figures in results.items():
                    if figures:
                        cpu = statistics.median(one[0] for one in figures) / chosen.pictures * 1000
                        rate = chosen.pictures / statistics.median(one[1] for one in figures)
                        line = {"program": name, "workers": workers, "cpu_ms": round(cpu, 2), "per_second": round(rate)}
                        print(json.dumps(line))


if __name__ == "__main__":
    main()
