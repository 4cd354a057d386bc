"""Bad command lines."""

import subprocess
import sys
from pathlib import Path

import numpy
from making import model_of
from onnx import TensorProto, helper

MODEL = model_of([helper.make_node("Relu", ["x"], ["y"], name="n")],
                 [("x", TensorProto.FLOAT, ["rows", 3])])
MISSING = model_of([helper.make_node("NoSuchThing", ["x"], ["y"], name="n")],
                   [("x", TensorProto.FLOAT, [2])])


def command(*arguments):
    def attempt():
        Path("m.onnx").write_bytes(MODEL.SerializeToString())
        Path("missing.onnx").write_bytes(MISSING.SerializeToString())
        Path("text.npy").write_text("no array", encoding="utf-8")
        numpy.save("x.npy", numpy.ones((2, 3), numpy.float32))
        numpy.save("wide.npy", numpy.ones((2, 4), numpy.float32))
        numpy.save("turned.npy", numpy.asfortranarray(numpy.ones((2, 3), numpy.float32)))
        numpy.save("names.npy", numpy.array(["a", "b"]))
        Path("bad.json").write_text("{", encoding="utf-8")
        done = subprocess.run([sys.executable, "-m", "latchkey", *arguments], capture_output=True,
                              text=True, timeout=120, check=False)
        return done.stderr if done.returncode != 0 else ""
    return attempt


LINES = """
no-such-command
inspect
inspect nowhere.onnx
inspect missing.onnx
inspect m.onnx other.onnx
inspect m.onnx --no-such-option
run m.onnx
run m.onnx -o out
run m.onnx -o out --input x
run m.onnx -o out --input z=x.npy
run m.onnx -o out --input x=nowhere.npy
run m.onnx -o out --input x=text.npy
run m.onnx -o out --input x=wide.npy
run m.onnx -o out --input x=turned.npy
run m.onnx -o out --input x=names.npy
run m.onnx -o out --input x=x.npy --input x=x.npy
bench m.onnx
bench m.onnx --shape x=2x3 --threads 0
bench m.onnx --shape x=2x3 --threads many
bench m.onnx --shape x=2x3 --duration -1
bench m.onnx --shape x=2x4
bench
bench m.onnx m.onnx
bench m.onnx a=m.onnx --batch 2
bench m.onnx --shape x=2x3 x=4x3
bench m.onnx --shape x=2x3 --mix other:1
bench m.onnx a=m.onnx --shape x=2x3 --shape z=2x3
bench m.onnx --shape x=2x3 --rate 0
bench m.onnx --shape x=2by3
bench m.onnx --shape z=2x3
bench m.onnx --shape x={n}x3
bench m.onnx --shape x=2x3 --cache some
bench m.onnx --shape x=2x3 --executor fast
bench m.onnx --shape x=2x3 --inter 2
bench m.onnx --shape x=2x3 --memory much
bench m.onnx --fix rows
bench m.onnx --fix columns=3
bench m.onnx --shape x=2x3 --latencies raw.txt
bench m.onnx --shape x=2x3 --engine native,
bench m.onnx --shape x=2x3 --engine native,native
bench m.onnx --shape x=2x3 --engine native,no/such
bench m.onnx --shape x=2x3 --engine a,b,c,d,e,f,g,h,i,j,k,l,m
bench m.onnx --shape x=2x3 --engine native,other --profile
tune m.onnx --shape x=2x3
tune m.onnx --shape x=2x3 -o tuning --engine onednn
tune m.onnx --shape x=2x3 -o tuning --duration 0
cache m.onnx --shape x=2x3 --engine auto --tuning nowhere
load m.onnx --threads 4
cache m.onnx --shape x=2x3 --sort colour
ops m.onnx
completion
completion fish
completion bash zsh
test
test .
report
report bad.json
explain bad.json
explain nowhere.json
bench-compare bad.json bad.json
compare nowhere.onnx
compare m.onnx -o out
top --port 0
""".strip().splitlines()

COMMANDS = {f"latchkey {line}": command(*line.split()) for line in LINES}
