# Wherry: bulk jobs
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import base64
import datetime
import functools
import gzip
import hashlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tarfile
from typing import Any, Dict, List

import pytest
from bulk_jobs import left_over, logged, tar_items
from conftest import ROOT, Server
from test_images import jpeg

import wherry
from wherry.bulk import (
    Check,
    Download,
    Folder,
    Item,
    ItemError,
    Map,
    Parquet,
    Progress,
    Resize,
    Statistics,
    TFRecord,
    Upload,
    WebDataset,
    dry_run,
    run,
)
from wherry.bulk import _sources as sources
from wherry.bulk._coordination import Coordinator
from wherry.bulk._progress import Watch
from wherry.bulk._run import _identity

#: The tests' server is on loopback.
HERE = Download(deny_addresses=None, timeout=600, total_timeout=3600)


def job(source: Any, output: Any, *steps: Any, **options: Any) -> Any:
    # Plots take a second of CPU time.
    return run(source, [HERE, *steps], output, **{"workers": 1, "progress": False, "report": False, **options})


def pictures(server: Server, count: int, **step: Any) -> List[str]:
    """URLs of JPEG files with different widths."""
    urls = []
    for number in range(count):
        body = base64.b64encode(jpeg(100 + number, 80)).decode()
        server.script(f"p{number}", [{"headers": [["Content-Type", "image/jpeg"]], "body_base64": body, **step}])
        urls.append(server.url(f"/s/p{number}"))
    return urls


# B1, B2, B3


def test_B1_a_list_becomes_shards_with_metadata_a_manifest_and_a_log(server: Server, tmp_path: Any) -> None:
    urls = [server.url(f"/bytes/{size}") for size in range(1, 8)]
    result = job(urls, WebDataset(tmp_path), shard_size=3, report=True)

    found = tar_items(tmp_path)
    assert {key: len(data) for key, data in found.items()} == {f"{n // 3:05d}{n % 3:04d}": n + 1 for n in range(7)}
    assert result.ok and result.shards == 3 and result.statistics.succeeded == 7 and result.statistics.bytes == 28
    assert {line["url"] for line in logged(tmp_path)} == set(urls) and left_over(tmp_path) == []
    assert "<h2>Counts</h2>" in (tmp_path / "report.html").read_text() and result.report_path == str(
        tmp_path / "report.html"
    )


def test_B1_files_of_each_format_are_sources(tmp_path: Any) -> None:
    urls = ["http://a/1", "http://a/2"]
    (tmp_path / "l.txt").write_text("# comment\nhttp://a/1\n\n http://a/2 \n")
    (tmp_path / "l.csv").write_text('n,url\n1,http://a/1\n2,"http://a/2"\n')
    (tmp_path / "l.tsv").write_text("url\tn\nhttp://a/1\t1\nhttp://a/2\t2\n")
    (tmp_path / "l.jsonl").write_text('{"url": "http://a/1", "n": 1}\n"http://a/2"\n')
    for name in ("l.txt", "l.csv", "l.tsv", "l.jsonl"):
        assert [row["url"] for row in sources.rows(tmp_path / name)] == urls, name
    (tmp_path / "all").mkdir()
    for number, url in enumerate(urls):
        (tmp_path / "all" / f"{number}.txt").write_text(url)
    assert [row["url"] for row in sources.rows(tmp_path / "all")] == urls
    assert [row["url"] for row in sources.rows(iter(urls))] == urls
    assert list(sources.rows([{"url": "http://a/1", "n": 1}])) == [{"url": "http://a/1", "n": 1}]


def test_B1_a_Parquet_file_is_a_source_and_its_columns_are_kept(server: Server, tmp_path: Any) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pyarrow.table({"address": [server.url("/bytes/5"), None], "caption": ["five", "none"]})
    parquet.write_table(table, tmp_path / "l.parquet")
    assert sources.count(tmp_path / "l.parquet") == 2
    result = job(tmp_path / "l.parquet", Folder(tmp_path / "out"), url_column="address")

    assert result.statistics.succeeded == 1 and result.statistics.failures == {"bad_url": 1}
    assert json.loads((tmp_path / "out/00000/000000000.json").read_text())["caption"] == "five"


def test_B1_an_unusable_source_is_named(tmp_path: Any) -> None:
    (tmp_path / "l.csv").write_text("link\nhttp://a/\n")
    (tmp_path / "bad.jsonl").write_text('{"url": 1}\n{')
    (tmp_path / "empty").mkdir()
    for source, words in (
        (tmp_path / "l.csv", "no column 'url', only 'link'"),
        (tmp_path / "bad.jsonl", "line 2"),
        (tmp_path / "none.txt", "none.txt"),
        (tmp_path / "empty", "no files"),
        (7, "not 7"),
        ([1], "a row of the source is 1"),
    ):
        with pytest.raises(wherry.WherryError, match=words):
            list(sources.rows(source))


def test_B1_rows_without_the_column_of_the_URLs_or_captions_fail_at_once(tmp_path: Any) -> None:
    rows = [{"link": "http://a/", "text": "a"}, {"link": "http://b/"}]
    with pytest.raises(wherry.ArgumentError, match="no column 'url', only 'link', 'text'. Set url_column="):
        job(rows, WebDataset(tmp_path / "a"))
    with pytest.raises(wherry.ArgumentError, match="no column 'txt', only 'link', 'text'. Set caption="):
        job(rows, WebDataset(tmp_path / "a", caption="txt"), url_column="link")
    assert not (tmp_path / "a").exists()
    # A row of the first shard is enough.
    found = list(sources.shards(iter(rows), 10, "link", "text"))
    assert len(found) == 1 and len(found[0].rows) == 2


