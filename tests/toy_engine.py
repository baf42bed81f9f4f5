"""An engine of two processes and a pipe: each process has every second partition of a table."""

from __future__ import annotations

from multiprocessing import get_context

import pyarrow as pa

from verosim.data.clusters import Cluster
from verosim.data.tables import Table, numbered
from verosim.engines import cluster


def serve(pipe, partitions):
    """Answer jobs until the pipe is closed."""
    make = {"reduce": cluster.partition_reply, "map": cluster.partition_batches}
    while True:
        what, job, columns = pipe.recv()
        try:
            found = {
                n: make[what](job, n, table.select(columns).to_batches())
                for n, table in partitions.items()
            }
            found = {n: one if what == "reduce" else list(one) for n, one in found.items()}
        except Exception as error:
            found = error
        pipe.send(found)


class ToyEngine(Cluster):
    """The partitions of one table in two processes."""

    name, bring_here = "the toy engine", "Give the rows as a table."

    def __init__(self, partitions):
        self.partitions, self.pipes, fork = partitions, [], get_context("fork")
        for worker in range(2):
            ours, theirs = fork.Pipe()
            own = {n: part for n, part in enumerate(partitions) if n % 2 == worker}
            fork.Process(target=serve, args=(theirs, own), daemon=True).start()
            self.pipes.append(ours)

    def asked(self, *job):
        for pipe in self.pipes:
            pipe.send(job)
        found = [pipe.recv() for pipe in self.pipes]
        for one in found:
            if isinstance(one, Exception):
                raise one
        every = found[0] | found[1]
        return [every[n] for n in range(len(self.partitions))]

    def rows(self, columns, most=None):
        for number, part in enumerate(self.partitions):
            some = part.select(list(columns or part.column_names)).slice(0, most)
            yield from numbered(some.to_batches(), f" of partition {number}")

    def schema(self):
        return self.partitions[0].schema

    def spread_rows(self, count):
        return self.rows(None, -(-count // len(self.partitions)))

    def reduced(self, job, columns):
        reply = cluster.merged_reply(job, self.asked("reduce", job, columns))
        cluster.check_complete(reply, len(self.partitions))
        return reply

    def mapped(self, job, columns, schema, keep):
        found = self.asked("map", job, columns)
        return [pa.Table.from_batches(batches, schema) for batches in found]


def toy_table(partitions):
    """A table whose rows are in two processes."""
    engine = ToyEngine(partitions)
    names = tuple(engine.schema().names)
    return Table(names, engine.rows, native="pandas", cluster=engine)
