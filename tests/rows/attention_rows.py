"""Scaled dot-product attention."""

import numpy

from case import Case, by_others, halved, pick, row, values


def by_formula(attributes, n_outputs):
    """Attention in f64, with a loop for each query."""

    def apart(x, heads):
        if x.ndim == 4:
            return x.astype(numpy.float64)
        batch, rows, width = x.shape
        split = x.reshape(batch, rows, heads, width // heads).astype(numpy.float64)
        return split.transpose(0, 2, 1, 3)

    def expected(inputs):
        given = dict(enumerate(inputs))
        q = apart(inputs[0], attributes.get("q_num_heads"))
        k, v = (apart(x, attributes.get("kv_num_heads")) for x in inputs[1:3])
        mask, past_key, past_value, lengths = (given.get(i) for i in range(3, 7))
        past = 0
        if past_key is not None:
            past = past_key.shape[2]
            k = numpy.concatenate([past_key.astype(numpy.float64), k], 2)
            v = numpy.concatenate([past_value.astype(numpy.float64), v], 2)
        batch, heads, queries, size = q.shape
        group, keys = heads // k.shape[1], k.shape[2]
        scale = attributes.get("scale", 1 / numpy.sqrt(size))
        cap = attributes.get("softcap", 0)
        left = attributes.get("left_window_size", -1)
        right = attributes.get("right_window_size", -1)
        if attributes.get("is_causal", 0):
            right = 0
        scaled = scale * q @ numpy.repeat(k, group, 1).transpose(0, 1, 3, 2)
        capped = cap * numpy.tanh(scaled / cap) if cap else scaled
        masked = capped.copy()
        if mask is not None:
            missing = keys - mask.shape[-1]
            bias = numpy.where(mask, 0, -numpy.inf) if mask.dtype == bool else mask
            wide = [(0, 0)] * (mask.ndim - 1) + [(0, missing)]
            bias = numpy.pad(bias.astype(numpy.float64), wide, constant_values=-numpy.inf)
            masked = masked + bias
        for b in range(batch):
            length = keys if lengths is None else int(lengths[b])
            for i in range(queries):
                at = i + (past if lengths is None else length - queries)
                j = numpy.arange(keys)
                hidden = j >= length
                if left >= 0:
                    hidden |= j < at - left
                if right >= 0:
                    hidden |= j > at + right
                masked[b, :, i, hidden] = -numpy.inf
        largest = masked.max(-1, keepdims=True, initial=-numpy.inf)
        powers = numpy.exp(masked - numpy.where(numpy.isinf(largest), 0, largest))
        total = powers.sum(-1, keepdims=True)
        weights = powers / numpy.where(total == 0, 1, total)
        y = weights @ numpy.repeat(v, group, 1)
        if inputs[0].ndim == 3:
            y = y.transpose(0, 2, 1, 3).reshape(batch, queries, -1)
        stage = attributes.get("qk_matmul_output_mode", 0)
        outputs = [y, k, v, [scaled, capped, masked, weights][stage]]
        kinds = [inputs[0].dtype, inputs[1].dtype, inputs[2].dtype, inputs[0].dtype]
        return [x.astype(kind) for x, kind in zip(outputs, kinds)][:n_outputs]

    return expected


def mask_of(rng, batch, heads, queries, keys, short):
    dims = [batch, heads, queries]
    dims = [1 if rng.random() < 0.4 else dim for dim in dims][int(rng.integers(0, 4)):]
    last = int(rng.integers(1, keys + 1)) if short and keys > 0 else keys
    dims.append(last)
    if rng.random() < 0.5:
        return rng.random(dims) < 0.7
    mask = values(rng, dims)
    return numpy.where(rng.random(dims) < 0.2, -numpy.inf, mask).astype(numpy.float32)


@row("Attention")
def attention(rng):
    batch, kv_heads, group = (int(rng.integers(1, 4)) for _ in range(3))
    heads, opset = kv_heads * group, int(rng.integers(23, 29))
    queries, rows = int(rng.integers(1, 9)), int(rng.integers(1, 40))
    size, v_size = int(rng.integers(1, 40)), int(rng.integers(1, 40))
    dtype = pick(rng, ["FLOAT", "FLOAT", "FLOAT", "FLOAT16", "BFLOAT16"])
    attributes, past, lengths = {}, None, None
    if rng.random() < 0.5:
        inputs = [values(rng, [batch, n, one], dtype) for n, one in
                  ((queries, heads * size), (rows, kv_heads * size), (rows, kv_heads * v_size))]
        attributes |= {"q_num_heads": heads, "kv_num_heads": kv_heads}
    else:
        inputs = [values(rng, [batch, of, n, one], dtype) for of, n, one in
                  ((heads, queries, size), (kv_heads, rows, size), (kv_heads, rows, v_size))]
    keys, cache = rows, rng.random()
    if cache < 0.3:
        past = int(rng.integers(0, 20))
        keys += past
    elif cache < 0.5 and opset >= 24:
        lengths = rng.integers(0, rows + 1, batch)
    has_mask = rng.random() < 0.5
    inputs.append(mask_of(rng, batch, heads, queries, keys, opset >= 24) if has_mask else None)
    if has_mask and inputs[3].dtype != bool:
        inputs[3] = inputs[3].astype(inputs[0].dtype)
    inputs += [None if past is None else values(rng, [batch, kv_heads, past, one], dtype)
               for one in (size, v_size)]
    if opset >= 24:
        inputs.append(None if lengths is None else lengths.astype(numpy.int64))
    if rng.random() < 0.3:
        attributes["is_causal"] = 1
    if rng.random() < 0.3:
        attributes["scale"] = float(pick(rng, [1.0, 0.25]))
    if rng.random() < 0.3:
        attributes["softcap"] = 2.0
    if opset >= 25:
        for name in ("left_window_size", "right_window_size"):
            if rng.random() < 0.3:
                attributes[name] = int(rng.integers(-1, 5))
    n_outputs = int(pick(rng, [1, 3, 4]))
    if n_outputs == 4:
        attributes["qk_matmul_output_mode"] = int(rng.integers(0, 4))
    tolerance = {"FLOAT": 2e-5, "FLOAT16": 4e-3, "BFLOAT16": 4e-2}[dtype]
    return Case(inputs, attributes, n_outputs=n_outputs, opset=opset, tolerance=tolerance,
                expected=by_formula(attributes, n_outputs))


def by_products(attributes):
    """As a model spells it out, in f64."""

    def expected(inputs):
        q, k, v = (x.astype(numpy.float64) for x in inputs[:3])
        if attributes.get("k_rows", 0) and k.ndim == 4:
            k = k.transpose(0, 2, 1, 3)
        scores = attributes.get("scale", 1.0) * (q @ k.swapaxes(-1, -2))
        mask = inputs[3] if len(inputs) > 3 else numpy.zeros(1)
        if mask.dtype == bool:
            hidden = mask if attributes.get("hides", 0) else ~mask
            mask = numpy.where(hidden, numpy.float64(attributes["filter"]), 0)
        scores = scores + mask
        with numpy.errstate(invalid="ignore"):  # of minus infinities alone
            powers = numpy.exp(scores - scores.max(-1, keepdims=True))
        weights = powers / powers.sum(-1, keepdims=True)
        if attributes.get("zeros", 0):
            weights = numpy.nan_to_num(weights)
        return [(weights @ v).astype(numpy.float32)]

    return expected


@row("Attention", "latchkey")
def attention_fused(rng):
    """Each dimension of each input may be 1."""
    batch, heads, queries, keys = (int(rng.integers(1, n)) for n in (4, 4, 9, 40))
    size, v_size = int(rng.integers(1, 40)), int(rng.integers(1, 40))

    def some(*dims):
        return [1 if rng.random() < 0.15 else dim for dim in dims]

    first = [batch] if rng.random() < 0.3 else [batch, heads]
    q, k = ([*some(*first, n), size] for n in (queries, keys))
    v = [*some(*first), keys, v_size]
    attributes = {"scale": float(pick(rng, [1.0, 0.25]))} if rng.random() < 0.8 else {}
    form = int(rng.integers(0, 4))
    of_mask = some(*first, queries, keys)[int(rng.integers(0, len(first) + 2)):]
    if k[-2] == 1 and (form == 0 or of_mask[-1] == 1):
        v[-2] = 1  # or the mask has more keys
    if len(first) == 2 and rng.random() < 0.3:
        k = [k[0], k[2], k[1], k[3]]
        attributes["k_rows"] = 1
    inputs = [values(rng, dims) for dims in (q, k, v)]
    if form == 1:
        inputs.append(values(rng, of_mask))
        if rng.random() < 0.5:
            inputs[3][rng.random(of_mask) < 0.6] = -numpy.inf
        if rng.random() < 0.5:
            attributes["zeros"] = 1
    elif form > 1:
        inputs.append(rng.random(of_mask) < 0.4)
        attributes |= {"filter": -3e38, "hides": form - 2}
    return Case(inputs, attributes, tolerance=2e-5, expected=by_products(attributes))


def padding_of(rng, batch, queries, keys):
    """Of the forms that a key_padding_mask has; one key at least is there."""
    form = int(rng.integers(0, 3))
    if form == 0:
        return rng.integers(1, keys + 1, batch).astype(numpy.int32)
    mask = rng.integers(0, 2, [batch, keys] if form == 1 else [batch, queries, keys])
    mask[..., 0] = 1
    return mask.astype(numpy.int32)


def by_unpacked(attributes):
    """What ONNX Runtime says of the same heads in inputs of their own: it has no packed ones."""

    def expected(inputs):
        def part(x, index):
            batch, rows = x.shape[:2]
            return numpy.ascontiguousarray(x[:, :, :, index].reshape(batch, rows, -1))

        query, key = inputs[:2]
        apart = ([part(query, i) for i in range(3)] if query.ndim == 5
                 else [query, part(key, 0), part(key, 1)])
        return by_others("com.microsoft", "MultiHeadAttention",
                         Case([*apart, *inputs[3:]], attributes))

    return expected


@row("MultiHeadAttention", "com.microsoft")
def multi_head_attention(rng):
    batch, heads = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    queries, rows = int(rng.integers(1, 9)), int(rng.integers(1, 30))
    size = int(rng.integers(1, 20))
    v_size = int(rng.integers(1, 20)) if rng.random() < 0.3 else size
    attributes, past, form = {"num_heads": heads}, 0, rng.random()
    if form < 0.15:  # all packed
        rows, v_size = queries, size
        inputs = [values(rng, [batch, queries, heads, 3, size]), None, None, None]
    elif form < 0.3:  # keys and values packed
        v_size = size
        inputs = [values(rng, [batch, queries, heads * size]),
                  values(rng, [batch, rows, heads, 2, size]), None, None]
    elif form < 0.5:  # keys and values that are projected already
        v_size = size
        inputs = [values(rng, [batch, queries, heads * size])]
        inputs += [values(rng, [batch, heads, rows, size]) for _ in range(2)] + [None]
    else:
        inputs = [values(rng, [batch, n, heads * one])
                  for n, one in ((queries, size), (rows, size), (rows, v_size))]
        if rng.random() < 0.4:
            rows, v_size = queries, size  # as ONNX Runtime wants them of a cache
            past = int(rng.integers(1, 9))
            inputs[1:] = [values(rng, [batch, rows, heads * size]) for _ in range(2)]
        bias = values(rng, [heads * (2 * size + v_size)]) if rng.random() < 0.5 else None
        inputs.append(bias)
    keys = rows + past
    inputs.append(padding_of(rng, batch, queries, keys) if rng.random() < 0.4 else None)
    if past and inputs[4] is not None and inputs[4].ndim == 1:
        inputs[4] = None
    added = [pick(rng, [1, batch]), pick(rng, [1, heads]), queries, keys]
    inputs.append(values(rng, added) if rng.random() < 0.4 else None)
    if past:
        inputs += [values(rng, [batch, heads, past, one]) for one in (size, v_size)]
    if rng.random() < 0.3:
        attributes["scale"] = 0.3
    if rng.random() < 0.3 and queries == rows:
        attributes["unidirectional"] = 1
    is_packed = inputs[0].ndim == 5 or (inputs[1] is not None and inputs[1].ndim == 5)
    case = Case(inputs, attributes, n_outputs=3 if past else 1, tolerance=2e-5,
                expected=by_unpacked(attributes) if is_packed else None)
    return case if past else halved(rng, case)


def mask_index_of(rng, batch, rows, past):
    """Of the forms that ONNX Runtime's CPU kernel takes; one key of each row is there at least."""
    keys, form = past + rows, int(rng.integers(0, 6))
    if form < 3:
        ends = rng.integers(1, keys + 1, batch)
        begins = (ends * rng.random(batch)).astype(int)  # smaller
        others = [[], begins, rng.integers(0, keys + 1, 2 * batch + 2)][form]
        return numpy.concatenate([ends, others]).astype(numpy.int32)
    dims = [[batch, keys], [batch, rows, keys], [pick(rng, [1, batch]), 1]][form - 3]
    mask = rng.integers(0, 2, dims)
    mask[..., 0] = 1
    return mask.astype(numpy.int32)


def by_three_dimensions(attributes):
    """What ONNX Runtime says of the part of a square mask that counts: it lacks the whole."""

    def expected(inputs):
        rows, past = inputs[0].shape[1], 0 if inputs[4] is None else inputs[4].shape[3]
        mask = inputs[3][:, 0, past:past + rows, :past + rows]
        return by_others("com.microsoft", "Attention",
                         Case([*inputs[:3], mask, *inputs[4:]], attributes, n_outputs=2))

    return expected


@row("Attention", "com.microsoft")
def attention_of_microsoft(rng):
    batch, heads, rows = (int(rng.integers(1, 4)) for _ in range(3))
    rows = rows if rng.random() < 0.5 else int(rng.integers(1, 30))
    width, size = int(rng.integers(1, 20)), int(rng.integers(1, 20))
    v_size, past = size, 0
    if rng.random() < 0.3:
        v_size = int(rng.integers(1, 20))
    elif rng.random() < 0.5:
        past = int(rng.integers(1, 9))
    attributes = {"num_heads": heads}
    if v_size != size or rng.random() < 0.2:
        attributes["qkv_hidden_sizes"] = [heads * size, heads * size, heads * v_size]
    all_columns = heads * (2 * size + v_size)
    inputs = [values(rng, [batch, rows, width]), values(rng, [width, all_columns], low=-1, high=1),
              values(rng, [all_columns])]
    is_square = v_size == size and rng.random() < 0.1
    if is_square:
        most = past + rows + int(rng.integers(0, 4))
        mask = rng.integers(0, 2, [batch, 1, most, most]).astype(numpy.int32)
        mask[..., 0] = 1
        inputs.append(mask)
    else:
        inputs.append(mask_index_of(rng, batch, rows, past) if rng.random() < 0.6 else None)
    inputs.append(values(rng, [2, batch, heads, past, size]) if past else None)
    added = [pick(rng, [1, batch]), pick(rng, [1, heads]), rows, rows]
    inputs.append(values(rng, added) if past == 0 and rng.random() < 0.3 else None)
    if rng.random() < 0.3:
        attributes["scale"] = 0.3
    if rng.random() < 0.3:
        attributes["mask_filter_value"] = -50.0
    if rng.random() < 0.3 and not is_square:
        # all that a row sees may be hidden: beside -10000, scores have few digits
        attributes |= {"unidirectional": 1, "mask_filter_value": -50.0}
    return Case(inputs, attributes, constants={1, 2} if rng.random() < 0.5 else set(),
                n_outputs=2 if v_size == size else 1, tolerance=1e-4,
                expected=by_three_dimensions(attributes) if is_square else None)


HALF_TOLERANCE = {"FLOAT": 2e-5, "FLOAT16": 4e-3, "BFLOAT16": 4e-2}


def cache_scales(rng, attributes, bits, heads, size):
    """Of keys and values of a cache of whole numbers, which ONNX Runtime wants to be alike."""
    kind = pick(rng, ["PER_TENSOR", "PER_CHANNEL"])
    attributes |= {"kv_cache_bit_width": bits, "k_quant_type": kind, "v_quant_type": kind}
    shape = [1] if kind == "PER_TENSOR" else [1, heads, 1, size]
    return [rng.uniform(0.1, 0.3, shape).astype(numpy.float32) * 2 ** (8 - bits) / 8
            for _ in range(2)]


def kept_rows(length, capacity, window):
    """How many rows a sliding cache keeps of a sequence."""
    gap = capacity - window + 1
    return length - gap * -(-max(0, length - capacity) // gap)


def by_what_is_defined(attributes, n_outputs):
    """What ONNX Runtime says, with 0 where it leaves memory as it finds it."""

    def expected(inputs):
        found = by_others("com.microsoft", "GroupQueryAttention",
                          Case(inputs, attributes, n_outputs=n_outputs))
        for b, length in enumerate(inputs[5].astype(int) + 1):
            if n_outputs == 4:
                found[3][b, :, :, length:] = 0
            if attributes.get("sliding_window_cache", 0):
                capacity = inputs[3].shape[2]
                kept = kept_rows(length, capacity, attributes["local_window_size"])
                for present in found[1:3]:
                    present[b, :, kept:] = 0
        return found

    return expected


@row("GroupQueryAttention", "com.microsoft")
def group_query_attention(rng):
    kv_heads, group = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    heads, size, form = kv_heads * group, 16 * int(rng.integers(1, 3)), rng.random()
    dtype = pick(rng, ["FLOAT", "FLOAT", "FLOAT", "FLOAT16", "BFLOAT16"])
    if form < 0.4:  # a prompt, whose last rows may be padding
        batch, rows, past = int(rng.integers(1, 4)), int(rng.integers(1, 12)), 0
        lengths = rng.integers(1, rows + 1, batch)
        lengths[0] = rows
    elif form < 0.8:  # one row
        batch, rows, past = int(rng.integers(1, 4)), 1, int(rng.integers(1, 20))
        lengths = rng.integers(1, past + 2, batch)
    else:  # further rows of a prompt
        batch, rows, past = 1, int(rng.integers(1, 9)), int(rng.integers(1, 20))
        lengths = numpy.array([past + rows])
    total = past + rows
    buffer = past if rng.random() < 0.5 else total + int(rng.integers(0, 9))
    attributes = {"num_heads": heads, "kv_num_heads": kv_heads}
    is_sliding = rng.random() < 0.3
    if is_sliding:
        window = int(rng.integers(1, 7))
        buffer = window + int(rng.integers(0, 6))
        attributes |= {"sliding_window_cache": 1, "local_window_size": window}
        if past == 0:
            lengths[:] = rows  # there is no padding
    if rng.random() < 0.4:
        inputs = [values(rng, [batch, rows, (heads + 2 * kv_heads) * size], dtype), None, None]
    else:
        inputs = [values(rng, [batch, rows, n * size], dtype) for n in (heads, kv_heads, kv_heads)]
    bits = pick(rng, [0, 0, 4, 8]) if dtype != "BFLOAT16" and buffer else 0
    if is_sliding and size % 32 != 0:
        bits = 8 if bits else 0  # ONNX Runtime has no 4 bits of such
    if bits:
        scales = cache_scales(rng, attributes, bits, kv_heads, size)
        kind = numpy.int8 if bits == 8 else numpy.uint8
        of_kind = numpy.iinfo(kind)
        inputs += [rng.integers(of_kind.min, of_kind.max + 1, [batch, kv_heads, buffer,
                                                               size * bits // 8]).astype(kind)
                   for _ in range(2)]
    else:
        inputs += [values(rng, [batch, kv_heads, buffer, size], dtype) if buffer else None
                   for _ in range(2)]
    last = (lengths - 1).astype(numpy.int32)
    inputs += [last, numpy.array(total if rng.random() < 0.5 else [total], numpy.int32)]
    positions = None
    # keys of f16 that are turned are rounded in another way, and may become another number
    if rng.random() < 0.5 and not (bits and dtype == "FLOAT16"):
        attributes |= {"do_rotary": 1, "rotary_interleaved": int(rng.integers(0, 2))}
        angles = [total + int(rng.integers(0, 5)), 8 * int(rng.integers(1, size // 16 + 1))]
        inputs += [values(rng, angles, dtype, -1, 1) for _ in range(2)]
        if rng.random() < 0.3:
            positions = rng.integers(0, angles[0], [batch, rows])
            if past == 0:  # the first one counts
                positions[0, 0] = rng.integers(0, angles[0] - rows + 1)
    else:
        inputs += [None, None]
    inputs.append(positions)
    added = [pick(rng, [1, batch]), pick(rng, [1, heads]), rows, total]
    inputs.append(values(rng, added, dtype) if rng.random() < 0.3 else None)
    inputs.append(values(rng, [heads], dtype) if rng.random() < 0.2 else None)
    inputs += scales if bits else []
    if rng.random() < 0.2:
        attributes["smooth_softmax"] = 1
    if rng.random() < 0.3:
        attributes["scale"] = 0.3
    if rng.random() < 0.3:
        attributes["softcap"] = 2.0
    if not is_sliding and rng.random() < 0.2:
        attributes["causal"] = 0
    elif not is_sliding and rng.random() < 0.3 and (past or lengths.min() == rows):
        attributes["local_window_size"] = int(rng.integers(1, 6))  # what padding sees is open
    n_outputs = 3
    if not is_sliding and rng.random() < 0.4:
        n_outputs, attributes["qk_output"] = 4, int(rng.integers(1, 3))
    return Case(inputs, attributes, n_outputs=n_outputs,
                constants={6} if rng.random() < 0.3 else set(), tolerance=HALF_TOLERANCE[dtype],
                widens=0, expected=by_what_is_defined(attributes, n_outputs))


def rotated(inputs, attributes, cosines, sines, positions):
    """Rotary embedding in f64, pair by pair."""
    x = inputs.astype(numpy.float64)
    heads = attributes.get("num_heads", 0) or x.shape[1]
    apart = x if x.ndim == 4 else x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3)
    y = apart.copy()
    count = attributes.get("rotary_embedding_dim", 0) or apart.shape[-1]
    for b, row in numpy.ndindex(apart.shape[0], apart.shape[2]):
        if cosines.ndim == 3:
            angles = (b, row)
        elif positions is None:
            angles = row
        else:
            angles = positions[b, row] if positions.ndim == 2 else positions[0] + row
        cos, sin = cosines[angles].astype(numpy.float64), sines[angles].astype(numpy.float64)
        first = slice(0, count, 2) if attributes.get("interleaved") else slice(0, count // 2)
        second = slice(1, count, 2) if attributes.get("interleaved") else slice(count // 2, count)
        one, two = apart[b, :, row, first], apart[b, :, row, second]
        y[b, :, row, first] = cos * one - sin * two
        y[b, :, row, second] = sin * one + cos * two
    y = y if x.ndim == 4 else y.transpose(0, 2, 1, 3).reshape(x.shape)
    return [y.astype(inputs.dtype)]


def rotary(rng, by_row):
    """X, cosines, sines, positions or None, and attributes."""
    batch, heads, rows = (int(rng.integers(1, 5)) for _ in range(3))
    size = 2 * int(rng.integers(1, 20))
    dtype = pick(rng, ["FLOAT", "FLOAT16", "BFLOAT16"])
    attributes = {"interleaved": int(rng.integers(0, 2))}
    x = values(rng, [batch, heads, rows, size], dtype)
    if rng.random() < 0.5:
        x = values(rng, [batch, rows, heads * size], dtype)
        attributes["num_heads"] = heads
    count = size
    if rng.random() < 0.4:
        count = 2 * int(rng.integers(1, size // 2 + 1))
        attributes["rotary_embedding_dim"] = count
        attributes["num_heads"] = heads
    most = rows + int(rng.integers(0, 9))
    is_by_row = by_row and rng.random() < 0.5
    dims = [batch, rows, count // 2] if is_by_row else [most, count // 2]
    positions = None if is_by_row else rng.integers(0, most, [batch, rows])
    return x, values(rng, dims, dtype), values(rng, dims, dtype), positions, attributes, dtype


@row("RotaryEmbedding")
def rotary_embedding(rng):
    x, cosines, sines, positions, attributes, dtype = rotary(rng, by_row=True)
    inputs = [x, cosines, sines] + ([] if positions is None else [positions])
    return Case(inputs, attributes, opset=int(rng.integers(23, 29)),
                tolerance=HALF_TOLERANCE[dtype],
                expected=lambda _: rotated(x, attributes, cosines, sines, positions))


@row("RotaryEmbedding", "com.microsoft")
def rotary_embedding_of_microsoft(rng):
    x, cosines, sines, positions, attributes, dtype = rotary(rng, by_row=False)
    if rng.random() < 0.4:
        positions = numpy.array([int(rng.integers(0, len(cosines) - positions.shape[1] + 1))])
    return Case([x, positions, cosines, sines], attributes, tolerance=HALF_TOLERANCE[dtype],
                expected=lambda _: rotated(x, attributes, cosines, sines, positions))


@row("LinearAttention")
def linear_attention(rng):
    batch, kv_heads, group, rows = (int(rng.integers(1, 4)) for _ in range(4))
    rows = 4 * rows if rng.random() < 0.5 else rows
    size, v_size, heads = int(rng.integers(1, 9)), int(rng.integers(1, 9)), kv_heads * group
    dtype = pick(rng, ["FLOAT", "FLOAT", "FLOAT16"])
    rule = pick(rng, ["linear", "gated", "delta", "gated_delta"])
    attributes = {"q_num_heads": heads, "kv_num_heads": kv_heads}
    if rule != "gated_delta" or rng.random() < 0.5:
        attributes["update_rule"] = rule
    if rng.random() < 0.5:
        attributes["scale"] = 0.5
    inputs = [values(rng, [batch, rows, heads * size], dtype, -1, 1),
              values(rng, [batch, rows, kv_heads * size], dtype, -0.4, 0.4),
              values(rng, [batch, rows, kv_heads * v_size], dtype, -1, 1)]
    past = values(rng, [batch, kv_heads, size, v_size], dtype) if rng.random() < 0.5 else None
    width = kv_heads * (size if rng.random() < 0.5 else 1)
    decay = values(rng, [batch, rows, width], dtype, -1, 0) if "gated" in rule else None
    rates = [batch, rows, pick(rng, [1, kv_heads])]
    rate = values(rng, rates, dtype, 0, 1) if "delta" in rule else None
    return Case([*inputs, past, decay, rate], attributes, n_outputs=int(rng.integers(1, 3)),
                opset=int(rng.integers(27, 29)),
                tolerance={"FLOAT": 1e-4, "FLOAT16": 1e-2}[dtype])


@row("CausalConvWithState")
def causal_conv_with_state(rng):
    batch, channels, taps = (int(rng.integers(1, 6)) for _ in range(3))
    length = int(rng.integers(1, 20))
    dtype = pick(rng, ["FLOAT", "FLOAT", "FLOAT16"])
    inputs = [values(rng, [batch, channels, length], dtype),
              values(rng, [channels, 1, taps], dtype),
              values(rng, [channels], dtype) if rng.random() < 0.5 else None,
              values(rng, [batch, channels, taps - 1], dtype) if rng.random() < 0.5 else None]
    attributes = {}
    if rng.random() < 0.7:
        attributes["activation"] = pick(rng, ["none", "silu", "swish"])
    return Case(inputs, attributes, n_outputs=int(rng.integers(1, 3)),
                opset=int(rng.integers(27, 29)),
                tolerance={"FLOAT": 1e-4, "FLOAT16": 2e-2}[dtype])
