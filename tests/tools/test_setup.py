"""tools/setup, as far as it goes without a network: pip finds its packages in a folder."""

import hashlib
import os
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("LK_TEST_SOURCE", Path(__file__).parents[2]))


def make_wheel(folder, name, version):
    """A package with one module, which has its version. Returns the line of a list of packages."""
    path = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{name}.py", f"VERSION = {version!r}\n")
        wheel.writestr(f"{info}/METADATA",
                       f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\n"
                       "Root-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return f"{name}=={version} --hash=sha256:{digest}\n"


@pytest.fixture
def checkout(tmp_path):
    """A folder with the set-up alone, and wheels beside it."""
    shutil.copytree(ROOT / "tools", tmp_path / "tools")
    (tmp_path / "wheels").mkdir()
    return tmp_path


def setup(checkout, *arguments, without=("--without-onednn",)):
    return subprocess.run(
        [checkout / "tools/setup", *without, *arguments], capture_output=True, text=True,
        timeout=300,
        env={**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(checkout / "wheels")})


def version(checkout, name):
    return subprocess.run([checkout / ".venv/bin/python", "-c",
                           f"import {name}; print({name}.VERSION)"], capture_output=True,
                          text=True).stdout.strip()


def test_what_else_is_in_the_environment_stays(checkout):
    """Such as Latchkey, where --development adds to what was there before. A failure changes
    nothing."""
    wheels, needed = checkout / "wheels", checkout / "tools/requirements.txt"
    needed.write_text(make_wheel(wheels, "needed", "1"))
    done = setup(checkout)
    if "Debian packages" in done.stderr:
        pytest.skip("Debian packages are missing")
    assert done.returncode == 0 and version(checkout, "needed") == "1", done
    make_wheel(wheels, "latchkey", "7")
    subprocess.run([checkout / ".venv/bin/python", "-m", "pip", "-q", "install", "--no-index",
                    "--find-links", wheels, "latchkey"], check=True)
    good = make_wheel(wheels, "needed", "2") + make_wheel(wheels, "more", "1")
    needed.write_text(re.sub("sha256:.{4}", "sha256:0000", good))
    done = setup(checkout)
    assert done.returncode == 1 and "failed to" in done.stderr, done
    assert [version(checkout, name) for name in ("needed", "more", "latchkey")] == ["1", "", "7"]
    needed.write_text(good)
    assert setup(checkout, "--check").returncode == 1
    done = setup(checkout)
    assert done.returncode == 0, done
    assert [version(checkout, name) for name in ("needed", "more", "latchkey")] == ["2", "1", "7"]
    assert setup(checkout, "--check").returncode == 0


def test_onednn_is_for_everybody_who_does_not_leave_it_out(checkout):
    wanted, left = setup(checkout, "--check", without=()), setup(checkout, "--check")
    assert wanted.returncode == 1 and "missing: oneDNN" in wanted.stdout, wanted
    assert left.returncode == 1 and "oneDNN" not in left.stdout, left
