"""Where the files of a fleet are: a folder of a file system, or a bucket of S3.

Both have the same operations, so `store.py` knows one algorithm. `create` is the only one that orders writers: of those
that create the same name at the same time, one succeeds. A file appears under its name only when it is complete and
durable. Errors: OSError, for S3 too.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pathlib
import time
import urllib.parse
import uuid
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import pyarrow as pa
import pyarrow.fs as pa_fs

LOCK = ".lock"
UNFINISHED = ".unfinished"
UNFINISHED_SECONDS = 3600.0
"""A file that is written for so long has lost its writer."""
LOCK_SECONDS = 900.0
"""A lock in S3 that is older has lost its owner. No rewriting of a partition takes that long."""
FREE_LOCK = b'{"owner":"","until":0}'
"""A released lock in S3. Any process may take it."""


class File(NamedTuple):
    path: str
    """Below the root."""
    version: str
    """Another one after each change."""
    size: int = 0

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]


class Files(Protocol):
    root: str
    list_seconds: float
    """How often a program that waits for new files may list them. A service bills each request."""

    def list(self, prefix: str) -> list[File]:
        """The files below a folder, sorted by path. Files whose name begins with a dot are left out."""

    def read(self, path: str) -> bytes | None:
        """Returns None if there is no such file."""

    def open(self, path: str) -> pa.NativeFile: ...
    def put(self, path: str, content: bytes) -> None: ...
    def create(self, path: str, content: bytes) -> bool:
        """Creates the file. Returns False, and changes nothing, if a file of this name exists."""

    def delete(self, path: str) -> None:
        """Deletes the file, if it exists."""

    def remove_unfinished(self) -> None:
        """Removes what killed writers left behind."""

    def locked(self) -> contextlib.AbstractContextManager[None]:
        """The lock that a program holds while it changes or removes files. Readers and `create` do not need it."""

    def dataset(self) -> tuple[pa_fs.FileSystem, str]:
        """A file system and the root's path in it, for pyarrow."""


def open_files(root: str | os.PathLike[str], below: str) -> Files:
    """Opens the files in the folder `below` of the root. All paths are relative to that folder."""
    text = os.fspath(root)
    if not text.startswith("s3://"):
        return LocalFiles(os.path.join(text, below))
    path, mark, options = text.partition("?")
    return S3Files(f"{path.rstrip('/')}/{below}{mark}{options}")


# ---- a folder