def described(items: List[Item]) -> None:
    for item in items:
        item.row["size"] = f"{len(item.data)} bytes"


def test_B1_B3_a_step_can_add_the_captions(server: Server, tmp_path: Any) -> None:
    rows = [{"url": server.url("/bytes/5")}]
    result = job(rows, WebDataset(tmp_path, caption="size"), Map(described))
    assert result.statistics.succeeded == 1
    with tarfile.open(tmp_path / "00000.tar") as shard:
        reader = shard.extractfile("000000000.txt")
        assert reader is not None and reader.read() == b"5 bytes"


def test_B1_a_run_without_work_keeps_the_duration_of_the_job(server: Server, tmp_path: Any) -> None:
    urls = [server.url("/bytes/5")]
    nothing, kept = "Nothing was left to do", tmp_path / "_wherry/seconds.json"

    def seconds() -> float:
        return float(json.loads((tmp_path / "manifest.json").read_text())["seconds"])

    job(urls, WebDataset(tmp_path), report=True)
    assert nothing not in (tmp_path / "report.html").read_text()
    kept.write_text("7200.0")
    again = job(urls, WebDataset(tmp_path), report=True)
    assert again.skipped_shards == 1 and again.seconds < 7200 <= seconds() == round(json.loads(kept.read_text()), 1)
    page = (tmp_path / "report.html").read_text()
    assert nothing in page and ">7,20" in page.partition("seconds of all runs")[2][:40]
    for damaged in ("", "[]", "{}", '"soon"'):
        kept.write_text(damaged)
        assert job(urls, WebDataset(tmp_path)).ok and seconds() < 7200


