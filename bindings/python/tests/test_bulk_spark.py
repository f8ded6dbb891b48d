# Wherry: bulk jobs in Spark
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import sys
from typing import Any, Dict

import pytest
from conftest import ROOT, Server

import wherry
from wherry.bulk import SPARK_SCHEMA, Check, Download, map_in_pandas

HERE = Download(deny_addresses=None, timeout=600, total_timeout=3600)


def test_B9_the_function_yields_a_row_for_each_item(server: Server) -> None:
    pandas = pytest.importorskip("pandas")
    urls = [server.url("/bytes/1"), server.url("/bytes/20"), server.url("/status/404"), None]
    frame = pandas.DataFrame({"address": urls, "weight": [0.5, float("nan"), 1, 2]})
    function = map_in_pandas([HERE, Check(min_bytes=2)], url_column="address")
    batches = list(function(iter([frame[:2], frame[2:]])))

    assert [len(batch) for batch in batches] == [2, 2]
    assert all(list(batch.columns) == [part.split()[0] for part in SPARK_SCHEMA.split(", ")] for batch in batches)
    rows: Dict[Any, Any] = {row["key"]: row for batch in batches for row in batch.to_dict("records")}
    assert sorted(rows) == [f"00000000{n}" for n in range(4)]
    assert len(rows["000000001"]["data"]) == 20 and json.loads(rows["000000001"]["metadata"])["weight"] is None
    assert [rows[key]["reason"] for key in ("000000000", "000000002", "000000003")] == [
        "truncated", "http_status", "bad_url",
    ]  # fmt: skip


def test_B9_a_frame_without_the_column_of_the_URLs_is_refused() -> None:
    pandas = pytest.importorskip("pandas")
    function = map_in_pandas([HERE], url_column="address")
    with pytest.raises(wherry.ArgumentError, match="no column 'address', only 'link', 'text'. Set url_column="):
        next(function(iter([pandas.DataFrame({"text": ["a"], "link": ["http://a/"]})])))


@pytest.mark.filterwarnings("ignore")
def test_B9_a_job_runs_in_Spark(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    sql = pytest.importorskip("pyspark.sql")
    monkeypatch.setenv("PYTHONPATH", os.path.join(ROOT, "bindings", "python", "src"))
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    builder = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = (
        builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1").getOrCreate()
    )
    try:
        urls = [(server.url(f"/bytes/{size}"),) for size in range(1, 21)] + [("no URL",)]
        frame = spark.createDataFrame(urls, ["url"]).repartition(2)
        rows = frame.mapInPandas(map_in_pandas([HERE]), SPARK_SCHEMA).collect()
    finally:
        spark.stop()
    assert sorted(len(row["data"]) for row in rows if row["reason"] is None) == list(range(1, 21))
    assert [row["reason"] for row in rows if row["reason"] is not None] == ["bad_url"]
