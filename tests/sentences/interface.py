"""Wrong arguments to the C interface, and bad keys."""

from latchkey._native import ffi, lib

import latchkey


def ask(call):
    """`call` gets the interface, a context and an error, and gives a status."""
    def attempt():
        context, error = latchkey.Context(cache="shared"), ffi.new("lk_error *")
        status = call(lib.lk_py_api(), context._native(), error)
        return ffi.string(error.message).decode() if status else ""
    return attempt


def executor(api, context, error):
    made = ffi.new("lk_executor **")
    assert api.executor_create(context, b"tests", made, error) == 0
    return ffi.gc(made[0], api.executor_destroy)


def options(**given):
    def call(api, _, error):
        size = {"struct_size": ffi.sizeof("lk_context_options")}
        return api.context_create(ffi.new("lk_context_options *", {**size, **given}),
                                  ffi.new("lk_context **"), error)
    return ask(call)


def node(op_type="Relu", n_inputs=1, flags=(), attributes=(), post_ops=(), **given):
    """op_create of a node."""
    def call(api, context, error):
        inputs = ffi.new("lk_node_input[]", max(n_inputs, 1))
        for index, flag in enumerate(flags):
            inputs[index].flags = flag
        kept = [ffi.new("char[]", op_type.encode()), ffi.new("char[]", b"y")]
        desc = {"struct_size": ffi.sizeof("lk_node_desc"), "op_type": kept[0],
                "output_name": kept[1], "opset": 17, "n_inputs": n_inputs, "n_outputs": 1,
                "inputs": inputs}
        if attributes:
            kept += [ffi.new("lk_attr[]", list(attributes))]
            desc.update(attrs=kept[-1], n_attrs=len(attributes))
        if post_ops:
            kept += [ffi.new("lk_post_op[]", list(post_ops))]
            desc.update(post_ops=kept[-1], n_post_ops=len(post_ops))
        desc.update(given)
        owner = executor(api, context, error)
        return api.op_create(owner, ffi.new("lk_node_desc *", desc), ffi.new("lk_op **"), error)
    return ask(call)


def bind(dtype, *dims, layout=0, rank=None, **given):
    """op_bind of a Relu."""
    def call(api, context, error):
        owner, op = executor(api, context, error), ffi.new("lk_op **")
        kept = [ffi.new("char[]", b"Relu"), ffi.new("char[]", b"y"), ffi.new("lk_node_input *")]
        desc = {"struct_size": ffi.sizeof("lk_node_desc"), "op_type": kept[0],
                "output_name": kept[1], "opset": 17, "n_inputs": 1, "n_outputs": 1,
                "inputs": kept[2]}
        assert api.op_create(owner, ffi.new("lk_node_desc *", desc), op, error) == 0
        tensor = ffi.new("lk_tensor *")
        tensor.desc.dtype, tensor.desc.rank = dtype, len(dims) if rank is None else rank
        tensor.desc.layout = layout
        for index, size in enumerate(dims):
            tensor.desc.dims[index] = size
        wanted = {"struct_size": ffi.sizeof("lk_bind_desc"), "inputs": tensor, "n_inputs": 1,
                  "n_outputs": 1, "in_place_input": -1, **given}
        status = api.op_bind(op[0], ffi.new("lk_bind_desc *", wanted), ffi.new("lk_plan **"), error)
        api.op_destroy(op[0])
        return status
    return ask(call)


def key(text):
    return ask(lambda api, context, error:
               api.key_parse(context, text, ffi.new("lk_key **"), error))


def key_create(attribute=(), **given):
    """`attribute`: name, values, count and type of one that the key has."""
    def call(api, context, error):
        kept = [ffi.new("char[]", b"mine")]
        desc = {"struct_size": ffi.sizeof("lk_key_desc"), "name": kept[0]}
        if attribute:
            kept += [ffi.new("char[]", attribute[0])]
            kept += [ffi.new("lk_key_attr *", [kept[-1], *attribute[1:]])]
            desc.update(attrs=kept[-1], n_attrs=1)
        desc.update(given)
        return api.key_create(context, ffi.NULL, ffi.new("lk_key_desc *", desc),
                              ffi.new("lk_key **"), error)
    return ask(call)


def of_parsed_key(name, text, *rest):
    """A call that takes a key, for the key of a text."""
    def call(api, context, error):
        made = ffi.new("lk_key **")
        assert api.key_parse(context, text, made, error) == 0
        status = getattr(api, name)(context, ffi.NULL, made[0], *rest, error)
        api.key_destroy(context, made[0])
        return status
    return ask(call)


def run_unattached(api, context, error):
    frame = ffi.new("lk_frame **")
    owner = executor(api, context, error)
    assert api.frame_create(owner, frame, error) == 0
    status = api.op_run(frame[0], 0, ffi.NULL, ffi.NULL, error)
    api.frame_destroy(frame[0])
    return status


