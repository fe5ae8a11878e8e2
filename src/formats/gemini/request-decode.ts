import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { asObject, asString, type JsonObject, omitUndefined } from '../../platform/json/json-values.ts'
import type { Message, ModelCall } from '../call/call.ts'
import { hasUnknownCacheTtl } from '../fields.ts'
import { normalizeTier } from '../tier.ts'
import { decodeConfig } from './config-decode.ts'
import { listOf, readField, readObjectField, toCamelCase } from './field-names.ts'
import { decodeParts, ToolCallRegistry } from './parts-decode.ts'
import { decodeToolChoice, decodeTools } from './tools.ts'

/** Request fields that control the gateway; never sent to an upstream. */
export const gatewayFields: ReadonlySet<string> = new Set([
  'model',
  'models',
  'provider',
  'plugins',
  'route',
  'session_id',
  'trace',
  'stream',
  'stream_options',
  'usage',
  'preset',
  'fallbacks',
  'transforms',
  'debug',
  'cache_enabled',
  'cache_ttl_seconds',
  'cache_mode',
  'cache_scope',
  'cache_threshold',
  'cache_control',
  'stop_server_tools_when',
  'previous_response_id',
  'max_tool_calls',
  'safety_identifier',
  'user',
])

/** Fields that a call represents. `store` only controls the vendor's logging, so it is not reported as dropped. */
const knownFields = new Set([
  'contents',
  'systemInstruction',
  'tools',
  'toolConfig',
  'generationConfig',
  'serviceTier',
  'store',
])

const roles: Record<string, Message['role']> = {
  user: 'user',
  model: 'assistant',
  function: 'user',
  tool: 'user',
}

export function decodeRequest(body: JsonObject): ModelCall {
  const unknown = new Set<string>()
  for (const key of Object.keys(body)) {
    if (body[key] === null || body[key] === undefined) continue
    if (!gatewayFields.has(key) && !knownFields.has(toCamelCase(key))) unknown.add(key)
  }
  if (hasUnknownCacheTtl(body.cache_control)) unknown.add('cache_control.ttl')
  const config = readObjectField(body, 'generationConfig')
  const tools = decodeTools(body.tools, unknown)
  const messages = [...decodeSystem(body, unknown), ...decodeMessages(body, unknown)]
  const rest = omitUndefined({
    tools: tools.length > 0 ? tools : undefined,
    toolChoice: decodeToolChoice(readField(body, 'toolConfig'), unknown),
    serviceTier: decodeTier(asString(readField(body, 'serviceTier'))),
    user: asString(body.user),
    cache: decodeCacheControl(asObject(body.cache_control)),
  })
  const settings = config ? decodeConfig(config, unknown) : {}
  return { messages, stream: body.stream === true, ...settings, ...rest, unknown: [...unknown] }
}

function decodeSystem(body: JsonObject, unknown: Set<string>): Message[] {
  const instruction = readField(body, 'systemInstruction')
  const parts = typeof instruction === 'string' ? instruction : asObject(instruction)?.parts
  const context = {
    toolCalls: new ToolCallRegistry(),
    unknown,
    path: 'systemInstruction.parts',
    joinsText: false,
  }
  const decoded = decodeParts(parts, context)
  return decoded.length > 0 ? [{ role: 'system', parts: decoded }] : []
}

/** Joins consecutive model contents, which are chunks of one streamed reply. */
function decodeMessages(body: JsonObject, unknown: Set<string>): Message[] {
  const toolCalls = new ToolCallRegistry()
  const messages: Message[] = []
  listOf(body.contents).forEach((entry, index) => {
    const path = `contents.${index}`
    const content = typeof entry === 'string' ? { parts: entry } : asObject(entry)
    if (!content) throw invalidFieldError(path, 'must be an object')
    const role = roles[asString(content.role) || 'user']
    if (!role) throw invalidFieldError(`${path}.role`, 'must be user or model')
    const joinsText = role === 'assistant'
    const last = messages.at(-1)
    const context = { toolCalls, unknown, path: `${path}.parts`, joinsText }
    if (joinsText && last?.role === role) decodeParts(content.parts, context, last.parts)
    else messages.push({ role, parts: decodeParts(content.parts, context) })
  })
  return messages.filter(({ parts }) => parts.length > 0)
}

function decodeTier(tier: string | undefined): string | undefined {
  return tier === undefined ? undefined : normalizeTier(tier.toLowerCase())
}

function decodeCacheControl(control: JsonObject | undefined): ModelCall['cache'] | undefined {
  if (!control) return undefined
  return control.ttl === '1h' || control.ttl === '5m' ? { ttl: control.ttl } : {}
}
