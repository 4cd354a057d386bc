// What a graph computes from dimensions: by name what exporters write, and by chance, against what
// the operators make of real sizes.
#include <map>
#include <random>

#include "tests/executor_glue/graph/builder.h"
#include "tests/harness/owners.h"

extern "C" {
#include "executor_glue/passes/symbolic_shapes.h"
}

using lk::Attr;
using lk::GraphBuilder;

namespace {

using Dims = std::vector<int64_t>;
using Shapes = lk::Owned<lk_symbolic_shapes, lk_symbolic_shapes_destroy>;

Shapes infer(GraphBuilder &g) {
  Shapes shapes;
  LK_EXPECT_OK(g.link());
  LK_EXPECT_OK(lk_symbolic_shapes_create(lk::test_api(), g.get(), shapes.out(), LK_ERR));
  return shapes;
}

// x: [n, s, 12], y: [m, s2]; `shape`: Shape(x).
struct Exported {
  GraphBuilder g;
  int32_t x = g.input("x", {-1, -1, 12}), y = g.input("y", {-1, -1});
  int32_t shape = g.node("Shape", {x});

  int32_t one(int64_t number) { return g.constant<int64_t>({}, {number}, LK_I64); }
  int32_t size(int32_t of, int64_t axis) {
    return g.node("Gather", {g.node("Shape", {of}), one(axis)});
  }
  int32_t list(std::vector<int32_t> sizes) {
    for (int32_t &v : sizes) {
      const bool is_list =
          g->values[v].is_input ||
          (g->values[v].constant_kind != LK_CONSTANT_NONE && g->values[v].constant.desc.rank == 1);
      if (!is_list) v = g.node("Unsqueeze", {v, g.ints({0})});
    }
    return g.node("Concat", sizes, {Attr::Ints("axis", {0})});
  }
  int32_t zero_is_zero(int32_t of, int32_t to) {
    g.opset = 14;
    return g.node("Reshape", {of, to}, {Attr::Ints("allowzero", {1})});
  }
  // Dimensions, as those of x and y ("n", "s", "m", "t"), numbers, or "?".
  std::vector<std::string> dims(int32_t v) {
    const Shapes shapes = infer(g);
    const lk_tensor_desc *descs = shapes.get()->descs;
    std::vector<std::string> named;
    if (lk_symbolic_shape_rank(shapes, v) < 0) return {"no rank"};
    for (uint32_t i = 0; i < descs[v].rank; i++) {
      const int64_t dim = descs[v].dims[i];
      named.push_back(dim >= 0                  ? std::to_string(dim)
                      : dim == descs[x].dims[0] ? "n"
                      : dim == descs[x].dims[1] ? "s"
                      : dim == descs[y].dims[0] ? "m"
                      : dim == descs[y].dims[1] ? "t"
                                                : "?");
    }
    return named;
  }
};
using Names = std::vector<std::string>;

TEST(SymbolicValues, HeadsApartAndTogether) {
  Exported e;
  const int32_t n = e.size(e.x, 0), s = e.size(e.x, 1);
  const int32_t apart = e.g.node("Reshape", {e.x, e.list({n, s, e.one(3), e.one(4)})});
  EXPECT_EQ(e.dims(apart), (Names{"n", "s", "3", "4"}));
  const int32_t turned = e.g.node("Transpose", {apart}, {Attr::Ints("perm", {0, 2, 1, 3})});
  const int32_t back = e.g.node("Transpose", {turned}, {Attr::Ints("perm", {0, 2, 1, 3})});
  EXPECT_EQ(e.dims(e.g.node("Reshape", {back, e.list({n, s, e.one(12)})})),
            (Names{"n", "s", "12"}));
  EXPECT_EQ(e.dims(e.g.node("Reshape", {back, e.list({n, s, e.one(-1)})})),
            (Names{"n", "s", "12"}));
  EXPECT_EQ(e.dims(e.zero_is_zero(back, e.list({n, e.one(-1), e.one(12)}))),
            (Names{"n", "s", "12"}));
}

TEST(SymbolicValues, RowsTogetherAndApart) {
  Exported e;
  const int32_t n = e.size(e.x, 0), s = e.size(e.x, 1);
  const int32_t rows = e.g.node("Reshape", {e.x, e.g.ints({-1, 12})});
  EXPECT_EQ(e.dims(rows), (Names{"?", "12"}));
  EXPECT_EQ(e.dims(e.g.node("Reshape", {rows, e.list({n, s, e.one(12)})})),
            (Names{"n", "s", "12"}));
  const int32_t product = e.g.node("Mul", {s, n});
  const int32_t same = e.g.node("Reshape", {e.x, e.list({product, e.one(12)})});
  EXPECT_EQ(e.dims(e.g.node("Add", {rows, same})), (Names{"?", "12"}));
  EXPECT_TRUE(lk_symbolic_shape_same(infer(e.g), rows, same));
}

TEST(SymbolicValues, WhatReshapeMayReadAsSomethingElseIsNotKnown) {
  Exported e;
  const int32_t m = e.size(e.y, 0), s = e.size(e.x, 1);
  // 0 of m would be taken for the first dimension of x, which y has nothing to do with
  EXPECT_EQ(e.dims(e.g.node("Reshape", {e.x, e.list({m, e.one(-1)})})), (Names{"?", "?"}));
  EXPECT_EQ(e.dims(e.zero_is_zero(e.x, e.list({m, e.one(12)}))), (Names{"m", "12"}));
  // s - 1 may be -1 or 0
  const int32_t less = e.g.node("Sub", {s, e.one(1)});
  EXPECT_EQ(e.dims(e.g.node("Reshape", {e.x, e.list({less, e.one(3)})})), (Names{"?", "3"}));
  // a 0 is the dimension of the input, and its -1 what the others leave
  EXPECT_EQ(e.dims(e.g.node("Reshape", {e.x, e.list({e.one(0), s, e.one(-1)})})),
            (Names{"n", "s", "12"}));
  // of two of -1, or beside an unknown number, nothing
  EXPECT_EQ(e.dims(e.g.node("Reshape", {e.x, e.list({s, e.one(-1), e.one(-1)})})),
            (Names{"s", "?", "?"}));
  const int32_t any = e.g.input("any", {1}, LK_I64);
  EXPECT_EQ(e.dims(e.g.node("Reshape", {e.x, e.list({e.size(e.x, 0), any, e.one(-1)})})),
            (Names{"n", "?", "?"}));
}

TEST(SymbolicValues, ExpandByWhatIsLeftAsItIs) {
  Exported e;
  const int32_t wanted = e.list({e.size(e.x, 0), e.one(-1), e.one(12)});
  const int32_t ones = e.g.node("ConstantOfShape", {e.g.node("Shape", {wanted})});
  const int32_t kept = e.g.node("Equal", {wanted, e.g.ints({-1})});
  const int32_t one =
      e.g.node("Add", {e.g.node("Cast", {ones}, {Attr::Ints("to", {LK_I64})}), e.g.ints({1})});
  const int32_t shape = e.g.node("Where", {kept, one, wanted});
  const int32_t y = e.g.node("Expand", {e.g.filled({1, 1, 12}, 1), shape});
  EXPECT_EQ(e.dims(y), (Names{"n", "?", "12"})); // ConstantOfShape of floats tells nothing
  const int32_t plain = e.g.node("Where", {kept, e.g.ints({1, 1, 1}), wanted});
  EXPECT_EQ(e.dims(e.g.node("Expand", {e.g.filled({1, 1, 12}, 1), plain})),
            (Names{"n", "1", "12"}));
}

TEST(SymbolicValues, RangesSlicesTilesAndFills) {
  Exported e;
  const int32_t s = e.size(e.x, 1), t = e.size(e.y, 1), both = e.g.node("Add", {t, s});
  EXPECT_EQ(e.dims(e.g.node("Range", {e.one(0), s, e.one(1)})), Names{"s"});
  EXPECT_EQ(e.dims(e.g.node("Range", {t, both, e.one(1)})), Names{"s"});
  EXPECT_EQ(e.dims(e.g.node("Range", {e.one(0), s, e.one(2)})), Names{"?"});
  EXPECT_EQ(e.dims(e.g.node("Range", {s, t, e.one(1)})), Names{"?"});
  EXPECT_EQ(e.dims(e.g.node("ConstantOfShape", {e.list({s, e.one(2)})})), (Names{"s", "2"}));
  EXPECT_EQ(e.dims(e.g.node("Tile", {e.g.filled({1, 2}, 1), e.list({s, e.one(3)})})),
            (Names{"s", "6"}));
  const int32_t table = e.g.filled({1, 50}, 1), from = e.g.ints({0}), axis = e.g.ints({1});
  const int32_t part = e.g.node("Slice", {table, from, e.list({s}), axis});
  EXPECT_EQ(e.dims(part), (Names{"1", "?"})); // 50, where s is more
  const int32_t rows = e.g.node("Reshape", {e.x, e.list({e.size(e.x, 0), s, e.one(12)})});
  const int32_t columns = e.g.node("Transpose", {rows}, {Attr::Ints("perm", {0, 2, 1})});
  EXPECT_EQ(e.dims(e.g.node("Add", {columns, part})), (Names{"n", "12", "s"}));
  EXPECT_EQ(e.dims(e.g.node("Slice", {e.x, e.g.ints({0}), e.list({s}), e.g.ints({1})})),
            (Names{"n", "s", "12"}));
  EXPECT_EQ(e.dims(e.g.node("Slice", {e.x, e.list({t}), e.list({s}), e.g.ints({1})})),
            (Names{"n", "?", "12"}));
}

TEST(SymbolicValues, TermsOfValues) {
  Exported e;
  const int32_t n = e.size(e.x, 0), s = e.size(e.x, 1);
  auto made = [&](const char *op, int32_t a, int32_t b) {
    return e.dims(e.g.node("ConstantOfShape", {e.list({e.g.node(op, {a, b})})}));
  };
  EXPECT_EQ(made("Div", e.g.node("Mul", {s, e.one(6)}), e.one(6)), Names{"s"});
  EXPECT_EQ(made("Mul", e.g.node("Div", {s, e.one(2)}), e.one(2)), Names{"?"}); // what is left over
  EXPECT_EQ(made("Sub", e.g.node("Add", {s, n}), n), Names{"s"});
  EXPECT_EQ(made("Sub", s, s), Names{"0"});
  EXPECT_EQ(made("Add", s, e.one(0)), Names{"s"});
  EXPECT_EQ(made("Div", e.one(7), e.one(2)), Names{"3"});
  EXPECT_EQ(made("Div", e.one(-7), e.one(-2)), Names{"?"});
  EXPECT_EQ(made("Sub", e.one(2), e.one(7)), Names{"?"}); // and no dimension
  EXPECT_EQ(e.dims(e.g.node("ConstantOfShape",
                            {e.g.node("Slice", {e.shape, e.g.ints({-2}), e.g.ints({9})})})),
            (Names{"s", "12"}));
  EXPECT_EQ(e.dims(e.g.node("ConstantOfShape", {e.g.node("Gather", {e.shape, e.g.ints({-1, 1})})})),
            (Names{"12", "s"}));
}

TEST(SymbolicValues, ListsThatAreTooLongAreNotKnown) {
  Exported e;
  std::vector<int32_t> parts(6, e.shape); // 18
  const int32_t list = e.g.node("Concat", parts, {Attr::Ints("axis", {0})});
  const int32_t head = e.g.node("Slice", {list, e.g.ints({0}), e.g.ints({1})});
  EXPECT_EQ(e.dims(e.g.node("ConstantOfShape", {head})), Names{"?"});
}

// ---- by chance ----

// Tensors and lists of whole numbers, each made of some before it; what a real run refuses stays.
struct Random {
  std::mt19937 &rng;
  GraphBuilder &g;
  std::vector<int32_t> tensors, lists, indices;