def operator(op_type=b"Mine", domain=b"com.example", **given):
    """op_register of an operator whose functions nobody calls."""
    def call(api, context, error):
        kept = [ffi.new("char[]", text) for text in (op_type, domain, b"T")]
        found = ffi.cast("void *", 8)
        table = {"struct_size": ffi.sizeof("lk_operator"), "op_type": kept[0], "domain": kept[1],
                 "since": 1, "min_inputs": 1, "max_inputs": 1, "max_outputs": 1,
                 "input_types": kept[2], "output_types": kept[2],
                 "infer": ffi.cast("lk_status(*)(void *, const lk_operator_node *, "
                                   "lk_operator_shapes *, lk_error *)", found),
                 "run": ffi.cast("lk_status(*)(const lk_operator_run *, lk_error *)", found),
                 **given}
        return api.op_register(context, ffi.new("lk_operator *", table), error)
    return ask(call)


INTERFACE = {
    "context_create without a size of its options": options(struct_size=0),
    "context_create in an unknown mode": options(cache_mode=9),
    "context_create with too many threads": options(threads=100000),
    "context_create without a place for the context":
        ask(lambda api, _, error: api.context_create(ffi.NULL, ffi.NULL, error)),
    "executor_create without a context":
        ask(lambda api, _, error: api.executor_create(ffi.NULL, b"a", ffi.new("lk_executor **"),
                                                      error)),
    "memory_set_limit of 0":
        ask(lambda api, context, error: api.memory_set_limit(context, 0, error)),
    "option_info of one that is not there":
        ask(lambda api, context, error: api.option_info(context, 999, ffi.new(
            "lk_option_info *", {"struct_size": ffi.sizeof("lk_option_info")}), error)),
    "op_create without a node":
        ask(lambda api, context, error: api.op_create(executor(api, context, error), ffi.NULL,
                                                      ffi.new("lk_op **"), error)),
    "op_create of an unknown operator": node("NoSuchThing"),
    "op_create of opset 3": node(opset=3),
    "op_create without an opset": node(opset=0),
    "op_run without frame_attach": ask(run_unattached),
    "op_create of no output": node(n_outputs=0),
    "op_create of an output without a name": node(output_name=ffi.NULL),
    "op_create of inputs that are NULL": node(inputs=ffi.NULL),
    "op_create of an unknown flag of an input": node(flags=[64]),
    "op_create of an attribute without a name": node(attributes=[{"type": 1, "count": 0}]),
    "op_create of an unknown post-op": node("MatMul", 2, post_ops=[{"kind": 9999, "input": -1}]),
    "op_create of post-ops that the operator does not take":
        node("Shape", post_ops=[{"kind": 1, "input": -1}]),
    "op_bind of an unknown type": bind(200, 2),
    "op_bind of strings": bind(8, 2),
    "op_bind of rank 9": bind(lib.LK_F32, 2, rank=9),
    "op_bind of a negative dimension": bind(lib.LK_F32, -2),
    "op_bind of more than 2^47 bytes": bind(lib.LK_F32, 1 << 40, 1 << 20),
    "op_bind of an unknown layout": bind(lib.LK_F32, 2, 2, layout=77),
    "op_bind in place over an input that is not there": bind(lib.LK_F32, 2, in_place_input=5),
    "op_bind with an unknown flag": bind(lib.LK_F32, 2, flags=64),
    "op_bind of another number of inputs": bind(lib.LK_F32, 2, n_inputs=0),
    "op_register of a name that the library has": operator(b"Relu", b"ai.onnx"),
    "op_register of a name with a space": operator(b"My own"),
    "op_register in the domain of fusions": operator(domain=b"latchkey"),
    "op_register since opset 0": operator(since=0),
    "op_register with neither run nor work": operator(run=ffi.NULL),
    "op_register without infer": operator(infer=ffi.NULL),
    "op_register of too many inputs": operator(max_inputs=99),
    "op_register of unknown letters": operator(output_types=ffi.NULL),
    "op_register of an unknown flag": operator(flags=64),
    "op_register of a shape input that is not there": operator(shape_inputs=8),
    "a key that is empty": key(b""),
    "a key that is not one": key(b"what is this?"),
    "a key of an unknown kind": key(b"nothing{}"),
    "a key that is NULL": key(ffi.NULL),
    "a key that is too long": key(b"user{" + b"a" * 200000),
    "a key with a float that is none": key(b"user:floats.x=[1,nan]"),
    "a key with half a byte": key(b"user:bytes.x=0"),
    "a key of an unknown flag": key_create(flags=6),
    "a key without a name": key_create(name=ffi.NULL),
    "a key of an attribute of an unknown type": key_create((b"axis", ffi.NULL, 0, 9)),
    "a key of an attribute without values": key_create((b"alpha", ffi.NULL, 2, 1)),
    "cache_find of a plan": of_parsed_key("cache_find", b"name:op=Relu", ffi.new("lk_ref **")),
}
