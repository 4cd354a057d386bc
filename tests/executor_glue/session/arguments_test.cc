// Wrong arguments of level 2: each function with each pointer NULL that must not be, and rooms for
// outputs that are larger or smaller than what a run makes.
#include "tests/executor_glue/session/small_model.h"

namespace {

using namespace lk::small;
using ::testing::AllOf;
using ::testing::HasSubstr;

class Arguments : public Session {};

TEST_F(Arguments, ThatAreNullAreNamed) {
  open();
  const lk_session_api *a = level2();
  lk_value_info value = {};
  lk_model_info model = {};
  lk_session_stats stats = {};
  lk_session_node node = {};
  lk_node_stats node_stats = {};
  lk_session_pass pass = {};
  lk_profile_info profile_info = {};
  lk_profile_entry entry = {};
  lk_trace_info trace_info = {};
  lk_profile *profile = nullptr;
  lk_trace *trace = nullptr;
  char *text = nullptr;
  lk_session *opened = nullptr;
  value.struct_size = sizeof value;
  model.struct_size = sizeof model;
  stats.struct_size = sizeof stats;
  node.struct_size = sizeof node;
  node_stats.struct_size = sizeof node_stats;
  pass.struct_size = sizeof pass;
  profile_info.struct_size = sizeof profile_info;
  entry.struct_size = sizeof entry;
  trace_info.struct_size = sizeof trace_info;
  LK_ASSERT_OK(a->profile_create(nullptr, &profile, LK_ERR)) << "NULL is the C library's";
  LK_ASSERT_OK(a->trace_create(context, nullptr, &trace, LK_ERR));
  const lk_size_fn visit = [](void *, const lk_session_size *) {};
  const lk_refusal_fn refusal = [](void *, const lk_session_refusal *) {};
  lk_error e;
  const std::pair<const char *, std::function<lk_status()>> all[] = {
      {"context", [&] { return a->open(nullptr, "x", nullptr, &opened, &e); }},
      {"path", [&] { return a->open(context, nullptr, nullptr, &opened, &e); }},
      {"out_session", [&] { return a->open(context, "x", nullptr, nullptr, &e); }},
      {"context", [&] { return a->open_memory(nullptr, "x", 1, nullptr, &opened, &e); }},
      {"data", [&] { return a->open_memory(context, nullptr, 1, nullptr, &opened, &e); }},
      {"out_session", [&] { return a->open_memory(context, "x", 1, nullptr, nullptr, &e); }},
      {"session", [&] { return a->clone(nullptr, &opened, &e); }},
      {"out_session", [&] { return a->clone(session, nullptr, &e); }},
      {"session", [&] { return a->default_info(nullptr, 0, &value, &e); }},
      {"out", [&] { return a->default_info(session, 0, nullptr, &e); }},
      {"session", [&] { return a->input_info(nullptr, 0, &value, &e); }},
      {"out", [&] { return a->input_info(session, 0, nullptr, &e); }},
      {"session", [&] { return a->output_info(nullptr, 0, &value, &e); }},
      {"out", [&] { return a->output_info(session, 0, nullptr, &e); }},
      {"session", [&] { return a->model_info(nullptr, &model, &e); }},
      {"out", [&] { return a->model_info(session, nullptr, &e); }},
      {"session", [&] { return a->run(nullptr, nullptr, 0, nullptr, 0, nullptr, &e); }},
      {"inputs", [&] { return a->run(session, nullptr, 1, nullptr, 0, nullptr, &e); }},
      {"outputs", [&] { return a->run(session, nullptr, 0, nullptr, 1, nullptr, &e); }},
      {"session", [&] { return a->stats(nullptr, &stats, &e); }},
      {"out", [&] { return a->stats(session, nullptr, &e); }},
      {"session", [&] { return a->node_info(nullptr, 0, &node, &e); }},
      {"out", [&] { return a->node_info(session, 0, nullptr, &e); }},
      {"session", [&] { return a->pass_info(nullptr, 0, &pass, &e); }},
      {"out", [&] { return a->pass_info(session, 0, nullptr, &e); }},
      {"session", [&] { return a->node_stats(nullptr, 0, &node_stats, &e); }},
      {"out", [&] { return a->node_stats(session, 0, nullptr, &e); }},
      {"session", [&] { return a->sizes_visit(nullptr, visit, nullptr, nullptr, &e); }},
      {"visit", [&] { return a->sizes_visit(session, nullptr, nullptr, nullptr, &e); }},
      {"session", [&] { return a->refusals_visit(nullptr, refusal, nullptr, &e); }},
      {"visit", [&] { return a->refusals_visit(session, nullptr, nullptr, &e); }},
      {"session", [&] { return a->report(nullptr, &text, &e); }},
      {"out_text", [&] { return a->report(session, nullptr, &e); }},
      {"context", [&] { return a->context_report(nullptr, &text, &e); }},
      {"out_text", [&] { return a->context_report(context, nullptr, &e); }},
      {"out_profile", [&] { return a->profile_create(nullptr, nullptr, &e); }},
      {"profile", [&] { return a->profile_info(nullptr, &profile_info, &e); }},
      {"out", [&] { return a->profile_info(profile, nullptr, &e); }},
      {"profile", [&] { return a->profile_entry(nullptr, 0, &entry, &e); }},
      {"out", [&] { return a->profile_entry(profile, 0, nullptr, &e); }},
      {"context", [&] { return a->trace_create(nullptr, nullptr, &trace, &e); }},
      {"out_trace", [&] { return a->trace_create(context, nullptr, nullptr, &e); }},
      {"trace", [&] { return a->trace_info(nullptr, &trace_info, &e); }},
      {"out", [&] { return a->trace_info(trace, nullptr, &e); }},
      {"trace", [&] { return a->trace_save(nullptr, "x", &e); }},
      {"path", [&] { return a->trace_save(trace, nullptr, &e); }},
      {"trace", [&] { return a->trace_text(nullptr, &text, &e); }},
      {"out_text", [&] { return a->trace_text(trace, nullptr, &e); }},
  };
  int number = 0;
  for (const auto &[name, call] : all) {
    SCOPED_TRACE(std::to_string(number++) + ": " + name);
    e = {};
    EXPECT_EQ(call(), LK_INVALID_ARGUMENT);
    EXPECT_THAT(e.message, AllOf(HasSubstr(name), HasSubstr("NULL"), HasSubstr("required")));
  }
  a->trace_release(trace);
  a->profile_destroy(profile);
}

// The caller may bring more room than a run needs, and learns what was made.
TEST_F(Arguments, RoomForAnOutputMayBeLarger) {
  open();
  for (const int64_t rows : {2, 3}) {
    Floats x = numbers(size_t(rows), 0.25f), y(24, -7.0f);
    const Floats expected = expected_y(x);
    lk_named_tensor in = named("x", {rows, 4}, x.data());
    lk_named_tensor out = named("y", {24}, y.data());
    LK_ASSERT_OK(level2()->run(session, &in, 1, &out, 1, nullptr, LK_ERR));
    EXPECT_EQ(out.tensor.data, y.data());
    EXPECT_EQ(out.tensor.desc.rank, 2u);
    EXPECT_EQ(out.tensor.desc.dims[0], rows);
    EXPECT_EQ(out.tensor.desc.dims[1], 4);
    expect_near(Floats(y.begin(), y.begin() + rows * 4), expected);
    for (size_t i = size_t(rows) * 4; i < y.size(); i++) EXPECT_EQ(y[i], -7.0f) << i;
  }
}

TEST_F(Arguments, RoomThatIsTooSmallIsRefusedAndNotWritten) {
  open();
  Floats x = numbers(3, 0.25f), y(11, -7.0f);
  lk_named_tensor in = named("x", {3, 4}, x.data());
  lk_named_tensor out = named("y", {11}, y.data());
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, level2()->run(session, &in, 1, &out, 1, nullptr, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, AllOf(HasSubstr("the room is 11:f32"), HasSubstr("3x4:f32")));
  EXPECT_EQ(out.tensor.desc.dims[0], 11) << "as the caller has set it";
  for (const float one : y) EXPECT_EQ(one, -7.0f);
}

// The sentence of a description that was forgotten says so, of a room and of an input.
TEST_F(Arguments, DescriptionsThatAreZeroAreNamed) {
  open();
  Floats x = numbers(3, 0.25f), y(12, -7.0f);
  lk_named_tensor in = named("x", {3, 4}, x.data()), out = {"y", {{}, y.data()}};
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, level2()->run(session, &in, 1, &out, 1, nullptr, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, AllOf(HasSubstr("'y'"), HasSubstr("set desc"), HasSubstr("to NULL")));
  for (const float one : y) EXPECT_EQ(one, -7.0f);
  out.tensor.data = nullptr;
  in.tensor.desc = {};
  LK_EXPECT_STATUS(LK_INVALID_ARGUMENT, level2()->run(session, &in, 1, &out, 1, nullptr, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, AllOf(HasSubstr("'x'"), HasSubstr("set desc")));
}

} // namespace