class LocalFiles:
    """Files in a folder. The file system must have hard links and flock, as those of Linux and NFS 4 have."""

    list_seconds = 2.0

    def __init__(self, root: str) -> None:
        self.root = root
        self._root = pathlib.Path(root)

    def list(self, prefix: str) -> list[File]:
        found: list[File] = []
        folders = [prefix.rstrip("/")]
        while folders:
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):  # removed meanwhile
                folders += _scan(self.root, folders.pop(), found)
        return sorted(found)

    def read(self, path: str) -> bytes | None:
        try:
            return (self._root / path).read_bytes()
        except FileNotFoundError:
            return None

    def open(self, path: str) -> pa.NativeFile:
        return pa.memory_map(str(self._root / path))

    def put(self, path: str, content: bytes) -> None:
        written = self._written(path, content)
        os.replace(written, self._root / path)
        _sync_folder(written.parent)

    def create(self, path: str, content: bytes) -> bool:
        written = self._written(path, content)
        try:
            os.link(written, self._root / path)
        except FileExistsError:
            return False
        finally:
            written.unlink()
        _sync_folder(written.parent)
        return True

    def delete(self, path: str) -> None:
        file = self._root / path
        file.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # the folder has other files
            if file.parent != self._root:
                file.parent.rmdir()
        with contextlib.suppress(FileNotFoundError):
            _sync_folder(file.parent)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        self._root.mkdir(parents=True, exist_ok=True)
        with open(self._root / LOCK, "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def dataset(self) -> tuple[pa_fs.FileSystem, str]:
        return pa_fs.LocalFileSystem(), self.root

    def remove_unfinished(self) -> None:
        for path in self._root.rglob(f".*{UNFINISHED}"):
            with contextlib.suppress(FileNotFoundError):
                if path.stat().st_mtime < time.time() - UNFINISHED_SECONDS:
                    path.unlink()

    def _written(self, path: str, content: bytes) -> pathlib.Path:
        target = self._root / path
        written = target.with_name(f".{target.name}.{uuid.uuid4().hex[:12]}{UNFINISHED}")
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(written, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        return written


def _scan(root: str, folder: str, found: list[File]) -> list[str]:
    """Adds the files of a folder, and returns the folders in it."""
    below = []
    with os.scandir(os.path.join(root, folder)) as items:
        for item in items:
            path = f"{folder}/{item.name}" if folder else item.name
            if item.is_dir(follow_symlinks=False):
                below.append(path)
            elif item.is_file() and not item.name.startswith("."):
                with contextlib.suppress(FileNotFoundError):  # removed meanwhile
                    state = item.stat()
                    version = f"{state.st_mtime_ns}-{state.st_size}-{state.st_ino}"
                    found.append(File(path, version, state.st_size))
    return below


def _sync_folder(folder: pathlib.Path) -> None:
    at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(at)
    finally:
        os.close(at)


# ---- S3


class S3Files:
    """s3://BUCKET/PATH?endpoint=http://HOST:PORT&region=REGION; both options may be left out.

    The credentials are those of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or of the machine's role. The service must
    support conditional writes (If-None-Match and If-Match), as AWS, Cloudflare R2, MinIO and SeaweedFS do.
    """

    list_seconds = 20.0

    def __init__(self, root: str) -> None:
        try:
            import obstore.store
        except ImportError as error:
            raise ImportError(f"{error}: S3 needs obstore, a part of digd[fleet]") from None
        self.root = root
        url = urllib.parse.urlsplit(root)
        options = dict(urllib.parse.parse_qsl(url.query))
        endpoint = options.get("endpoint") or os.environ.get("AWS_ENDPOINT_URL")
        region = options.get("region") or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
        self._bucket, self._prefix = url.netloc, url.path.strip("/")
        config: dict[str, Any] = {"region": region or "us-east-1", "conditional_put": "etag"}
        if endpoint:
            config["endpoint"] = endpoint
        is_http = bool(endpoint and endpoint.startswith("http://"))
        client: Any = {"allow_http": is_http}
        self._store = obstore.store.S3Store(self._bucket, client_options=client, **config)
        reading: dict[str, Any] = {"region": region or "us-east-1"}
        if endpoint:
            reading |= {"endpoint_override": endpoint.partition("://")[2], "scheme": "http" if is_http else "https"}
        self._reader = pa_fs.S3FileSystem(**reading)

    def _key(self, path: str) -> str:
        return f"{self._prefix}/{path}" if self._prefix else path

    def list(self, prefix: str) -> list[File]:
        import obstore

        start = len(self._key(""))
        with _as_os_error():
            found = [
                File(item["path"][start:], str(item["e_tag"]), item["size"])
                for page in obstore.list(self._store, prefix=self._key(prefix))
                for item in page
            ]
        return sorted(file for file in found if not file.name.startswith("."))

    def read(self, path: str) -> bytes | None:
        import obstore

        try:
            with _as_os_error():
                return bytes(obstore.get(self._store, self._key(path)).bytes())
        except FileNotFoundError:
            return None

    def open(self, path: str) -> pa.NativeFile:
        return self._reader.open_input_file(f"{self._bucket}/{self._key(path)}")

    def put(self, path: str, content: bytes) -> None:
        import obstore

        with _as_os_error():
            obstore.put(self._store, self._key(path), content, use_multipart=False)

    def create(self, path: str, content: bytes) -> bool:
        import obstore
        from obstore.exceptions import AlreadyExistsError

        try:
            with _as_os_error():
                obstore.put(self._store, self._key(path), content, mode="create", use_multipart=False)
        except AlreadyExistsError:
            return False
        return True

    def delete(self, path: str) -> None:
        import obstore

        with contextlib.suppress(FileNotFoundError), _as_os_error():
            obstore.delete(self._store, self._key(path))

    def remove_unfinished(self) -> None:
        """S3 shows no unfinished object."""

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        owner = uuid.uuid4().hex
        deadline = time.monotonic() + 2 * LOCK_SECONDS
        while not self._take_lock(owner):
            if time.monotonic() > deadline:
                raise OSError(f"{self.root}: the lock {LOCK} is not released")
            time.sleep(0.2)
        try:
            yield
        finally:
            self._release_lock(owner)

    def _take_lock(self, owner: str) -> bool:
        """Takes the lock. Returns False if another process holds it."""
        import obstore
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        content = json.dumps({"owner": owner, "until": time.time() + LOCK_SECONDS}).encode()
        if self.create(LOCK, content):
            return True
        with _as_os_error():
            try:
                held = obstore.get(self._store, self._key(LOCK))
                if json.loads(bytes(held.bytes()))["until"] >= time.time():
                    return False
                # It is free, or its owner died. Of all processes that saw this version, one replaces it.
                version: Any = {"e_tag": held.meta["e_tag"]}
                obstore.put(self._store, self._key(LOCK), content, mode=version, use_multipart=False)
            except (AlreadyExistsError, PreconditionError, FileNotFoundError):
                return False  # another process took or released it meanwhile
        return True

    def _release_lock(self, owner: str) -> None:
        """Marks the lock as free, unless another process has taken it over meanwhile.

        S3 has no conditional deletion that every service supports, so the object stays.
        """
        import obstore
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        with _as_os_error(), contextlib.suppress(AlreadyExistsError, PreconditionError, FileNotFoundError):
            held = obstore.get(self._store, self._key(LOCK))
            if json.loads(bytes(held.bytes()))["owner"] == owner:
                version: Any = {"e_tag": held.meta["e_tag"]}
                obstore.put(self._store, self._key(LOCK), FREE_LOCK, mode=version, use_multipart=False)

    def dataset(self) -> tuple[pa_fs.FileSystem, str]:
        return self._reader, f"{self._bucket}/{self._prefix}".rstrip("/")


@contextlib.contextmanager
def _as_os_error() -> Iterator[None]:
    from obstore.exceptions import AlreadyExistsError, BaseError

    try:
        yield
    except (AlreadyExistsError, FileNotFoundError):
        raise
    except BaseError as error:
        raise OSError(str(error).partition("\n")[0]) from None
