"""Folders of predictions that Spark writes. A folder of a failed job is removed."""

from __future__ import annotations

from typing import Any

from verosim.data.clusters import output_exists
from verosim.data.libraries import pa
from verosim.engines.spark import SparkPartitions
from verosim.errors import VerosimError


def write_spark_folder(frame: Any, path: str, kind: str) -> None:
    """Write a new folder of Parquet or CSV files. It is removed if the work fails."""
    files, folder = _files_of(path)
    if files is not None and _exists(files, folder):
        raise output_exists(path)
    try:
        with SparkPartitions(frame).clear_errors():  # an interrupt cancels the job
            if kind == "parquet":
                frame.write.parquet(path)
            else:
                frame.write.csv(path, header=True, escape='"')
    except VerosimError as error:
        condition = getattr(error.__cause__, "getCondition", lambda: None)()
        if condition == "PATH_ALREADY_EXISTS":
            raise output_exists(path) from error
        if _removed(files, folder) or (files is not None and _is_local(frame, path)):
            raise
        hint = f"{str(error.hint).rstrip('.')}. Remove the folder {path!r} if it is there."
        raise VerosimError(error.what, hint) from error
    except BaseException:  # an interrupt
        _removed(files, folder)
        raise


def _files_of(path: str) -> tuple[Any, str]:
    """The file system of a path and the path there, or None if this process cannot reach it.

    A path without a scheme is that of a local session. The files of a cluster, or of a server of
    Spark Connect on another machine, cannot be reached by it.
    """
    from pyarrow import fs

    try:
        if "://" in path:
            found: tuple[Any, str] = fs.FileSystem.from_uri(path)
            return found
        return fs.LocalFileSystem(), path.removeprefix("file:")
    except (pa.ArrowException, OSError, ValueError):
        return None, path


def _is_local(frame: Any, path: str) -> bool:
    """Whether Spark writes to the file system that this process sees."""
    if "://" in path:
        return True
    connects = type(frame).__module__.startswith("pyspark.sql.connect")
    return not connects and str(frame.sparkSession.conf.get("spark.master")).startswith("local")


def _exists(files: Any, folder: str) -> bool:
    try:
        return bool(files.get_file_info(folder).type.name != "NotFound")
    except OSError:
        return False


def _removed(files: Any, folder: str) -> bool:
    """Whether a folder was removed. It was not there before the job."""
    if files is None or not _exists(files, folder):
        return False
    files.delete_dir(folder)
    return True