  int64_t below(int64_t n) { return int64_t(rng() % uint64_t(n)); }
  int32_t pick(const std::vector<int32_t> &from) {
    return from[size_t(below(int64_t(from.size())))];
  }
  int32_t few() {
    static const Dims choices[] = {{0}, {1}, {-1}, {2}, {3}, {1, 0}, {0, 2}, {-1, 4}, {1, -1}};
    return g.ints(choices[below(9)]);
  }
  void step() {
    const int32_t x = pick(tensors), a = pick(lists), b = below(2) != 0 ? pick(lists) : few();
    static const char *const arithmetic[] = {"Add", "Sub", "Mul", "Div"};
    g.opset = below(2) != 0 ? 13 : 15;
    switch (below(16)) {
    case 0:
      lists.push_back(g.node("Shape", {x}));
      break;
    case 1:
    case 2:
      lists.push_back(g.node("Gather", {a, few()}));
      break;
    case 3:
    case 4:
      lists.push_back(g.node("Concat", {a, b}, {Attr::Ints("axis", {0})}));
      break;
    case 5:
      lists.push_back(g.node("Slice", {a, few(), few()}));
      break;
    case 6:
    case 7:
      lists.push_back(g.node(arithmetic[below(4)], {a, b}));
      break;
    case 8:
      lists.push_back(g.node("Where", {g.node("Equal", {a, few()}), b, a}));
      break;
    case 9:
      lists.push_back(g.node("Reshape", {a, g.ints({-1})}));
      break;
    case 10:
      lists.push_back(g.node("Unsqueeze", {g.node("Size", {x}), g.ints({0})}));
      break;
    case 11:
      tensors.push_back(g.node("Expand", {x, a}));
      break;
    case 12:
      tensors.push_back(g.node("ConstantOfShape", {a}));
      break;
    case 13:
      tensors.push_back(g.node(
          "Slice", {x, g.ints({0}), g.node("Gather", {a, g.ints({0})}), g.ints({below(2)})}));
      break;
    default: {
      const int64_t allow = g.opset == 15 ? below(2) : 0;
      const std::vector<Attr> attrs = {Attr::Ints("allowzero", {allow})};
      tensors.push_back(g.node("Reshape", {x, below(3) != 0 ? a : b},
                               g.opset == 15 ? attrs : std::vector<Attr>{}));
      break;
    }
    }
  }
  // Of `dims`, or open where `real` is false.
  void build(bool real, const Dims &x, const Dims &y, int steps) {
    auto input = [&](const char *name, const Dims &dims) {
      return real ? g.filled(dims, 1) : g.input(name, Dims{dims[0] < 0 ? 0 : -1, -1, dims[2]});
    };
    tensors = {input("x", x), input("y", y)};
    lists = {g.node("Shape", {tensors[0]}), g.node("Shape", {tensors[1]})};
    for (int i = 0; i < steps; i++) step();
  }
};

// What a term stands for is one number in the whole graph.
void expect_holds(std::map<int64_t, int64_t> *meaning, int64_t said, int64_t is) {
  if (said >= 0) {
    EXPECT_EQ(said, is);
  } else if (said != LK_DIM_UNKNOWN) {
    EXPECT_EQ(meaning->emplace(said, is).first->second, is);
  }
}

// Everything that was said before a run holds in it. Returns how many dimensions that are terms it
// was said of, and elements.
size_t compare(const Random &before, const Random &after, const lk_symbolic_shapes *shapes) {
  std::map<int64_t, int64_t> meaning;
  size_t known = 0;
  for (size_t kind = 0; kind < 2; kind++) {
    const auto &said = kind == 0 ? before.tensors : before.lists;
    const auto &made = kind == 0 ? after.tensors : after.lists;
    for (size_t i = 0; i < said.size(); i++) {
      const lk_value &real = after.g.get()->values[made[i]];
      const lk_tensor_desc &desc = shapes->descs[said[i]];
      if (real.constant_kind == LK_CONSTANT_NONE || desc.rank == LK_RANK_UNKNOWN) continue;
      EXPECT_EQ(desc.rank, real.constant.desc.rank);
      for (uint32_t d = 0; d < desc.rank; d++) {
        expect_holds(&meaning, desc.dims[d], real.constant.desc.dims[d]);
        known += meaning.count(desc.dims[d]);
      }
      const int64_t count = lk_elements(&real.constant.desc);
      for (int64_t k = 0; kind == 1 && k < count && k < LK_MAX_VALUES; k++) {
        expect_holds(&meaning, shapes->elements[said[i]][k],
                     int64_t(lk_constant_number(&real, size_t(k))));
        known += shapes->elements[said[i]][k] != LK_DIM_UNKNOWN;
      }
    }
  }
  return known;
}

TEST(SymbolicValues, WhatIsSaidOfSizesHoldsForAllOfThem) {
  const lk::Context context = lk::open();
  const lk_pass_env env = {
      lk_get_api(LK_API_VERSION), context.get(), 1 << 20, nullptr, nullptr, nullptr};
  const lk_pass *constants = nullptr;
  for (size_t i = 0; i < lk_n_passes; i++) {
    if (std::string(lk_passes[i].name) == "constants") constants = &lk_passes[i];
  }
  ASSERT_NE(constants, nullptr);
  size_t known = 0;
  for (uint32_t seed = 0; seed < 3000 && !HasFailure(); seed++) {
    std::mt19937 symbolic(seed), real(seed), sizes(seed);
    const int64_t n = 1 + int64_t(sizes() % 4), s = 1 + int64_t(sizes() % 4);
    GraphBuilder g, h;
    Random before{symbolic, g, {}, {}, {}}, after{real, h, {}, {}, {}};
    before.build(false, {1, 1, 4}, {1, 1, 3}, 12);
    after.build(true, {n, s, 4}, {1 + int64_t(sizes() % 3), s, 3}, 12);
    for (const auto *made : {&after.tensors, &after.lists}) {
      for (size_t i = 2; i < made->size(); i++) h.output((*made)[i]);
    }
    for (int32_t v : {after.lists[0], after.lists[1]}) h.output(v);
    const Shapes shapes = infer(g);
    uint64_t changes = 0;
    LK_ASSERT_OK(h.link());
    LK_ASSERT_OK(lk_pass_run(constants, &env, h.get(), &changes, LK_ERR));
    known += compare(before, after, shapes.get());
    if (HasFailure()) ADD_FAILURE() << "seed " << seed;
  }
  EXPECT_GT(known, 30000u);
}

} // namespace
