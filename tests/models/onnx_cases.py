"""Cases of the `onnx` package that say nothing about this library, and why."""

# No two right implementations agree on them.
LEFT_OUT = {
    "test_bernoulli": "random draws",
    "test_bernoulli_expanded": "random draws",
    "test_bernoulli_double": "random draws",
    "test_bernoulli_double_expanded": "random draws",
    "test_bernoulli_seed": "random draws, of numpy's generator",
    "test_bernoulli_seed_expanded": "random draws, of numpy's generator",
    "test_dft_inverse": "the rounding errors of a transform in f32, where the result is 0",
    "test_dft_inverse_opset19": "the rounding errors of a transform in f32, where the result is 0",
}
