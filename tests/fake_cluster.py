"""A cluster in this process: partitions are Arrow tables, and only bytes go in and out."""

from __future__ import annotations

import pickle

import pyarrow as pa

from verosim.data.clusters import Cluster
from verosim.data.tables import Table, numbered
from verosim.engines.cluster import (
    MERGED_AT_ONCE,
    check_complete,
    merged_reply,
    partition_batches,
    partition_reply,
)


class FakeCluster(Cluster):
    """Runs the jobs one after the other, in the order of the partitions or another order."""

    name = "a cluster of this test"
    bring_here = "Give the rows as a table."

    def __init__(self, partitions, batch_rows=None):
        self.partitions, self.batch_rows = list(partitions), batch_rows
        self.sent = []  # the sizes of the replies
        self.jobs = 0
        self.seen = 0  # rows that were brought to this process

    def rows(self, columns):
        for number, part in enumerate(self.partitions):
            chosen = part if columns is None else part.select(list(columns))
            for rows in numbered(chosen.to_batches(), f" of partition {number}"):
                self.seen += rows.batch.num_rows
                yield rows

    def schema(self):
        return self.partitions[0].schema

    def spread_rows(self, count):
        share = -(-count // len(self.partitions))
        for number, part in enumerate(self.partitions):
            yield from numbered(part.slice(0, share).to_batches(), f" of partition {number}")

    def batches(self, number, columns):
        part = self.partitions[number]
        there = [name for name in columns if name in part.column_names]
        return part.select(there).to_batches(max_chunksize=self.batch_rows)

    def reduced(self, job, columns):
        self.jobs += 1
        job = pickle.loads(pickle.dumps(job))
        level = [
            partition_reply(job, number, self.batches(number, columns))
            for number in range(len(self.partitions))
        ]
        self.sent += map(len, level)
        while len(level) > 1:
            level = [
                merged_reply(job, level[at : at + MERGED_AT_ONCE])
                for at in range(0, len(level), MERGED_AT_ONCE)
            ]
        check_complete(level[0], len(self.partitions))
        return level[0]

    def mapped(self, job, columns, schema, keep):
        return [
            pa.Table.from_batches(partition_batches(job, i, self.batches(i, columns)), schema)
            for i in range(len(self.partitions))
        ]


def fake_table(partitions, batch_rows=None):
    """A table on a fake cluster."""
    cluster = FakeCluster(partitions, batch_rows)
    return Table(tuple(cluster.partitions[0].column_names), cluster.rows, cluster=cluster)


def cut(table, count):
    """An Arrow table in `count` partitions of nearly equal size."""
    n = table.num_rows
    return [
        table.slice(n * i // count, n * (i + 1) // count - n * i // count) for i in range(count)
    ]
