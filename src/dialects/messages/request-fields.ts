/** Fields of a request that steer the gateway: no upstream is told about them. */
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

/** Fields that a call has a place for. Others only an upstream of this format can be given. */
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

/** The vendor refuses a request without `max_tokens`; this is for a model whose cap is not known. */
export const defaultMaxTokens = 4096