def test_B1_an_interrupted_run_adds_to_the_duration_of_the_job(server: Server, tmp_path: Any) -> None:
    urls = [server.url("/bytes/5"), server.url("/bytes/6")]

    def interrupt(_: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        job(urls, WebDataset(tmp_path), shard_size=1, progress=interrupt)
    first = json.loads((tmp_path / "_wherry/seconds.json").read_text())
    assert first > 0 and not (tmp_path / "manifest.json").exists()
    result = job(urls, WebDataset(tmp_path), shard_size=1)
    assert json.loads((tmp_path / "_wherry/seconds.json").read_text()) == pytest.approx(
        first + result.seconds, abs=0.01
    )


def test_B1_invalid_arguments_raise_errors_that_name_them(tmp_path: Any) -> None:
    output = WebDataset(tmp_path)
    for steps, options, words in (
        ([], {}, "first step must be Download"),
        ([Resize(10)], {}, "first step must be Download"),
        ([HERE, HERE], {}, "can only be the first step"),
        ([HERE, print], {}, "a step is"),
        ([HERE], {"shard_size": 0}, "shard_size= must be 1 or more"),
        ([HERE], {"engine": "spork"}, "engine= must be"),
        ([HERE], {"workers": 0}, "workers= must be"),
        ([HERE], {"output": "folder"}, "output= must be"),
    ):
        values: Dict[str, Any] = {"output": output, **options}
        with pytest.raises(wherry.ArgumentError, match=words):
            run(["http://a/"], steps, **values)
    for make, words in (
        (lambda: Check(digest="crc"), "digest"),
        (lambda: Map("no_colon"), "module:function"),
        (lambda: Resize(10, format="bmp"), "format"),
    ):
        with pytest.raises(wherry.ArgumentError, match=words):
            make()


def test_B2_pictures_are_checked_and_resized(server: Server, tmp_path: Any) -> None:
    urls = pictures(server, 3)
    broken = base64.b64encode(jpeg(400, 300)[:2000]).decode()
    server.script("broken", [{"headers": [["Content-Type", "image/jpeg"]], "body_base64": broken}])
    server.script("false", [{"headers": [["Content-Type", "image/png"]], "body": "no picture"}])
    urls += [server.url("/s/broken"), server.url("/s/false"), server.url("/json"), server.url("/status/404"), "no URL"]
    result = job(urls, Folder(tmp_path), Check(types="image/"), Resize(50))

    assert result.statistics.succeeded == 3
    assert result.statistics.failures == {
        "truncated_image": 1, "content_type": 2, "http_status": 1, "bad_url": 1,
    }  # fmt: skip
    for number in range(3):
        info = wherry.Image(tmp_path / f"00000/00000000{number}.jpg").info
        metadata = json.loads((tmp_path / f"00000/00000000{number}.json").read_text())
        assert (info.format, info.width) == ("jpeg", 50)
        assert (metadata["original_width"], metadata["width"]) == (100 + number, 50)
    failed = {line["url"]: line for line in logged(tmp_path) if "reason" in line}
    assert failed[server.url("/status/404")]["http_status"] == 404 and failed["no URL"]["step"] == "download"


def test_B2_I4_pictures_are_sharpened(server: Server, tmp_path: Any) -> None:
    from wherry.bulk import _plan as plans

    (url,) = pictures(server, 1)
    plan = pathlib.Path(ROOT, "Examples", "python", "bulk.toml").read_text()
    (tmp_path / "plan.toml").write_text(plan.replace("width = 256", "width = 50\nsharpen = 80"))
    step = plans.read_plan(tmp_path / "plan.toml")["steps"][-1]
    assert step == Resize(50, quality=0.9, sharpen=80)
    job([url], Folder(tmp_path / "out"), step)

    made = (tmp_path / "out/00000/000000000.jpg").read_bytes()
    image = wherry.Image(wherry.get(url).content)
    options: Dict[str, Any] = {
        "format": "jpeg", "max_width": 50, "max_height": 50, "never_larger": False, "optimize": False,
    }  # fmt: skip
    assert made == image.compress(0.9, sharpen=80, **options).content
    assert made != image.compress(0.9, **options).content
    with pytest.raises(wherry.ArgumentError, match="sharpen"):
        Resize(50, sharpen=501)


def test_B2_sizes_and_digests_are_checked(server: Server, tmp_path: Any) -> None:
    url = server.url("/status/200?body=abc")
    digest = hashlib.sha256(b"abc").hexdigest()
    rows = [{"url": url, "sha256": value} for value in (digest, digest.upper(), "0" * 64, None)]
    result = job(rows, WebDataset(tmp_path / "a"), Check(digest="sha256"))
    assert result.statistics.succeeded == 3 and result.statistics.failures == {"checksum": 1}
    sizes = [server.url(f"/bytes/{size}") for size in (1, 10, 100)]
    result = job(sizes, WebDataset(tmp_path / "b"), Check(min_bytes=5, max_bytes=50))
    assert result.statistics.succeeded == 1 and result.statistics.failures == {"truncated": 1, "too_large": 1}


def halves(items: List[Item]) -> List[Item]:
    """Keeps one half, and fails an item."""
    kept = [item for item in items if len(item.data) % 2 == 0]
    for item in kept:
        item.data = item.data[: len(item.data) // 2]
        item.fields["batch"] = len(items)
        if len(item.data) == 1:
            item.fail("map", "one", "a byte is too little")
    return kept


def failing(items: List[Item]) -> None:
    raise ValueError("no")


def texts(items: List[Item]) -> None:
    items[0].data = "text"  # type: ignore[assignment]


def others(items: List[Item]) -> List[Item]:
    return [Item("new", "http://a/", {})]


def test_B2_a_function_changes_fails_and_drops_items_of_a_batch(server: Server, tmp_path: Any) -> None:
    urls = [server.url(f"/bytes/{size}") for size in range(1, 9)]
    result = job(urls, WebDataset(tmp_path / "a"), Map(halves, batch=4), concurrency=1)
    assert sorted(map(len, tar_items(tmp_path / "a").values())) == [2, 3, 4]
    assert result.statistics.failures == {"one": 1} and result.statistics.dropped == 4
    assert sum(line.get("dropped", False) for line in logged(tmp_path / "a")) == 4

    functions: List[Any] = [failing, others, texts]
    for number, function in enumerate(functions):
        result = job(urls, WebDataset(tmp_path / str(number)), Map(function))
        assert result.statistics.failures == {"exception": 8}, function


def test_B2_items_are_uploaded_as_forms(server: Server, tmp_path: Any) -> None:
    rows = [{"url": server.url("/bytes/7"), "album": "x"}]
    place = server.url("/echo/form")
    result = job(rows, WebDataset(tmp_path), Upload(place, fields={"kind": "test"}, columns=["album"]))

    assert result.statistics.succeeded == 1
    sent = [entry for entry in server.log() if entry["method"] == "POST"]
    assert len(sent) == 1
    headers = {name.lower(): value for name, value in sent[0]["headers"]}
    assert headers["idempotency-key"].endswith("-000000000")
    refused = job(rows, WebDataset(tmp_path / "b"), Upload(server.url("/status/403")))
    assert refused.statistics.failures == {"http_status": 1}


def test_B2_the_uploads_of_an_item_have_different_keys(server: Server, tmp_path: Any) -> None:
    place = server.url("/echo/form")
    assert job([server.url("/bytes/7")], WebDataset(tmp_path), Upload(place), Upload(place)).ok
    sent = [dict(entry["headers"]) for entry in server.log() if entry["method"] == "POST"]
    assert len({headers["Idempotency-Key"] for headers in sent}) == 2


def test_B5_an_upload_that_is_refused_pauses_its_host(server: Server, tmp_path: Any) -> None:
    urls = [server.url(f"/bytes/{count}") for count in range(20)]
    step = Upload(server.url("/status/429", header="Retry-After:1"), retries=0)
    job(urls, WebDataset(tmp_path), step, max_per_host=1)
    assert len([entry for entry in server.log() if entry["method"] == "POST"]) <= 10


def test_B3_Parquet_files_have_the_bytes(server: Server, tmp_path: Any) -> None:
    pytest.importorskip("pyarrow")
    from pyarrow import parquet

    result = job([server.url(f"/bytes/{size}") for size in range(5)], Parquet(tmp_path, group=2))
    rows = parquet.read_table(tmp_path / "00000.parquet").to_pylist()
    assert sorted(len(row["data"]) for row in rows) == [0, 1, 2, 3, 4] and result.statistics.succeeded == 5
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    content = (tmp_path / "00000.parquet").read_bytes()
    assert manifest["files"]["00000.parquet"]["sha256"] == hashlib.sha256(content).hexdigest()


def test_B3_the_package_tfrecord_reads_the_files(server: Server, tmp_path: Any) -> None:
    reader = pytest.importorskip("tfrecord.reader")
    job([server.url(f"/bytes/{size}") for size in range(4)], TFRecord(tmp_path))
    features = {"key": "byte", "data": "byte", "metadata": "byte"}
    rows = list(reader.tfrecord_loader(str(tmp_path / "00000.tfrecord"), None, features))
    assert sorted(len(row["data"]) for row in rows) == [0, 1, 2, 3]
    assert {json.loads(bytes(row["metadata"]))["key"] for row in rows} == {bytes(row["key"]).decode() for row in rows}
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    content = (tmp_path / "00000.tfrecord").read_bytes()
    assert manifest["files"]["00000.tfrecord"]["sha256"] == hashlib.sha256(content).hexdigest()


@pytest.mark.filterwarnings("ignore")  # It does not close its files.
def test_B3_the_package_webdataset_reads_the_files(server: Server, tmp_path: Any) -> None:
    packages = pytest.importorskip("webdataset")
    rows = [{"url": url, "text": f"caption {number}"} for number, url in enumerate(pictures(server, 3))]
    job(rows, WebDataset(tmp_path, caption="text"), Resize(50))
    dataset = (
        packages.WebDataset(str(tmp_path / "00000.tar"), shardshuffle=False)
        .decode("pil")
        .to_tuple("__key__", "jpg", "json", "txt")
    )
    found = {key: (picture.size[0], metadata["width"], text) for key, picture, metadata, text in dataset}
    assert found == {f"00000000{n}": (50, 50, f"caption {n}") for n in range(3)}


def test_B3_the_digest_of_a_folder_is_that_of_its_checksum_lines(server: Server, tmp_path: Any) -> None:
    job([server.url("/bytes/3")], Folder(tmp_path, sidecars=False))
    line = f"{hashlib.sha256((tmp_path / '00000/000000000.bin').read_bytes()).hexdigest()}  000000000.bin\n"
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["files"]["00000"] == {
        "bytes": 3, "files": 1, "sha256": hashlib.sha256(line.encode()).hexdigest(),
    }  # fmt: skip


# B4


def test_B4_a_second_run_does_only_what_is_missing(server: Server, tmp_path: Any) -> None:
    urls = [server.url(f"/bytes/{size}") for size in range(1, 7)]
    job(urls, WebDataset(tmp_path), shard_size=2)
    before = len(server.log())
    os.unlink(tmp_path / "00001.tar")
    again = job(urls, WebDataset(tmp_path), shard_size=2)

    assert len(server.log()) - before == 2 and again.skipped_shards == 2 and again.shards == 3
    assert len(tar_items(tmp_path)) == 6 and again.statistics.items == 6


def test_B4_another_job_or_source_in_the_same_folder_is_refused(server: Server, tmp_path: Any) -> None:
    urls = [server.url("/bytes/1")]
    job(urls, WebDataset(tmp_path))
    for arguments, options, words in (
        ((urls, WebDataset(tmp_path), Resize(10)), {}, "differs in steps"),
        ((urls, Folder(tmp_path)), {}, "differs in output"),
        ((urls, WebDataset(tmp_path)), {"shard_size": 5}, "differs in shard_size"),
        (([urls[0] + "x"], WebDataset(tmp_path)), {}, "the source has changed"),
    ):
        with pytest.raises(wherry.StateError, match=words):
            job(*arguments, **options)
    assert job(urls, WebDataset(tmp_path)).skipped_shards == 1


# B5, B6


def test_B5_connections_of_all_workers_to_a_host_are_limited(server: Server, tmp_path: Any) -> None:
    urls = [server.url(f"/bytes/{size}", delay_ms=20) for size in range(60)]
    result = job(urls, WebDataset(tmp_path), shard_size=15, workers=3, max_per_host=4)

    assert result.statistics.succeeded == 60
    assert server.ask("/_stats")["peak_requests"] <= 4


def test_B5_Retry_After_is_honored(server: Server, tmp_path: Any) -> None:
    url = server.url("/bytes/9", status_first=503, status_times=1, retry_after=1)
    result = job([url], WebDataset(tmp_path))
    assert result.statistics.succeeded == 1 and len(server.log()) == 2


@pytest.mark.parametrize(
    "value, refused",
    [
        ("noai", True),
        ("nofollow, NoImageAI", True),
        ("otherbot: noai", False),
        ("wherry: noindex", True),
        ("nofollow", False),
    ],
)
def test_B5_X_Robots_Tag_opts_out(server: Server, tmp_path: Any, value: str, refused: bool) -> None:
    url = server.url("/bytes/9", header=f"X-Robots-Tag:{value}")
    result = job([url], WebDataset(tmp_path / "a"))
    assert result.statistics.failures == ({"opted_out": 1} if refused else {})
    all_in = run(
        [url], [Download(deny_addresses=None, opt_outs=())], WebDataset(tmp_path / "b"), workers=1, progress=False
    )
    assert all_in.statistics.succeeded == 1


def test_B5_private_addresses_are_refused_by_default(server: Server, tmp_path: Any) -> None:
    result = run([server.url("/echo")], [Download()], WebDataset(tmp_path), workers=1, progress=False)
    assert result.statistics.failures == {"address_denied": 1} and server.log() == []


def test_B5_private_addresses_are_refused_after_a_redirect(server: Server, tmp_path: Any) -> None:
    url = server.url("/redirect-to", url="http://10.0.0.1/")
    steps = [Download(deny_addresses=["private"])]
    result = run([url], steps, WebDataset(tmp_path), workers=1, progress=False)
    assert result.statistics.failures == {"address_denied": 1} and len(server.log()) == 1


def test_B5_a_host_that_always_refuses_does_not_block_its_shard(server: Server, tmp_path: Any) -> None:
    refused = [server.url(f"/status/503?n={number}", header="Retry-After:1") for number in range(30)]
    step = Download(deny_addresses=None, retries=0)
    result = run(refused, [step], WebDataset(tmp_path), workers=1, max_per_host=2, progress=False)
    assert result.statistics.failures["retry_later"] >= 20 and len(server.log()) <= 10


def test_B6_the_source_is_read_as_workers_need_it(server: Server, tmp_path: Any) -> None:
    taken = 0

    def rows() -> Any:
        nonlocal taken
        for number in range(1000):
            taken += 1
            yield server.url(f"/bytes/{number % 3}")

    seen: List[int] = []
    run(rows(), [HERE], WebDataset(tmp_path), shard_size=10, workers=1,
        progress=lambda state: seen.append(taken - state.statistics.items))  # fmt: skip
    assert len(seen) >= 100 and max(seen) <= 20


def test_B6_full_memory_pauses_downloads_but_not_the_job(server: Server, tmp_path: Any) -> None:
    from wherry.bulk._outputs import Writer
    from wherry.bulk._work import Job, ShardRun

    class Nothing(Writer):
        def add(self, item: Item) -> None:
            pass

    batches: List[int] = []

    def count(items: List[Item]) -> None:
        batches.append(sum(len(item.data) for item in items))

    output = WebDataset(tmp_path)
    made = Job("job", str(tmp_path), (HERE, Map(count, batch=1000)), output, concurrency=2, held_bytes=100_000)
    work = ShardRun(made, "w", Coordinator(100).exchange_here, Nothing(), io.StringIO())
    asyncio.run(work.run([Item(str(n), server.url("/bytes/30000"), {}) for n in range(20)]))
    assert work.statistics.succeeded == 20 and max(batches) <= 100_000 + 2 * 30_000 and len(batches) >= 4


# B7, B11


def test_B7_progress_and_report(server: Server, tmp_path: Any) -> None:
    states: List[Any] = []
    urls = [server.url("/bytes/1"), server.url("/status/404"), server.url("/status/404")]
    run(urls, [HERE], WebDataset(tmp_path), shard_size=2, workers=1, progress=states.append)
    assert states[-1].statistics.items == 3 and states[0].total == 3
    assert "3 of 3 items, 2 failed (2 http_status)" in str(states[-1])
    page = (tmp_path / "report.html").read_text()
    assert "<td>http_status</td>" in page and ("<svg" in page or "pip install" in page)


def test_B7_a_progress_function_that_nothing_would_await_is_refused(server: Server, tmp_path: Any) -> None:
    async def show(_: Progress) -> None:
        raise AssertionError

    functions: List[Any] = [show, lambda state: show(state)]
    for function in functions:
        with pytest.raises(TypeError, match="progress= takes a plain function"):
            job([server.url("/bytes/1")], WebDataset(tmp_path), progress=function)


def test_B7_progress_counts_items_of_an_unfinished_shard(server: Server, tmp_path: Any) -> None:
    gate = server.gate()
    urls = [server.url(f"/bytes/{size}") for size in range(6)] + [server.url("/bytes/9", gate=gate) for _ in range(2)]
    seen: List[Progress] = []

    def show(state: Progress) -> None:
        seen.append(state)
        if state.statistics.items == 6:
            server.open_gate(gate)

    result = run(urls, [HERE], WebDataset(tmp_path), workers=1, progress=show)
    assert result.ok and [state.statistics.items for state in seen][-1] == 8
    assert max(state.statistics.items for state in seen) == 8  # The finished shard is counted once.
    six = next(state for state in seen if state.statistics.items == 6)
    assert six.remaining_seconds == pytest.approx(2 / six.rate)


def test_B7_counts_of_a_finished_shard_replace_those_of_its_worker() -> None:
    now = [0.0]
    coordinator = Coordinator(1, clock=lambda: now[0])

    def report(worker: str, items: int) -> None:
        coordinator.exchange(worker, {"shard": worker.partition(".")[0], "counts": Statistics(items=items).values()})

    seen: List[int] = []
    watch = Watch(lambda state: seen.append(state.statistics.items), None)
    report("00000.a", 3)
    report("00001.a", 4)
    watch.tick(coordinator.running)
    report("00000.b", 1)  # The worker died, and another one repeats the shard.
    watch.tick(coordinator.running)
    watch.finished({"shard": "00000", "ended": 1e12, "statistics": Statistics(items=5).values()}, coordinator.running)
    now[0] = 31
    report("00001.a", 5)
    watch.tick(coordinator.running)
    assert seen == [7, 5, 9, 10] and list(coordinator.running()) == ["00001"]


def test_B7_lines_of_progress_are_rare(capsys: pytest.CaptureFixture[str]) -> None:
    from wherry.bulk._progress import _Lines

    lines = _Lines()
    for second in range(0, 26):
        lines.show(Progress(Statistics(items=second), None, second, 1))
    lines.end()
    lines.end()
    assert [line.split()[0] for line in capsys.readouterr().err.splitlines()] == ["0", "10", "20", "25"]


def test_B11_a_dry_run_counts_and_tries_without_writing(server: Server, tmp_path: Any) -> None:
    urls = [server.url(f"/bytes/{size}") for size in range(10)] + ["ftp://a/", server.url("/status/404")]
    found = dry_run(urls, [HERE], WebDataset(tmp_path / "out"), shard_size=5, workers=2)
    assert (found.items, found.shards, found.invalid_urls, found.sample.items) == (12, 3, 1, 12)
    assert list(found.hosts.values()) == [11] and {each.reason for each in found.errors.values()} >= {"http_status"}
    assert found.estimate is not None and found.estimate.seconds > 0 and not (tmp_path / "out").exists()
    assert (found.sample.received, found.sample.bytes, found.estimate.shards) == (45, 45, 3)
    assert dry_run(urls, [HERE], WebDataset(tmp_path / "out"), sample=3).sample.items == 3


# Bad input


def test_a_row_cannot_choose_the_names_of_files(server: Server, tmp_path: Any) -> None:
    rows = [
        {"url": server.url("/bytes/3", disposition="attachment; filename=../../x"), "key": "../../evil", "type": "../x"}
    ]
    job(rows, Folder(tmp_path / "out"))
    assert sorted(os.listdir(tmp_path)) == ["out"]
    assert sorted(os.listdir(tmp_path / "out/00000")) == ["000000000.bin", "000000000.json"]


def test_a_decompression_bomb_fails_its_item_only(server: Server, tmp_path: Any) -> None:
    urls = [server.url("/gzip", zeros=300_000_000), server.url("/bytes/2")]
    result = job(urls, WebDataset(tmp_path))
    assert result.statistics.succeeded == 1 and set(result.statistics.failures) == {"too_large"}


# Plans, and the example


PLAN = """
source = "urls.txt"
shard_size = 2
workers = 1
progress_typo = 1

[output]
type = "webdataset"
path = "out"

[[steps]]
type = "download"
deny_addresses = []

[[steps]]
type = "check"
min_bytes = 2
"""


def command(*arguments: Any) -> subprocess.CompletedProcess[str]:
    source = os.path.join(ROOT, "bindings", "python", "src")
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "wherry.bulk", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        timeout=600,
    )


def test_B1_a_plan_runs_a_job(server: Server, tmp_path: Any) -> None:
    (tmp_path / "urls.txt").write_text("".join(server.url(f"/bytes/{size}") + "\n" for size in (1, 2, 3)))
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    wrong = command(plan)
    assert wrong.returncode == 2 and "unknown key 'progress_typo'" in wrong.stderr and "Traceback" not in wrong.stderr
    plan.write_text(PLAN.replace("progress_typo = 1", ""))

    tried = command(plan, "--dry-run")
    assert tried.returncode == 0 and "3 items in 2 shards" in tried.stdout and not (tmp_path / "out").exists()
    slow = command(plan, "--dry-run", "--bandwidth", "0.01")
    assert slow.returncode == 0 and "limited by the bandwidth" in slow.stdout, slow
    for arguments, words in ((("--bandwidth=1",), "needs --dry-run"), (("--dry-run", "--bandwidth=0"), "positive")):
        refused = command(plan, *arguments)
        assert refused.returncode == 2 and words in refused.stderr, refused
    done = command(plan, "--json-output")
    assert done.returncode == 0, done
    assert (json.loads(done.stdout)["succeeded"], json.loads(done.stdout)["failures"]) == (2, {"truncated": 1})
    assert "2 of 3 items in 2 shards, nothing was left to do" in command(plan).stdout
    assert sorted(map(len, tar_items(tmp_path / "out").values())) == [2, 3]


@pytest.mark.parametrize(
    "plan, words",
    [
        ("source = 1", "no output"),
        ("source = ''\nsteps = []\n[output]\ntype = 'zip'", "must be one of folder, webdataset, parquet, tfrecord"),
        (
            "source = ''\n[output]\ntype = 'folder'\npath = 'x'\n[[steps]]\ntype = 'download'\nretry = 1",
            "no key 'retry'",
        ),
        ("source = ''\n[output]\ntype = 'folder'\n[[steps]]\ntype = 'download'", "path"),
        ("source = ''\nsteps = 1\noutput = 2", "[[steps]]"),
        ("source = ", "not valid TOML"),
    ],
)
def test_B1_mistakes_in_a_plan_are_named(tmp_path: Any, plan: str, words: str) -> None:
    place = tmp_path / "plan.toml"
    place.write_text(plan)
    done = command(place)
    assert done.returncode == 2 and words in done.stderr and str(place) in done.stderr, done.stderr


def example(*arguments: str) -> str:
    program = os.path.join(ROOT, "Examples", "python", "bulk.py")
    source = os.path.join(ROOT, "bindings", "python", "src")
    done = subprocess.run(
        [sys.executable, "-W", "error", program, *arguments], env={**os.environ, "PYTHONPATH": source},
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done
    return done.stdout


def test_B1_the_example_of_the_guide_runs(server: Server) -> None:
    urls = [*pictures(server, 2), server.url("/json")]
    assert example(*urls) == "2 of 3 in 1 shards\n1 failed: content_type\n"


def test_B2_the_function_of_the_guide_runs(server: Server) -> None:
    pytest.importorskip("cloudpickle")
    assert example("--gray", *pictures(server, 2)) == "2\n"


def test_B1_the_plan_of_the_guide_is_valid() -> None:
    from wherry.bulk import _plan as plans

    arguments = plans.read_plan(os.path.join(ROOT, "Examples", "python", "bulk.toml"))
    assert arguments["output"].caption == "text" and [step.name for step in arguments["steps"]] == [
        "download", "check", "resize",
    ]  # fmt: skip


# Findings of a review


class Full(Exception):
    pass


def test_B6_a_full_disk_ends_a_shard_that_waits_for_memory(server: Server, tmp_path: Any) -> None:
    # The shard waited for room in memory, which the failed items never freed.
    from wherry.bulk._outputs import Writer
    from wherry.bulk._work import Job, ShardRun

    class Disk(Writer):
        def add(self, item: Item) -> None:
            raise Full

    made = Job("job", str(tmp_path), (HERE,), WebDataset(tmp_path), concurrency=2, held_bytes=50_000)
    work = ShardRun(made, "w", Coordinator(100).exchange_here, Disk(), io.StringIO())
    with pytest.raises(Full):
        asyncio.run(work.run([Item(str(n), server.url("/bytes/30000"), {}) for n in range(20)]))


@pytest.mark.parametrize("make", [Folder, WebDataset])
def test_B3_data_never_has_the_name_of_its_metadata(server: Server, tmp_path: Any, make: Any) -> None:
    job([server.url("/json")], make(tmp_path))
    if make is Folder:
        names = os.listdir(tmp_path / "00000")
    else:
        with tarfile.open(tmp_path / "00000.tar") as shard:
            names = shard.getnames()
    assert sorted(names) == ["000000000.data.json", "000000000.json"]


def test_B3_columns_with_the_names_of_results_are_kept(server: Server, tmp_path: Any) -> None:
    row = {
        "url": server.url("/bytes/2"),
        "bytes": 7,
        "key": "k",
        "raw": b"\xff",
        "when": datetime.date(2026, 1, 2),
        5: 1,
    }
    job([row], Folder(tmp_path))
    found = json.loads((tmp_path / "00000/000000000.json").read_text())
    assert (found["bytes"], found["row_bytes"], found["row_key"]) == (2, 7, "k")
    assert (found["raw"], found["when"], found["5"]) == ("/w==", "2026-01-02", 1)


class Titled:
    """A function with state, as an object."""

    def __init__(self, title: str) -> None:
        self.title = title

    def __call__(self, *_: object) -> None:
        raise NotImplementedError


def test_B4_a_job_with_an_object_as_function_is_resumed_in_another_process() -> None:
    functions: List[Any] = [functools.partial(Titled("a"), object()) for _ in range(2)]
    first, second = (_identity(Map(function)) for function in functions)
    assert first == second and "0x" not in first


def test_B4_the_description_of_a_job_has_no_secrets() -> None:
    step = Upload("https://ada:pw@example.org/form?token=geheim", fields={"api_key": "geheim"})
    other = Upload("https://ada:pw@example.org/form?token=geheim", fields={"api_key": "other"})
    assert "geheim" not in _identity(step) and "pw" not in _identity(step) and _identity(step) != _identity(other)


def test_B4_a_source_with_another_caption_is_refused(server: Server, tmp_path: Any) -> None:
    rows = [{"url": server.url("/bytes/1"), "caption": "a"}]
    assert job(rows, WebDataset(tmp_path, caption="caption")).ok
    assert job(rows, WebDataset(tmp_path, caption="caption")).skipped_shards == 1
    with pytest.raises(wherry.StateError, match="the source has changed"):
        job([{**rows[0], "caption": "b"}], WebDataset(tmp_path, caption="caption"))


def test_B4_a_row_that_contains_itself_fails_no_other_row(server: Server, tmp_path: Any) -> None:
    odd: Dict[str, Any] = {"url": server.url("/bytes/1")}
    odd["self"] = odd
    result = job([odd, {"url": server.url("/bytes/2")}], WebDataset(tmp_path))
    assert result.ok and result.statistics.failures == {"exception": 1}


def titled(items: List[Item]) -> None:
    for item in items:
        item.row["title"] = "new"


def test_B4_a_function_that_changes_rows_does_not_change_the_source(server: Server, tmp_path: Any) -> None:
    rows = [{"url": server.url("/bytes/1")}]
    assert job(rows, WebDataset(tmp_path), Map(titled)).ok
    assert job([{"url": rows[0]["url"]}], WebDataset(tmp_path), Map(titled)).skipped_shards == 1


def test_B3_missing_values_of_pandas_are_no_text(server: Server, tmp_path: Any) -> None:
    nan = float("nan")
    rows = [{"url": server.url("/bytes/1"), "caption": nan, "sha256": nan, "more": [nan, {"x": nan}]}]
    result = job(rows, WebDataset(tmp_path, caption="caption"), Check(digest="sha256"))
    assert result.statistics.failures == {}
    with tarfile.open(tmp_path / "00000.tar") as shard:
        texts = {member.name: shard.extractfile(member).read() for member in shard}  # type: ignore[union-attr]
    assert texts["000000000.txt"] == b"" and b"NaN" not in texts["000000000.json"]
    assert json.loads(texts["000000000.json"])["more"] == [None, {"x": None}]


def unwritable(items: List[Item]) -> None:
    items[0].type = "\udcff"
    items[1].http_status = "none"  # type: ignore[assignment]
    items[2].fields[(1, 2)] = 3  # type: ignore[index]


def test_B3_metadata_that_an_output_cannot_represent_fails_no_other_item(server: Server, tmp_path: Any) -> None:
    pytest.importorskip("pyarrow")
    urls = [server.url(f"/bytes/{count}") for count in range(1, 5)]
    result = job(urls, Parquet(tmp_path / "p"), Map(unwritable))
    assert result.ok and result.statistics.failures == {"exception": 2}
    result = job(urls, Folder(tmp_path / "f", sidecars=False), Map(unwritable))
    assert result.ok and result.statistics.failures == {}
    log = (tmp_path / "f/_wherry/log/00000.jsonl").read_text()
    assert json.loads(log.splitlines()[2])["(1, 2)"] == "3"


def test_B6_parquet_keeps_at_most_32_MiB_of_data(tmp_path: Any) -> None:
    pytest.importorskip("pyarrow")
    writer = Parquet(tmp_path).open(str(tmp_path), "00000")
    sizes = []
    for number in range(9):
        writer.add(Item(f"{number}", "http://a/", {}, data=bytes(8 << 20)))
        sizes.append(writer._held)  # type: ignore[attr-defined]
    assert max(sizes) < 32 << 20 and sizes[3] == 0
    writer.finish()


def odd(items: List[Item]) -> None:
    for item in items:
        item.fields["bytes"] = "not the number"
    items[0].fields["loop"] = items[0].fields


def test_B2_metadata_that_JSON_cannot_represent_fails_its_item_only(server: Server, tmp_path: Any) -> None:
    result = job([server.url("/bytes/1"), server.url("/bytes/2")], WebDataset(tmp_path), Map(odd))
    assert result.statistics.failures == {"exception": 1} and len(tar_items(tmp_path)) == 1


def test_B4_secrets_are_not_stored_and_may_change(server: Server, tmp_path: Any) -> None:
    place = server.url("/echo/form").replace("://", "://user:secret@")
    for token in ("one", "two"):
        step = Upload(place, headers={"Authorization": f"Bearer {token}"})
        assert job([server.url("/bytes/1")], WebDataset(tmp_path), step).ok
    text = (tmp_path / "_wherry/job.json").read_text()
    assert "secret" not in text and "Bearer" not in text


def test_B4_a_source_with_fewer_shards_is_refused(server: Server, tmp_path: Any) -> None:
    urls = [server.url(f"/bytes/{size}") for size in (1, 2)]
    job(urls, WebDataset(tmp_path), shard_size=1)
    with pytest.raises(wherry.StateError, match="it has 1 shard, but"):
        job(urls[:1], WebDataset(tmp_path), shard_size=1)


def test_B6_the_coordinator_forgets_the_counts_of_old_shards() -> None:
    now = 0.0
    coordinator = Coordinator(4, clock=lambda: now)
    for number in range(1000):
        now += 1
        coordinator.exchange("a", {"shard": str(number), "counts": {}})
    assert len(coordinator._counts) < 100


def test_B1_compressed_and_pandas_sources_are_read_and_others_are_refused(tmp_path: Any) -> None:
    with gzip.open(tmp_path / "l.csv.gz", "wt") as file:
        file.write("url\nhttp://a/1\n")
    assert list(sources.rows(tmp_path / "l.csv.gz")) == [{"url": "http://a/1"}]
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"url": ["http://a/1"], "n": [1]})
    assert list(sources.rows(frame)) == [{"url": "http://a/1", "n": 1}] and sources.count(frame) == 1
    (tmp_path / "l.csv").write_bytes(b"url\n\xff\n")
    (tmp_path / "l.parquet").write_bytes(b"no Parquet")
    for source, words in (
        (tmp_path / "l.json", "unknown extension .json"),
        (tmp_path / "l.csv", "not UTF-8"),
        (tmp_path / "l.parquet", "cannot be read as parquet"),
        ({"url": "http://a/"}, "source= takes"),
    ):
        with pytest.raises(wherry.WherryError, match=words):
            list(sources.rows(source))


