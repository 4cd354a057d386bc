/* The rules that trees name (pattern.h). */
#pragma once

#include "executor_glue/passes/pattern.h"

/* Whether the rule of that name holds for a node; there must be one (patterns_test.cc). */
bool lk_pattern_rule_holds(const lk_text *rule, const lk_pass_env *env, const lk_graph *graph,
                           const lk_node *node);
/* What is said of a node for which it does not hold: a sentence without its subject. */
const char *lk_pattern_rule_otherwise(const lk_text *rule);
