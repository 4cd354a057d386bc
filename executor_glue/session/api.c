/* The table of level 2. */
#include "executor_glue/session/session.h"

const lk_session_api *lk_get_session_api(uint32_t version) {
  static const lk_session_api api = {
      .struct_size = sizeof(lk_session_api),
      .version = LK_SESSION_API_VERSION,
      .open = lk_session_open,
      .open_memory = lk_session_open_memory,
      .close = lk_session_close,
      .input_count = lk_session_input_count,
      .output_count = lk_session_output_count,
      .input_info = lk_session_input_info,
      .output_info = lk_session_output_info,
      .model_info = lk_session_model_info,
      .metadata_key = lk_session_metadata_key,
      .metadata_value = lk_session_metadata_value,
      .run = lk_session_run,
      .outputs_release = lk_session_outputs_release,
      .stats = lk_session_get_stats,
      .node_count = lk_session_node_count,
      .node_info = lk_session_node_info,
      .pass_count = lk_session_pass_count,
      .pass_info = lk_session_pass_info,
      .executor = lk_session_executor,
      .clone = lk_session_clone,
  };
  return version == LK_SESSION_API_VERSION ? &api : NULL;
}
