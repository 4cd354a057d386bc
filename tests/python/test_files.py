"""Whatever the package writes to a path: devices, pipes and links stay what they are, files are
replaced as a whole. All nodes are the test's own, in a folder of its own."""

import os
import re
import stat
import subprocess
import sys
import threading

import pytest
from conftest import ROOT, make_convnet, random

import latchkey
from latchkey._files import write_whole

SIZE = (1, 3, 8, 16)


def of_helper(path, _session):
    write_whole(path, "text", "a text")


def of_recorder(path, session):
    with latchkey.Recorder(session) as recorder:
        recorder.run({"x": random(*SIZE)})
    recorder.save(path)


def of_recorder_block(path, session):
    with latchkey.Recorder(session, path=path):
        pass


def of_trace(path, session):
    with session.trace() as trace:
        session.run({"x": random(*SIZE)})
    trace.save(path)


def of_picture(path, _session):
    picture = pytest.importorskip("latchkey._bench.picture")
    named = f"{path}.svg"
    if os.path.lexists(path):
        os.symlink(os.path.basename(path), named)
    picture.save(named, [])
    if not os.path.lexists(path):
        os.rename(named, path)
    elif os.path.islink(named):
        os.unlink(named)


def of_reduced_model(path, _session):
    model_file = pytest.importorskip("latchkey._compare.model_file")
    onnx = pytest.importorskip("onnx")
    model_file.save(onnx.load_from_string(make_convnet()), path)


WRITERS = [of_helper, of_recorder, of_recorder_block, of_trace, of_picture, of_reduced_model]

# What opens files to write, and may: by the one way itself; a picture that is drawn in memory; a
# model of more than 2 GB, and a copy under a name that nobody has, which is gone again; what
# resets a counter of the process; and what appends to a file to which others append, too.
OPENS = {
    ".py": re.compile(r"\bopen\([^)\n]*[\"'](?:[wax]b?|[rwab]+\+)[\"']|\.write_(?:text|bytes)\(|"
                      r"\.savefig\(|\bfdopen\(|\bmkstemp\("),
    ".c": re.compile(r"\bO_(?:CREAT|WRONLY|RDWR)\b|\b(?:fopen|fdopen)\([^)\n]*\"[wa]|\bmkstemp\("),
}
MAY_OPEN = {"base/whole_file.c", "python/latchkey/_bench/picture.py",
            "python/latchkey/_compare/model_file.py", "executor_glue/cli/common/rss.c",
            "plugin/tuning_file.c"}


def test_nothing_else_of_the_product_writes_files():
    folders = ("base", "keys", "ops", "plugin", "executor_glue", "python/latchkey")
    paths = [path for folder in folders for ending in OPENS
             for path in (ROOT / folder).rglob("*" + ending)]
    assert len(paths) > 500
    assert {str(path.relative_to(ROOT)) for path in paths
            if OPENS[path.suffix].search(path.read_text())} == MAY_OPEN


@pytest.fixture(scope="module")
def session(convnet):
    return latchkey.Session(convnet, threads=1)


@pytest.fixture(params=WRITERS, ids=lambda writer: writer.__name__)
def write(request, session):
    return lambda path: request.param(path, session)


def node(path, device):
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(*device))
    except PermissionError:
        pytest.skip("this user makes no devices")


def test_a_file_is_new_or_replaced(write, tmp_path):
    path = tmp_path / "a"
    write(path)
    assert path.stat().st_size > 3
    path.write_text("old")
    path.chmod(0o640)
    write(path)
    assert path.stat().st_size > 3 and stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["a"]


def test_a_device_stays(write, tmp_path):
    path = tmp_path / "null"
    node(path, (1, 3))
    write(path)
    assert stat.S_ISCHR(path.lstat().st_mode) and os.listdir(tmp_path) == ["null"]


def test_a_link_to_a_device_stays(write, tmp_path):
    node(tmp_path / "null", (1, 3))
    (tmp_path / "link").symlink_to("null")
    write(tmp_path / "link")
    assert stat.S_ISCHR((tmp_path / "null").lstat().st_mode)
    assert (tmp_path / "link").is_symlink()


