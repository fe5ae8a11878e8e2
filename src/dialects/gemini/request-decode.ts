import type { Call, Message } from '../../call/call.ts'
import { badField } from '../../errors.ts'
import { defined, type JsonObject, objectOf, textOf } from '../../lib/loose.ts'
import { hasUnknownLifetime } from '../fields.ts'
import { commonTier } from '../tier.ts'
import { decodeConfig } from './config-decode.ts'
import { camel, field, listOf, objectField } from './names.ts'
import { CallBook, decodeParts } from './parts-decode.ts'
import { decodeToolChoice, decodeTools } from './tools.ts'

/** Fields that steer the gateway: an upstream never sees them. */
export const ourFields: ReadonlySet<string> = new Set([
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
  'cache_control',
  'stop_server_tools_when',
  'previous_response_id',
  'max_tool_calls',
  'safety_identifier',
  'user',
])

/** Fields of the vendor's that other formats can say too. `store` says how the vendor logs: nobody misses it. */
const translated = new Set([
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

export function decodeRequest(body: JsonObject): Call {
  const unknown = new Set<string>()
  for (const key of Object.keys(body)) {
    if (body[key] === null || body[key] === undefined) continue
    if (!ourFields.has(key) && !translated.has(camel(key))) unknown.add(key)
  }
  if (hasUnknownLifetime(body.cache_control)) unknown.add('cache_control.ttl')
  const config = objectField(body, 'generationConfig')
  const tools = decodeTools(body.tools, unknown)
  const messages = [...decodeSystem(body, unknown), ...decodeContents(body, unknown)]
  const rest = defined({
    tools: tools.length > 0 ? tools : undefined,
    toolChoice: decodeToolChoice(field(body, 'toolConfig'), unknown),
    serviceTier: decodeTier(textOf(field(body, 'serviceTier'))),
    user: textOf(body.user),
    cache: decodeCache(objectOf(body.cache_control)),
  })
  const settings = config ? decodeConfig(config, unknown) : {}
  return { messages, stream: body.stream === true, ...settings, ...rest, unknown: [...unknown] }
}

function decodeSystem(body: JsonObject, unknown: Set<string>): Message[] {
  const given = field(body, 'systemInstruction')
  const parts = typeof given === 'string' ? given : objectOf(given)?.parts
  const reading = { calls: new CallBook(), unknown, path: 'systemInstruction.parts', joined: false }
  const decoded = decodeParts(parts, reading)
  return decoded.length > 0 ? [{ role: 'system', parts: decoded }] : []
}

/** Contents of the model that follow each other are one message: the pieces of a streamed answer. */
function decodeContents(body: JsonObject, unknown: Set<string>): Message[] {
  const calls = new CallBook()
  const messages: Message[] = []
  listOf(body.contents).forEach((entry, at) => {
    const path = `contents.${at}`
    const content = typeof entry === 'string' ? { parts: entry } : objectOf(entry)
    if (!content) throw badField(path, 'must be an object')
    const role = roles[textOf(content.role) || 'user']
    if (!role) throw badField(`${path}.role`, 'must be user or model')
    const joined = role === 'assistant'
    const last = messages.at(-1)
    const reading = { calls, unknown, path: `${path}.parts`, joined }
    if (joined && last?.role === role) decodeParts(content.parts, reading, last.parts)
    else messages.push({ role, parts: decodeParts(content.parts, reading) })
  })
  return messages.filter(({ parts }) => parts.length > 0)
}

function decodeTier(tier: string | undefined): string | undefined {
  return tier === undefined ? undefined : commonTier(tier.toLowerCase())
}

function decodeCache(control: JsonObject | undefined): Call['cache'] | undefined {
  if (!control) return undefined
  return control.ttl === '1h' || control.ttl === '5m' ? { ttl: control.ttl } : {}
}
