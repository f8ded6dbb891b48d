#!/usr/bin/env python3
# Wherry: bulk jobs compared with other programs
# SPDX-License-Identifier: Apache-2.0
"""usage: bench_bulk.py [--pictures N] [--runs N] [--workers N]... [--peers PYTHON] [--task TASK]... [--tls]

Downloads N pictures of 640x427 pixels from nginx on this machine. Prints a line of JSON for each task and program, with the
CPU time (user and system) of all its processes per picture, the pictures per second, and the load of the machine before the
task. The runs of the programs alternate, and the figures are medians.

    download    writes the pictures as they are: wherry and aria2c into files, daft into Parquet
    resize      also fits them into 256 pixels: wherry and img2dataset write tar files, daft Parquet
    thumbnail   only the resizing, of pictures in memory, with one thread: wherry and pyvips

PYTHON is an interpreter with the packages of peers-bulk.txt. Missing programs are left out, and Daft with --tls. aria2c and
Daft use all cores, whatever the number of workers.

Needs Pillow, pyarrow for daft, and the photographs of Debian's package mate-backgrounds.
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
import tarfile
import tempfile
import time
from dataclasses import dataclass
from typing import Callable, Dict, List, Optional, Tuple

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
    done = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise SystemExit(f"{command[0]} failed with status {done.returncode}: {done.stderr[-2000:]}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, time.monotonic() - begun


@dataclass
class Setting:
    """The files and numbers of a run."""

    urls: str
    pictures: str
    out: str
    count: int
    workers: int
    ca: str
    peers: Optional[str]
    tls: bool


def wherry_download(run: Setting) -> List[str]:
    return _wherry(run, "", f"Folder({run.out!r}, sidecars=False)")


def wherry_resize(run: Setting) -> List[str]:
    return _wherry(run, ", Resize(256, quality=0.95)", f"WebDataset({run.out!r})")


def _wherry(run: Setting, steps: str, output: str) -> List[str]:
    code = (
        "from wherry.bulk import Download, Folder, Resize, WebDataset, run\n"
        f"result = run({run.urls!r}, [Download(deny_addresses=None, verify={run.ca!r}){steps}],\n"
        f"             {output}, shard_size=500, workers={run.workers}, max_per_host=64, progress=False)\n"
        f"assert result.ok and result.statistics.succeeded == {run.count}, result\n"
    )
    return [sys.executable, "-c", code]


def aria2c(run: Setting) -> Optional[List[str]]:
    if shutil.which("aria2c") is None:
        return None
    with open(run.urls) as source, open(f"{run.urls}.aria2c", "w") as target:
        for number, line in enumerate(source):  # with names, because the pictures have only a few
            target.write(f"{line.strip()}\n  out={number:09d}.jpg\n")
    return [
        "aria2c", f"--input-file={run.urls}.aria2c", f"--dir={run.out}", "--max-concurrent-downloads=64", "--split=1",
        "--file-allocation=none", "--quiet=true", f"--ca-certificate={run.ca}", "--no-conf=true",
    ]  # fmt: skip


def img2dataset(run: Setting) -> Optional[List[str]]:
    if not _has(run.peers, "img2dataset"):
        return None
    return [
        str(run.peers), "-m", "img2dataset.main", "--url_list", run.urls, "--output_folder", run.out, "--output_format",
        "webdataset", "--image_size", "256", "--resize_mode", "keep_ratio", "--resize_only_if_bigger", "True",
        "--encode_quality", "95", "--processes_count", str(run.workers), "--thread_count", "64",
        "--number_sample_per_shard", "500", "--enable_wandb", "False",
    ]  # fmt: skip


def daft_download(run: Setting) -> Optional[List[str]]:
    return _daft(run, "")


def daft_resize(run: Setting) -> Optional[List[str]]:
    # Daft does not keep the aspect ratio: 640x427 pixels become 256x171.
    return _daft(run, ".decode_image().resize(256, 171).encode_image('JPEG')")


def _daft(run: Setting, steps: str) -> Optional[List[str]]:
    if run.tls or not _has(run.peers, "daft"):  # Daft accepts no other certificates than those of public authorities.
        return None
    code = (
        "import daft\n"
        f"urls = open({run.urls!r}).read().split()\n"
        "frame = daft.from_pydict({'url': urls})\n"
        f"data = daft.col('url').download(max_connections=64){steps}\n"
        f"frame.with_column('data', data).write_parquet({run.out!r})\n"
    )
    return [str(run.peers), "-c", code]


def wherry_thumbnail(run: Setting) -> List[str]:
    code = (
        "from wherry import Compression, Image\n"
        "settings = Compression(0.95, format='jpeg', max_width=256, max_height=256, never_larger=False, optimize=False)\n"
        "def shrink(data): return Image(data).compress(settings).content\n"
    )
    return [sys.executable, "-c", code + _each_picture(run)]


def pyvips(run: Setting) -> Optional[List[str]]:
    if not _has(run.peers, "pyvips"):
        return None
    code = (
        "import os\n"
        "os.environ['VIPS_CONCURRENCY'] = '1'\n"
        "import pyvips\n"
        "def shrink(data): return pyvips.Image.thumbnail_buffer(data, 256, size='down').jpegsave_buffer(Q=95)\n"
    )
    return [str(run.peers), "-c", code + _each_picture(run)]


def _each_picture(run: Setting) -> str:
    return (
        "import pathlib\n"
        f"pictures = [path.read_bytes() for path in sorted(pathlib.Path({run.pictures!r}).iterdir())]\n"
        f"for number in range({run.count}):\n"
        "    assert shrink(pictures[number % len(pictures)])[:2] == b'\\xff\\xd8'\n"
    )


def _has(python: Optional[str], module: str) -> bool:
    if python is None:
        return False
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    return subprocess.run([python, "-c", code]).returncode == 0


TASKS: Dict[str, Dict[str, Callable[[Setting], Optional[List[str]]]]] = {
    "download": {"wherry": wherry_download, "aria2c": aria2c, "daft": daft_download},
    "resize": {"wherry": wherry_resize, "img2dataset": img2dataset, "daft": daft_resize},
    "thumbnail": {"wherry": wherry_thumbnail, "pyvips": pyvips},
}


def written(folder: str) -> int:
    """Returns the number of pictures in the output of a program."""
    count = 0
    for path in pathlib.Path(folder).rglob("*"):
        if path.suffix == ".tar":
            with tarfile.open(path) as shard:
                count += sum(member.name.endswith(".jpg") for member in shard)
        elif (
            path.suffix == ".parquet" and len(path.stem) > 5
        ):  # of Daft; img2dataset writes 00000.parquet next to 00000.tar
            from pyarrow import parquet

            count += parquet.read_metadata(path).num_rows
        else:
            count += path.suffix == ".jpg"
    return count


def compare(task: str, run: Setting, runs: int, environment: Dict[str, str]) -> None:
    """Runs all programs of a task, and prints their figures."""
    load = os.getloadavg()[0]
    commands = {name: command(run) for name, command in TASKS[task].items()}
    results: Dict[str, List[Tuple[float, float]]] = {name: [] for name, command in commands.items() if command}
    for _ in range(runs):
        for name in results:
            results[name].append(measured(commands[name] or [], environment))
            if task != "thumbnail":
                if written(run.out) != run.count:
                    raise SystemExit(f"{name} wrote {written(run.out)} of {run.count} pictures")
                shutil.rmtree(run.out)
    for name, figures in results.items():
        cpu = statistics.median(one[0] for one in figures) / run.count * 1000
        rate = run.count / statistics.median(one[1] for one in figures)
        print(json.dumps({
            "task": task, "program": name, "workers": 1 if task == "thumbnail" else run.workers, "cpu_ms": round(cpu, 2),
            "per_second": round(rate), "load": round(load, 2),
        }), flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--pictures", type=int, default=4000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--workers", type=int, action="append")
    parser.add_argument("--peers", metavar="PYTHON")
    parser.add_argument("--task", choices=list(TASKS), action="append")
    parser.add_argument("--tls", action="store_true")
    chosen = parser.parse_args()
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "bindings/python/src"), "DO_NOT_TRACK": "1"}
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
                run = Setting(
                    urls, pictures, os.path.join(place, "out"), chosen.pictures, workers, nginx.ca, chosen.peers, chosen.tls
                )  # fmt: skip
                for task in chosen.task or TASKS:
                    compare(task, run, chosen.runs, environment)


if __name__ == "__main__":
    main()
