"""Files that are no models, and models whose files are bad."""

import gzip
import io
import os
import zipfile
from pathlib import Path

import numpy
import onnx
from making import f32, model_of
from onnx import TensorProto, helper, numpy_helper

import latchkey

LFS = (b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 +
       b"\nsize 12345\n")


def relu():
    return model_of([helper.make_node("Relu", ["x"], ["y"], name="n")],
                    [("x", TensorProto.FLOAT, [2])])


def of_bytes(content, name="model.onnx"):
    def attempt():
        Path(name).write_bytes(content)
        latchkey.Session(name)
    return attempt


def zipped(member):
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as archive:
        archive.writestr(member, b"x")
    return memory.getvalue()


def link():
    os.symlink("nowhere", "dangling.onnx")
    latchkey.Session("dangling.onnx")


def of_a_pipe():
    os.mkfifo("pipe.onnx")
    latchkey.Session("pipe.onnx")


def of_a_folder():
    os.mkdir("folder.onnx")
    latchkey.Session("folder.onnx")


def external(content=None, **entries):
    """A model whose weights lie in another file."""
    def attempt():
        made = model_of([helper.make_node("Add", ["x", "w"], ["y"], name="n")],
                        [("x", TensorProto.FLOAT, [2])])
        tensor = numpy_helper.from_array(f32(2), "w")
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in entries.items():
            tensor.external_data.add(key=key, value=value)
        made.graph.initializer.append(tensor)
        onnx.save_model(made, "external.onnx")
        if content is not None:
            Path(entries["location"]).write_bytes(content)
        latchkey.Session("external.onnx").run({"x": f32(2)})
    return attempt


def big():
    made = model_of([helper.make_node("Add", ["x", "w"], ["y"], name="n")],
                    [("x", TensorProto.FLOAT, [1000])], [("w", numpy.ones(1000, numpy.float32))])
    return made.SerializeToString()


FILES = {
    "a file that is not there": lambda: latchkey.Session("nowhere.onnx"),
    "a link to nothing": link,
    "a folder": of_a_folder,
    "a pipe": of_a_pipe,
    "an empty file": of_bytes(b""),
    "empty bytes": lambda: latchkey.Session(b""),
    "a Git LFS pointer": of_bytes(LFS),
    "a web page": of_bytes(b"<!DOCTYPE html><html><body>404</body></html>"),
    "a gzip": of_bytes(gzip.compress(relu().SerializeToString(), mtime=0)),
    "a zip": of_bytes(zipped("model.onnx")),
    "a PyTorch checkpoint": of_bytes(zipped("archive/data.pkl")),
    "a pickle": of_bytes(b"\x80\x02}q\x00."),
    "a TFLite model": of_bytes(b"\x1c\0\0\0TFL3" + b"\0" * 40),
    "a safetensors file": of_bytes(b"\x10\0\0\0\0\0\0\0" + b'{"a":{}}        '),
    "an HDF5 file": of_bytes(b"\x89HDF\r\n\x1a\n" + b"\0" * 40),
    "a text": of_bytes(b"These are just words.\n"),
    "a model that was cut off": of_bytes(big()[:500]),
    "random bytes": of_bytes(bytes(range(255, 0, -1))),
    "an external file that is not there": external(location="gone.bin"),
    "an external file that is a Git LFS pointer": external(LFS, location="pointer.bin"),
    "an external file that was cut off": external(b"abc", location="cut.bin"),
    "an external file at an offset behind its end":
        external(b"12345678", location="short.bin", offset="4096", length="8"),
    "an external file of another length": external(b"12345678", location="eight.bin", length="4"),
    "an external file above the folder": external(location="../up.bin"),
    "an external file by an absolute path": external(location="/etc/hostname"),
    "an external file without a location": external(offset="0"),
    "an external offset that is not a number":
        external(b"12345678", location="text.bin", offset="many"),
}