def test_B1_mistakes_in_steps_are_found_before_the_first_shard(tmp_path: Any) -> None:
    output = WebDataset(tmp_path / "out")
    for step in (Download(deny_addresses="nonsense"), Download(verify=str(tmp_path / "none.pem"))):
        with pytest.raises(wherry.WherryError):
            run(["http://a/"], [step], output, workers=1, progress=False)
    with pytest.raises(wherry.StateError, match="test_bulk:missing.*cannot be imported"):
        job(["http://a/"], output, Map("test_bulk:missing"))
    (tmp_path / "file").write_text("")
    with pytest.raises(wherry.FileError, match="Choose another output folder"):
        job(["http://a/"], WebDataset(tmp_path / "file"))


def strange(items: List[Item]) -> None:
    for item in items:
        item.fail("map", "costs $\\undefined$ each", "no")


def test_B7_any_reason_can_be_plotted(server: Server, tmp_path: Any) -> None:
    result = job([server.url("/bytes/1")], WebDataset(tmp_path), Map(strange), report=True)
    assert result.report_path is not None and result.statistics.failed == 1


def test_B11_a_dry_run_works_in_a_notebook(server: Server, tmp_path: Any) -> None:
    async def cell() -> Any:
        return dry_run([server.url("/bytes/1")], [HERE], WebDataset(tmp_path / "out"))

    for _ in range(2):
        assert asyncio.run(cell()).sample.succeeded == 1


@pytest.mark.parametrize(
    "tag, refused",
    [
        ("noai, max-image-preview:large", True),
        ("noindex, unavailable_after: 2030-01-01", True),
        ("max-snippet: 10, noai", True),
        ("max-snippet: 10", False),
        ("otherbot: noai, nofollow", False),
    ],
)
def test_B5_directives_with_values_are_no_names_of_robots(tag: str, refused: bool) -> None:
    step = Download()
    if refused:
        with pytest.raises(ItemError, match="opts out"):
            step._respect([tag])
    else:
        step._respect([tag])


def test_B5_hosts_are_equal_however_they_are_written() -> None:
    from wherry.bulk._steps import host_of

    assert {host_of(url) for url in ("http://A/x", "http://a:80/", "http://u:p@a./", "HTTP://a")} == {"a"}
    assert host_of("https://a:80/") == "a:80" and host_of("http://[bad") == host_of("") == host_of("http://a:x/") == ""
