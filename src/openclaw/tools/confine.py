"""Which paths the file tools may touch, and the only way they open one.

Owns the promise that a file tool stays inside its roots: the workspace and the extra roots (read and write), the readable roots
(skills: read only) and the kept roots (results and media kept for the model: read only, and framed when read). A path
anywhere else is refused, absolute or not. The config file, its includes and the state directory are refused even when a
root contains them; a root that itself lies inside a refused directory was chosen on purpose and stays usable.

Real paths decide, symbolic links included, and what is checked is what is opened: a resolved path is walked from its root one
name at a time through directory descriptors that follow no link, so nothing swapped in between leads elsewhere (needs
`dir_fd`: Linux and macOS). Refused places are recognised by device and inode as well as by name, which also holds where
the file system ignores case or normalises Unicode. Opening never blocks: pipes, devices and sockets are refused. Writes
replace the file whole.

Does not confine `exec`, and cannot know a second hard link to a file inside the state directory. Every call blocks: files.py
runs them in threads.
"""

import errno
import os
import secrets
import stat
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec

from openclaw.errors import PathError

_DIRECTORY = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
# Without O_NONBLOCK, opening a pipe nobody writes to would wait for ever.
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)

# Whether this system has what the walk below needs.
FILES_WORK = sys.platform != "win32"

Identity = tuple[int, int]
Access = Literal["write", "read", "kept"]


class Place(msgspec.Struct, frozen=True):
    """A resolved path: `parts` lead from `root` (a real path) without any link. `shown` is how messages name it."""

    root: str
    parts: tuple[str, ...]
    shown: str
    access: Access = "write"

    @property
    def real(self) -> str:
        return os.path.join(self.root, *self.parts)


class Opened(msgspec.Struct, frozen=True):
    """An open regular file. `kept` says it lies under a kept root, so its text is untrusted."""

    descriptor: int
    size: int
    shown: str
    kept: bool

    def head(self, size: int) -> bytes:
        """Its first bytes. It stands at its beginning afterwards."""
        data = os.read(self.descriptor, size)
        os.lseek(self.descriptor, 0, os.SEEK_SET)
        return data


class Fence(msgspec.Struct, frozen=True):
    """`roots` besides the workspace, roots that may only be read, and what is `refused` wherever it lies."""

    roots: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    kept: tuple[Path, ...] = ()
    refused: tuple[Path, ...] = ()

    def locate(self, path: str, workspace: Path) -> Place:
        """Where `path` really is. Raises PathError when that is outside every root or in a refused place."""
        asked = _asked(path, workspace)
        home = os.path.realpath(workspace)
        real = os.path.realpath(asked)
        access = self._access(home)
        root = _longest(real, access)
        if root is None:
            raise PathError(
                f"{show(path)} is outside the workspace.", hint=f"File tools work inside {show(home)} only."
            )
        for place in (os.path.realpath(place) for place in self.refused):
            if _inside(real, place) and _inside(place, root):
                raise _refused(path)
        relative = os.path.relpath(real, root)
        parts = () if relative == os.curdir else tuple(relative.split(os.sep))
        shown = os.path.relpath(real, home) if _inside(real, home) else real
        return Place(root, parts, show(shown), access[root])

    @contextmanager
    def file(self, path: str, workspace: Path) -> Iterator[Opened]:
        """The regular file at `path`, open for reading while the block runs."""
        place = self.locate(path, workspace)
        with _explained(place.shown), self._parent(place, create=False) as parent:
            self._regular(place, os.stat(place.parts[-1], dir_fd=parent, follow_symlinks=False))
            descriptor = os.open(place.parts[-1], _READ, dir_fd=parent)
            try:
                found = self._regular(place, os.fstat(descriptor))
                yield Opened(descriptor, found.st_size, place.shown, place.access == "kept")
            finally:
                os.close(descriptor)

    @contextmanager
    def directory(self, path: str, workspace: Path) -> Iterator[tuple[int, Place]]:
        """The directory at `path`, open while the block runs."""
        place = self.locate(path, workspace)
        with _explained(place.shown), self._walked(place.root, place.parts, create=False) as descriptor:
            yield descriptor, place

    def replace(self, path: str, workspace: Path, data: bytes) -> Place:
        """Put a file with `data` at `path`, whole or not at all. Missing parent directories are made; the mode is kept."""
        place = self.locate(path, workspace)
        if place.access != "write":
            raise PathError(f"{place.shown} may be read but not written.")
        with _explained(place.shown), self._parent(place, create=True) as parent:
            name = place.parts[-1]
            try:
                mode = stat.S_IMODE(self._regular(place, os.stat(name, dir_fd=parent, follow_symlinks=False)).st_mode)
            except FileNotFoundError:
                mode = None
            _replace(parent, name, data, mode)
        return place

    def identities(self) -> frozenset[Identity]:
        """Device and inode of every refused place that exists."""
        found = set()
        for place in self.refused:
            try:
                status = os.stat(place)
            except OSError:
                continue
            found.add((status.st_dev, status.st_ino))
        return frozenset(found)

    def _access(self, home: str) -> dict[str, Access]:
        """Every root with what may be done in it; where roots coincide, the least."""
        access: dict[str, Access] = {home: "write"}
        access |= {os.path.realpath(root): "write" for root in self.roots}
        access |= {os.path.realpath(root): "read" for root in self.readable}
        access |= {os.path.realpath(root): "kept" for root in self.kept}
        return access

    @contextmanager
    def _parent(self, place: Place, *, create: bool) -> Iterator[int]:
        if not place.parts:
            raise PathError(f"{place.shown} is a directory.")
        with self._walked(place.root, place.parts[:-1], create=create) as descriptor:
            yield descriptor

    @contextmanager
    def _walked(self, root: str, parts: tuple[str, ...], *, create: bool) -> Iterator[int]:
        if sys.platform == "win32":
            raise not_on_windows()
        refused = self.identities()
        descriptor = os.open(root, _DIRECTORY)
        try:
            self._admit(descriptor, refused, root)
            for part in parts:
                below = _step(descriptor, part, create=create)
                os.close(descriptor)
                descriptor = below
                self._admit(descriptor, refused, part)
            yield descriptor
        finally:
            os.close(descriptor)

    @staticmethod
    def _admit(descriptor: int, refused: frozenset[Identity], name: str) -> None:
        status = os.fstat(descriptor)
        if (status.st_dev, status.st_ino) in refused:
            raise _refused(name)

    def _regular(self, place: Place, status: os.stat_result) -> os.stat_result:
        if stat.S_ISDIR(status.st_mode):
            raise PathError(f"{place.shown} is a directory.")
        if stat.S_ISLNK(status.st_mode):
            raise PathError(f"{place.shown} changed while it was opened.")
        if not stat.S_ISREG(status.st_mode):
            raise PathError(f"{place.shown} is not a regular file.")
        if (status.st_dev, status.st_ino) in self.identities():
            raise _refused(place.shown)
        return status


