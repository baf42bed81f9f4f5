"""Rows on Dask or Spark: `--engine` and `--address`. The engine also writes the predictions.

    address → client or session → frame → table,   predictions → a folder

Paths are those of the engine, such as s3://bucket/visits/. The cells of CSV files are read as text,
as without an engine, so that the same rows give the same model.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer

from verosim.cli.options import pairs, usage_error
from verosim.cli.output_files import STDOUT
from verosim.cli.sources import STDIN, opened
from verosim.errors import VerosimError

if TYPE_CHECKING:
    from verosim.data.tables import Table

EngineName = Annotated[
    str | None,
    typer.Option("--engine", metavar="dask|spark", help="Read the rows with Dask or Spark."),
]
Address = Annotated[
    str | None,
    typer.Option(
        "--address",
        metavar="URL",
        help="The cluster of --engine, such as tcp://host:8786, spark://host:7077 or sc://host. "
        "Without it, the engine runs on this machine.",
    ),
]

ENGINE_NAMES = {"dask": "Dask", "spark": "Spark"}
ENGINE_FORMATS = ("parquet", "csv")


@contextmanager
def command_rows(
    engine: str | None,
    address: str | None,
    source: str | None,
    db: str | None,
    query: str | None,
    read: list[str] | None,
    *,
    again: bool = True,
) -> Iterator[Table]:
    """The table of a command, on an engine or in this process. The engine ends with the block."""
    if engine is None:
        if address is not None:
            raise usage_error("--address needs --engine.")
        yield opened(source, db, query, read, again=again)
        return
    if engine not in ENGINE_NAMES:
        raise usage_error(f"--engine must be dask or spark; got {engine!r}.")
    if source is None or source == STDIN or db is not None or query is not None:
        raise usage_error("--engine reads files and folders. Give their path.")
    settings = pairs(read, "--read")
    if settings.keys() - {"sep", "encoding", "format"}:
        raise usage_error("With --engine, --read has the names encoding, format and sep.")
    kind = settings.pop("format", None) or format_of_path(source)
    if kind not in ENGINE_FORMATS:
        raise usage_error(f"With --engine, the format must be parquet or csv; got {kind!r}.")
    if settings and kind != "csv":
        raise usage_error("With --engine, sep and encoding are for CSV files.")
    if settings.get("sep") == "\\t":  # as it is written in a shell
        settings["sep"] = "\t"
    from verosim.data.adapters import open_table

    connected, frame_of = (_dask, _dask_frame) if engine == "dask" else (_spark, _spark_frame)
    with connected(address) as there:
        with _in_words_of(engine, f"cannot read {source!r}"):
            frame = frame_of(there, source, kind, settings)
        table = open_table(frame)
        yield replace(table, typed=False) if kind == "csv" else table


def check_folder(output: str, spreadsheet: bool) -> None:
    """Raise an error if an engine cannot write to this output."""
    if output == STDOUT:
        raise usage_error("With --engine, give the folder of the predictions with --output.")
    if spreadsheet:
        raise usage_error("--spreadsheet cannot be used together with --engine.")


def write_predictions(
    model: Any, table: Table, keep: tuple[str, ...], na: tuple[str, ...], output: str
) -> None:
    """Write predictions to a new folder of Parquet files, or of CSV files for a name in .csv."""
    from verosim.data.clusters import check_is_here

    if not hasattr(model, "predict_table"):
        check_is_here(table, type(model).__name__)
    frame = model.predict_table(table, keep, na=na)
    engine = "dask" if type(frame).__module__.startswith("dask") else "spark"
    write = _write_dask if engine == "dask" else _write_spark
    with _in_words_of(engine, f"cannot write {output!r}"):
        write(frame, output, format_of_path(output))


def format_of_path(path: str) -> str:
    """The format of files, from the end of the path."""
    return "csv" if path.rstrip("/*").lower().endswith((".csv", ".csv.gz", ".tsv")) else "parquet"


@contextmanager
def _in_words_of(engine: str, what: str) -> Iterator[None]:
    """Errors of an engine as one of ours, with their first line."""
    try:
        yield
    except (VerosimError, MemoryError, typer.BadParameter):
        raise
    except Exception as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        raise VerosimError(
            f"{ENGINE_NAMES[engine]} {what}: {first}.", "Check the path, the format and --address."
        ) from error


@contextmanager
def _connecting(engine: str, address: str | None) -> Iterator[None]:
    """Errors of a connection, and of an engine that is not installed."""
    where = "on this machine" if address is None else f"at {address!r}"
    try:
        with _in_words_of(engine, f"cannot be reached {where}"):
            yield
    except VerosimError as error:
        if isinstance(error.__cause__, ImportError):
            raise VerosimError(
                f"{ENGINE_NAMES[engine]} is not installed.",
                f"Install it with: pip install 'verosim[{engine}]'.",
            ) from None
        raise


# Dask --------------------------------------------------------------------------------------------


@contextmanager
def _dask(address: str | None) -> Iterator[Any]:
    """A client of the scheduler at the address, or of a cluster of processes on this machine."""
    from verosim.engines.dask import dask_client

    with _connecting("dask", address):
        client = dask_client(address)
    with client:
        yield client


def _dask_frame(_: Any, source: str, kind: str, settings: dict[str, str]) -> Any:
    from verosim.engines.dask import read_folder

    return read_folder(source, kind, **settings)


def _write_dask(frame: Any, output: str, kind: str) -> None:
    from verosim.engines.dask import write_folder

    write_folder(frame, output, kind)


# Spark -------------------------------------------------------------------------------------------


@contextmanager
def _spark(address: str | None) -> Iterator[Any]:
    """A session of the master or of the Connect server at the address, or on this machine."""
    with _connecting("spark", address):
        builder = import_module("pyspark.sql").SparkSession.builder.appName("verosim")
        if address is not None:
            connects = address.startswith("sc://")
            builder = builder.remote(address) if connects else builder.master(address)
        session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()


def _spark_frame(session: Any, source: str, kind: str, settings: dict[str, str]) -> Any:
    if kind == "parquet":
        return session.read.parquet(source)
    # Quotes are doubled inside a cell, as in all CSV files that verosim reads.
    return session.read.csv(source, header=True, escape='"', multiLine=True, **settings)


def _write_spark(frame: Any, output: str, kind: str) -> None:
    from verosim.engines.spark_files import write_spark_folder

    write_spark_folder(frame, output, kind)