def test_a_full_device_is_a_sentence(session, tmp_path):
    path = tmp_path / "full"
    node(path, (1, 7))
    for write in (of_helper, of_recorder, of_trace):
        with pytest.raises(latchkey.FileError, match="failed to write a .* to '.*/full': No space"):
            write(path, session)
    assert stat.S_ISCHR(path.lstat().st_mode)


def test_a_pipe_gets_all(write, tmp_path):
    path, got = tmp_path / "fifo", []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: got.append(path.read_bytes()))
    reader.start()
    write(path)
    reader.join(60)
    assert len(got) == 1 and len(got[0]) > 3
    assert stat.S_ISFIFO(path.lstat().st_mode) and os.listdir(tmp_path) == ["fifo"]


def test_a_link_is_followed_and_stays(write, tmp_path):
    (tmp_path / "there").mkdir()
    target = tmp_path / "there" / "file"
    target.write_text("old")
    (tmp_path / "link").symlink_to("there/file")
    write(tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and target.stat().st_size > 3
    assert not target.is_symlink() and os.listdir(target.parent) == ["file"]


def test_an_open_file_by_its_number(write, tmp_path):
    with open(tmp_path / "a", "w+b") as file:
        before = os.fstat(file.fileno()).st_ino
        os.write(file.fileno(), b"before ")
        (tmp_path / "number").symlink_to(f"/proc/self/fd/{file.fileno()}")
        write(tmp_path / "number")
    content = (tmp_path / "a").read_bytes()
    assert (tmp_path / "a").stat().st_ino == before
    assert content.startswith(b"before ") and len(content) > 10


def test_a_planted_name_is_not_followed(write, tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("precious")
    for name in {f"a.{threading.get_native_id()}.part", f"a.{os.getpid()}.part", "a.part"}:
        (tmp_path / name).symlink_to("precious")
    write(tmp_path / "a")
    assert precious.read_text() == "precious" and not (tmp_path / "a").is_symlink()


@pytest.mark.parametrize("name", ["none/a", "."])
def test_what_cannot_be_written_is_a_sentence(session, tmp_path, name):
    for write in (of_helper, of_recorder, of_trace):
        with pytest.raises(latchkey.FileError, match="failed to write a .* to '"):
            write(tmp_path / name, session)
    assert os.listdir(tmp_path) == []


def test_a_mask_is_neither_lost_nor_changed(session, tmp_path):
    """In a process of its own: the mask is one for all threads, and none may see another one."""
    done = subprocess.run([sys.executable, "-c", f"""
import os, threading
from latchkey._files import write_whole
os.umask(0o027)
stop, seen = threading.Event(), set()
def watch():
    while not stop.is_set():
        with open("/proc/self/status") as status:
            seen.add(next(line for line in status if line.startswith("Umask")).split()[1])
thread = threading.Thread(target=watch); thread.start()
for i in range(300): write_whole(f"{tmp_path}/{{i}}", "text", "a text")
stop.set(); thread.join()
print(seen, {{oct(os.stat(f"{tmp_path}/{{i}}").st_mode & 0o777) for i in range(300)}})
"""], capture_output=True, text=True, timeout=120)
    assert done.stdout == "{'0027'} {'0o640'}\n", done


@pytest.mark.parametrize("words", [("record", "MODEL", "-s", "x=1x3x8x16", "-n", "5"),
                                   ("bench", "MODEL", "-s", "x=1x3x8x16", "-n", "5")])
def test_commands_write_to_what_is_no_file(words, convnet, tmp_path):
    model, path = tmp_path / "net.onnx", tmp_path / "null"
    model.write_bytes(convnet)
    node(path, (1, 3))
    output = ("--latencies", path.with_suffix(".csv")) if words[0] == "bench" else ("-o", path)
    path.with_suffix(".csv").symlink_to("null")
    done = subprocess.run([sys.executable, "-m", "latchkey",
                           *(str(model) if word == "MODEL" else word for word in words),
                           *map(str, output)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done
    assert stat.S_ISCHR(path.lstat().st_mode) and path.with_suffix(".csv").is_symlink()
