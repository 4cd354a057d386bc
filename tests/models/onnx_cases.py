"""What becomes of the node cases of the `onnx` package: docs/operators.md has it, too."""

PASSED = 1648

# Why the command `latchkey test` skips cases: how many, and what its line says.
SKIPPED = {
    "strings, f8, f4, and integers of 2 and 4 bits":
        (190, r"it is a tensor of type \w+, tensors of numbers|"
              r"attribute '\w+' is \w+; [\w, ]+ and \w+ are supported"),
    "images (ImageDecoder)": (9, r"\(ImageDecoder\)"),
    "training (Dropout, Adagrad, Adam, Momentum)":
        (13, r"training_mode|ai\.onnx\.preview\.training"),
    "n-grams (TfIdfVectorizer)": (7, r"\(TfIdfVectorizer\)"),
    "ai.onnx.ml": (4, r"of ai\.onnx\.ml at"),
    "opset 1": (3, r"opset 1 of ai\.onnx"),
    "Scan before opset 9": (1, r"\(Scan\).* before opset 9"),
}

# Cases that say nothing about this library: no two right implementations agree on them.
LEFT_OUT = {
    "test_bernoulli": "random draws",
    "test_bernoulli_expanded": "random draws",
    "test_bernoulli_double": "random draws",
    "test_bernoulli_double_expanded": "random draws",
    "test_bernoulli_seed": "random draws, of numpy's generator",
    "test_bernoulli_seed_expanded": "random draws, of numpy's generator",
    "test_attention_4d_causal_fp16_expanded": "roundings to f16 between its nodes",
    "test_dft_inverse": "the rounding errors of a transform in f32, where the result is 0",
    "test_dft_inverse_opset19": "the rounding errors of a transform in f32, where the result is 0",
}
