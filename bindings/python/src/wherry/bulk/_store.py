# Wherry: the state of a bulk job in its output folder
# SPDX-License-Identifier: Apache-2.0
"""The files that ensure that each shard is in the output exactly once, whichever process is killed.

    OUTPUT/00042.tar                     a finished shard
    OUTPUT/manifest.json                 the counts and digests of a finished job
    OUTPUT/_wherry/job.json              the definition of the job; a run with other steps is refused
    OUTPUT/_wherry/seconds.json          the duration of all runs, also of those that an exception ended
    OUTPUT/_wherry/receipts/00042.json   marks a finished shard: its attempt, files, digests, and counts
    OUTPUT/_wherry/log/00042.jsonl       a line for each item of the shard
    OUTPUT/_wherry/attempts/00042.ID/    the files of an attempt

An attempt writes its files into its own folder. Then the attempt links its receipt to the name of the shard, which
succeeds for one attempt only, and moves its files to their places. If the attempt is killed before the move, the next
run moves the files.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import uuid
from contextlib import contextmanager
from typing import Any, Dict, Iterator, Optional

from .._errors import ArgumentError, BusyError, FileError, StateError
from ._outputs import sync_folder

FORMAT = 1
Receipt = Dict[str, Any]


class Store:
    """The output folder of a job."""

    def __init__(self, folder: str) -> None:
        self.folder = os.path.abspath(folder)
        self._state = os.path.join(self.folder, "_wherry")
        self._receipts = os.path.join(self._state, "receipts")
        self._attempts = os.path.join(self._state, "attempts")
        self._log = os.path.join(self._state, "log")
        self._seconds = os.path.join(self._state, "seconds.json")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Prevents a second run of the job at the same time.

        The lock ends with the process. If the file system has no locks, two runs may repeat work, but do no harm.
        """
        try:
            os.makedirs(self._state, exist_ok=True)
        except OSError as error:
            raise FileError(
                f"{self.folder}: {error.strerror}. Choose another output folder.", "bad_directory"
            ) from error
        with open(os.path.join(self._state, "lock"), "a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise BusyError(
                    f"another process is running a job in {self.folder}. Wait until that process ends.", "busy"
                ) from None
            except OSError as error:
                if error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS):
                    raise
            yield

    def prepare(self, job: Dict[str, Any]) -> str:
        """Creates the folders, or checks that they belong to the same job. Returns the id of the job.

        Raises StateError if the folder has the output of another job.
        """
        for path in (self._receipts, self._attempts, self._log):
            os.makedirs(path, exist_ok=True)
        path = os.path.join(self._state, "job.json")
        try:
            with open(path, encoding="utf-8") as file:
                known = json.load(file)
        except FileNotFoundError:
            known = {"format": FORMAT, "id": uuid.uuid4().hex[:12], **job}
            self._write(path, known)
            return str(known["id"])
        except ValueError:
            raise FileError(f"{path} is damaged. Delete the output folder, or choose another.", "damaged") from None
        if known.get("format") != FORMAT:
            raise StateError(
                f"{self.folder} was written by another version of Wherry. Choose another folder.", "wrong_state"
            )
        for name, value in json.loads(json.dumps(job)).items():
            if known.get(name) != value:
                raise StateError(
                    f"{self.folder} has the output of a job that differs in {name}: {known.get(name)}, not {value}. "
                    "Choose another folder, or run the same job.",
                    "wrong_state",
                )
        return str(known["id"])

    def receipt(self, shard: str) -> Optional[Receipt]:
        """Returns the receipt of a finished shard; None if the shard is not finished.

        First moves the files of a finished shard to their places. A shard whose files were deleted is not finished.
        """
        path = os.path.join(self._receipts, f"{shard}.json")
        try:
            with open(path, encoding="utf-8") as file:
                found: Receipt = json.load(file)
        except FileNotFoundError:
            return None
        self._publish(shard, found)
        if all(os.path.exists(os.path.join(self.folder, name)) for name in found["files"]):
            return found
        os.unlink(path)
        return None

    def receipts(self) -> Iterator[Receipt]:
        """Yields the receipts of all finished shards, in the order of the shards."""
        for name in sorted(os.listdir(self._receipts)):
            if name.endswith(".json"):
                with open(os.path.join(self._receipts, name), encoding="utf-8") as file:
                    yield json.load(file)

    def begin(self, shard: str) -> Attempt:
        """Starts an attempt at a shard."""
        return Attempt(self, shard)

    def seconds(self) -> float:
        """Returns the duration of the earlier runs, without those that were killed."""
        try:
            with open(self._seconds, encoding="utf-8") as file:
                return float(json.load(file))
        except (OSError, ValueError, TypeError):  # A lost duration is no reason to refuse the job.
            return 0.0

    def write_seconds(self, seconds: float) -> None:
        """Stores the duration of all runs."""
        self._write(self._seconds, round(seconds, 3))

    def write_manifest(self, manifest: Dict[str, Any]) -> str:
        """Writes the manifest, and returns its path."""
        path = os.path.join(self.folder, "manifest.json")
        self._write(path, manifest)
        return path

    def _write(self, path: str, value: Any) -> None:
        temporary = f"{path}.{uuid.uuid4().hex[:8]}"
        with open(temporary, "x", encoding="utf-8") as file:
            json.dump(value, file, indent=1, default=str)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        sync_folder(os.path.dirname(path))

    def _commit(self, shard: str, folder: str, receipt: Receipt) -> Receipt:
        """Makes an attempt the result of its shard, unless another attempt already is. Returns the valid receipt."""
        own = os.path.join(folder, "receipt.json")
        place = os.path.join(self._receipts, f"{shard}.json")
        try:
            self._write(own, receipt)
            os.link(own, place)
        except (FileExistsError, FileNotFoundError):
            if not os.path.exists(place):
                raise
            with open(place, encoding="utf-8") as file:  # Another attempt was first, and may have deleted this folder.
                winner: Receipt = json.load(file)
            # The winner may have been killed before it moved its files. On a network file system, it can be this attempt:
            # the link was made, but the response was lost.
            self._publish(shard, winner)
            return winner
        except OSError as error:
            if error.errno in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS):
                raise FileError(
                    f"{self.folder} is on a file system without hard links, which bulk jobs need. Choose another folder.",
                    "bad_directory",
                ) from error
            raise
        sync_folder(self._receipts)
        self._publish(shard, receipt)
        return receipt

    def _publish(self, shard: str, receipt: Receipt) -> None:
        """Moves the files of the attempt that has the receipt to their places, and deletes the other attempts."""
        folder = os.path.join(self._attempts, f"{shard}.{receipt['attempt']}")
        if os.path.isdir(folder):
            for name in receipt["files"]:
                self._move(os.path.join(folder, name), os.path.join(self.folder, name))
            self._move(os.path.join(folder, f"{shard}.jsonl"), os.path.join(self._log, f"{shard}.jsonl"))
            sync_folder(self.folder)
        for name in os.listdir(self._attempts):
            if name.startswith(f"{shard}."):
                shutil.rmtree(os.path.join(self._attempts, name), ignore_errors=True)

    def _move(self, source: str, place: str) -> None:
        try:
            os.rename(source, place)
        except FileNotFoundError:
            pass  # The file was moved before a process was killed, or by another process.
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            self._replace(source, place)

    def _replace(self, source: str, place: str) -> None:
        """Moves the folder of a shard to the place of an older one, whose receipt was deleted."""
        descriptor = os.open(self._attempts, os.O_RDONLY | os.O_DIRECTORY)
        try:
            # Another process may do the same, and must not delete the folder that this one has moved.
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if os.path.isdir(source):
                shutil.rmtree(place, ignore_errors=True)
                os.rename(source, place)
        finally:
            os.close(descriptor)


class Attempt:
    """One attempt at a shard, in its own folder."""

    def __init__(self, store: Store, shard: str) -> None:
        self._store = store
        self.shard = shard
        self.id = uuid.uuid4().hex[:12]
        self.folder = os.path.join(store._attempts, f"{shard}.{self.id}")
        os.mkdir(self.folder)
        self.log_path = os.path.join(self.folder, f"{shard}.jsonl")

    def commit(self, files: Dict[str, Dict[str, Any]], details: Dict[str, Any]) -> Receipt:
        """Publishes the files, and returns the receipt. If another attempt was first, returns its receipt instead."""
        if not all(os.path.basename(name) == name for name in files):
            raise ArgumentError(f"the files of a shard must have plain names, not {sorted(files)}", "bad_path")
        receipt = {"shard": self.shard, "attempt": self.id, "files": files, **details}
        return self._store._commit(self.shard, self.folder, receipt)

    def abandon(self) -> None:
        """Deletes the files of the attempt."""
        shutil.rmtree(self.folder, ignore_errors=True)
