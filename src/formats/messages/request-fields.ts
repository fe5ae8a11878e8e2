/** Request fields that control the gateway; never sent to an upstream. */
export const gatewayFields: ReadonlySet<string> = new Set([
  'models',
  'provider',
  'plugins',
  'route',
  'session_id',
  'trace',
  'fallbacks',
  'stop_server_tools_when',
  'cache_enabled',
  'cache_ttl_seconds',
  'cache_mode',
  'cache_scope',
  'cache_threshold',
  'preset',
  'transforms',
  'debug',
  'usage',
  'stream_options',
  'store',
  'previous_response_id',
  'max_tool_calls',
  'safety_identifier',
  'user',
])

/** Fields that a call represents. Others reach only upstreams of this format. */
export const knownFields: ReadonlySet<string> = new Set([
  ...gatewayFields,
  'model',
  'messages',
  'system',
  'stream',
  'max_tokens',
  'temperature',
  'top_p',
  'top_k',
  'stop_sequences',
  'metadata',
  'service_tier',
  'speed',
  'thinking',
  'tool_choice',
  'tools',
  'output_config',
  'cache_control',
])

/** The vendor requires `max_tokens`; used for models with an unknown output limit. */
export const defaultMaxTokens = 4096
