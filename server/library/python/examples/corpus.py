"""Translates a corpus on the machines of a cluster: a function for the partitions of Dask and Spark.

    import dask.bag
    dask.bag.read_text("corpus/*.en").map_partitions(translated).to_textfiles("out/*.fr")

    spark.sparkContext.textFile("corpus").mapPartitions(translated).saveAsTextFile("out")

Every worker process opens the model once, when it handles its first partition, and keeps it: an engine belongs to the
process that opened it. ALIGND_MODEL names the model (en-fr), ALIGND_WORKERS the threads of a process (1), so that as
many processes as a machine has cores fill it.
"""
import os
from functools import cache
from itertools import islice
from typing import Iterable, Iterator

import alignd

CHUNK = 1000  # lines that are decoded together


@cache
def translator() -> alignd.Translator:
    model, workers = os.environ.get("ALIGND_MODEL", "en-fr"), int(os.environ.get("ALIGND_WORKERS", "1"))
    return alignd.Translator(model, workers=workers)


def translated(lines: Iterable[str]) -> Iterator[str]:
    """The translations of the lines of a partition, in their order."""
    rest = iter(lines)
    while chunk := [line.rstrip("\n") for line in islice(rest, CHUNK)]:
        for translation in translator().translate(chunk):
            yield translation.text