def not_on_windows() -> PathError:
    """Without directory descriptors nobody could promise that what was checked is what is opened."""
    return PathError("The file tools do not work on Windows yet.", hint="Connect an MCP server that has files.")


def show(path: str) -> str:
    """A path as text for a message. Anybody may choose a file name: characters that could forge a line or hide are escaped."""
    return "".join(c if _plain(c) else c.encode("unicode_escape").decode("ascii") for c in path)


def _plain(character: str) -> bool:
    # Joiners are part of ordinary emoji and scripts; every other control, format and surrogate character is not shown as it is.
    return character in "\u200c\u200d" or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Zl", "Zp")


def _asked(path: str, workspace: Path) -> str:
    if "\0" in path:
        raise PathError(f"{show(path)} is not a usable path: it holds a NUL character.")
    try:
        os.fsencode(path)
    except UnicodeEncodeError as error:
        raise PathError(f"{show(path)} is not a usable path: it holds half of a surrogate pair.") from error
    expanded = os.path.expanduser(path) if path == "~" or path.startswith("~/") else path
    return os.path.join(workspace, expanded)


def _inside(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip(os.sep) + os.sep)


def _longest(real: str, roots: Iterable[str]) -> str | None:
    """The closest root, so that a kept root inside the workspace stays one."""
    return max((root for root in roots if _inside(real, root)), key=len, default=None)


def _refused(path: str) -> PathError:
    return PathError(f"{show(path)} belongs to OpenClaw's own config or state, which file tools never touch.")


def _step(descriptor: int, part: str, *, create: bool) -> int:
    try:
        return os.open(part, _DIRECTORY, dir_fd=descriptor)
    except FileNotFoundError:
        if not create:
            raise
    try:
        os.mkdir(part, dir_fd=descriptor)
    except FileExistsError:
        # Somebody else made it meanwhile; if that is a link, the open below refuses it.
        pass
    return os.open(part, _DIRECTORY, dir_fd=descriptor)


def _replace(parent: int, name: str, data: bytes, mode: int | None) -> None:
    temporary = f".openclaw-{secrets.token_hex(8)}.tmp"
    descriptor = os.open(temporary, _CREATE, 0o666, dir_fd=parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if sys.platform != "win32" and mode is not None:
                os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        os.replace(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
    except BaseException:
        os.unlink(temporary, dir_fd=parent)
        raise


_SENTENCES: dict[int, str] = {
    errno.ENOENT: "does not exist.",
    errno.EACCES: "may not be opened by this user.",
    errno.EPERM: "may not be changed by this user.",
    errno.EISDIR: "is a directory.",
    errno.ENOTDIR: "is not a directory, or one of its parents is not.",
    # Only a link that appeared after the path was resolved, or a loop of links, meets O_NOFOLLOW.
    errno.ELOOP: "leads through a symbolic link that cannot be followed.",
    errno.ENXIO: "is not a regular file.",
    errno.ENOSPC: "cannot be written: the disk is full.",
    errno.EROFS: "cannot be written: the file system is read-only.",
    errno.ENAMETOOLONG: "is too long for a file name.",
}


@contextmanager
def _explained(shown: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        sentence = _SENTENCES.get(error.errno or 0, f"cannot be used: {error.strerror or type(error).__name__}.")
        raise PathError(f"{shown} {sentence}") from error
