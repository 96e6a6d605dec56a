"""Where things lie: the spool on local disk, the rings on tmpfs, one folder of each for a destination."""

import contextlib
import errno
import hashlib
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

# Another host may hold or lose these files, flock may lie there, and a stalled server would stall the shipper.
NETWORK_FILESYSTEMS = frozenset(
    (
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "lustre", "beegfs", "gpfs", "glusterfs"),
        *("pvfs2", "orangefs", "ocfs2", "gfs2", "fuse.sshfs", "fuse.ceph", "fuse.glusterfs", "fuse.s3fs"),
        *("fuse.gcsfuse", "fuse.juicefs", "fuse.blobfuse2", "fuse.davfs"),
    )
)


NOTE, OFFLINE = "destination", "offline"
FULL = (errno.ENOSPC, errno.EDQUOT)
CLOSED = (*FULL, errno.EROFS)  # what a disk says that takes nothing now
LOG = "shipper.log"
LINK = ".spool"
PRIVATE = 0o700
OURS = f"roundwatch-{os.getuid()}"


@dataclass(frozen=True, slots=True)
class Destination:
    """Where one user's records go: a spool folder, and a server with a token, or `url` "" for the spool alone."""

    spool: Path
    url: str = ""
    token: str = field(default="", repr=False)

    @property
    def key(self) -> str:
        """Names the one shipper of this spool folder, user, URL and token."""
        parts = (str(self.spool.resolve()), str(os.getuid()), self.url, self.token)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]

    @property
    def folder(self) -> Path:
        """Where this destination's segments lie."""
        return self.spool / self.key

    @property
    def rings(self) -> Path:
        """Where this destination's rings lie."""
        return rings_of(self.folder)

    def prepare(self) -> Path:
        """Makes both folders, for this user alone, and returns that of the rings. Raises OSError."""
        if not self.spool.exists():
            make_private(self.spool)
        make_private(self.folder)
        self.leave_note()
        return self.prepare_rings()

    def prepare_rings(self) -> Path:
        """Makes the folder of the rings alone, which needs no disk where there is a tmpfs. Raises OSError."""
        make_private(self.rings.parent)
        made = make_private(self.rings)
        # Says where the records of these rings belong, once nobody comes for them any more.
        link = made.with_suffix(LINK)
        if made.parent != self.folder and not link.is_symlink():
            with contextlib.suppress(FileExistsError):
                link.symlink_to(self.folder.absolute())
        return made

    def leave_note(self) -> None:
        """Says in the folder for which server it is, unless it is said or the disk is full. Raises OSError."""
        # Never the token; a folder without a URL is what `roundwatch sync` looks for. An empty note would be one.
        note = self.folder / NOTE
        draft = note.with_suffix(f".{os.getpid()}")
        if note.exists():
            return
        try:
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600), "w") as file:
                file.write(f"{self.url or OFFLINE}\n")
            draft.rename(note)
        except OSError as error:
            draft.unlink(missing_ok=True)
            if error.errno not in FULL:  # a full disk may have room again for the next to come
                raise


def rings_of(folder: Path) -> Path:
    """Where the rings of a destination's folder lie: on tmpfs, or in it where the system has none (then only links)."""
    base = tmpfs()
    return folder / "rings" if base is None else base / OURS / folder.name


def tmpfs() -> Path | None:
    """A folder on tmpfs in which this user may have one of its own, or None."""
    for name in ("/dev/shm", os.environ.get("XDG_RUNTIME_DIR", "")):  # noqa: S108 - its permissions are checked
        path = Path(name or "/nonexistent")
        if os.access(path, os.W_OK | os.X_OK) and filesystem(path) == "tmpfs" and _ours(path / OURS):
            return path
    return None


def _ours(path: Path) -> bool:
    """Whether a folder is this user's, or nobody's yet: anybody may have put something of that name there."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return True
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()


def filesystem(path: Path) -> str:
    """The type of the filesystem that holds `path` (or would, once it exists), "" where the system does not tell."""
    try:
        device = _nearest(path).stat().st_dev
        numbers = f"{os.major(device)}:{os.minor(device)}"
        lines = Path("/proc/self/mountinfo").read_text(errors="replace").splitlines()
    except OSError:
        return ""
    for line in reversed(lines):
        words = line.split()
        if words[2] == numbers:
            return words[words.index("-") + 1]
    return ""


def make_private(folder: Path) -> Path:
    """Creates a folder for this user alone. Raises OSError, also where another user made it."""
    folder.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
    if not _ours(folder):
        raise PermissionError(f"{folder} belongs to another user")
    if stat.S_IMODE(folder.stat().st_mode) != PRIVATE:  # a read-only disk refuses even what changes nothing
        folder.chmod(PRIVATE)
    return folder


def spool(given: str = "") -> Path:
    """The spool folder: `given`, else one under the home, else (a home on the network) one on this host.

    Raises ValueError where `given` lies on a network filesystem.
    """
    if given:
        chosen = Path(os.path.expanduser(given)).absolute()  # noqa: PTH111 - Path's raises without a home
        kind = filesystem(chosen)
        if kind in NETWORK_FILESYSTEMS:
            raise ValueError(f"ROUNDWATCH_SPOOL {chosen} lies on a network filesystem ({kind}); give a local folder")
        return chosen
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    home = Path(os.path.expanduser(state)) / "roundwatch" / "spool"  # noqa: PTH111 - Path's raises without a home
    if not home.is_absolute() or filesystem(home) in NETWORK_FILESYSTEMS or not _writable(home):
        return Path(os.environ.get("TMPDIR") or "/var/tmp") / OURS / "spool"  # noqa: S108 - its owner is checked
    return home


def _nearest(path: Path) -> Path:
    """The folder that is there for certain: `path`, or the nearest above it; what may not be seen is not there."""
    while not os.path.exists(path) and path != path.parent:  # noqa: PTH110 - Path's raises where it may not look
        path = path.parent
    return path


def _writable(path: Path) -> bool:
    return os.access(_nearest(path), os.W_OK | os.X_OK)
