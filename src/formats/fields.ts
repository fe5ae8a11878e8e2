import { asObject, type JsonObject } from '../platform/json/json-values.ts'
import type { ModelCall } from './call/call.ts'

/** The names of a call's fields in `x-headgate-dropped`, in the docs and in the catalog. */
export const fieldNames = {
  tools: 'tools',
  toolChoice: 'tool_choice',
  parallelToolCalls: 'parallel_tool_calls',
  maxTokens: 'max_tokens',
  temperature: 'temperature',
  topP: 'top_p',
  topK: 'top_k',
  minP: 'min_p',
  topA: 'top_a',
  frequencyPenalty: 'frequency_penalty',
  presencePenalty: 'presence_penalty',
  repetitionPenalty: 'repetition_penalty',
  seed: 'seed',
  stop: 'stop',
  logitBias: 'logit_bias',
  logprobs: 'logprobs',
  topLogprobs: 'top_logprobs',
  n: 'n',
  format: 'response_format',
  reasoning: 'reasoning',
  verbosity: 'verbosity',
  modalities: 'modalities',
  audio: 'audio',
  imageConfig: 'image_config',
  prediction: 'prediction',
  cache: 'cache_control',
  promptCacheKey: 'prompt_cache_key',
  serviceTier: 'service_tier',
  user: 'user',
  metadata: 'metadata',
} as const satisfies Partial<Record<keyof ModelCall, string>>

export type CallField = keyof typeof fieldNames

/** Fields of the API that this gateway accepts and does not implement. */
const unimplementedFields = ['debug']

/** Fields that say how long server tools run. */
const serverToolFields = ['stop_server_tools_when', 'max_tool_calls']

const ignoredWithoutTools = [...unimplementedFields, ...serverToolFields]

/** Fields that the request uses, that have no effect, and that were not sent to the upstream. */
export function listUnimplementedFields(
  body: JsonObject,
  sent: JsonObject,
  hasServerTools = false,
): string[] {
  const ignored = hasServerTools ? unimplementedFields : ignoredWithoutTools
  return ignored.filter((name) => isRequested(body[name]) && sent[name] === undefined)
}

/** Fields for the gateway in every format. */
const gatewayFields = ['plugins', 'transforms', ...serverToolFields]

/** The fields of a body outside a format, without those of the gateway and those that are reported as unimplemented. */
export function pickUnknown(body: JsonObject, known: ReadonlySet<string>): JsonObject {
  const unknown: JsonObject = {}
  for (const name in body)
    if (!known.has(name) && !unimplementedFields.includes(name) && !gatewayFields.includes(name))
      unknown[name] = body[name]
  return unknown
}

function isRequested(value: unknown): boolean {
  return value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0)
}

/** The unknown fields of an object, prefixed with the name of the object. */
export function listUnknownMembers(value: unknown, known: ReadonlySet<string>, name: string): string[] {
  const members = asObject(value)
  if (!members) return []
  return Object.keys(members)
    .filter((key) => !known.has(key) && members[key] !== null && members[key] !== undefined)
    .map((key) => `${name}.${key}`)
}

/** A cache TTL that only some vendors support. */
export function hasUnknownCacheTtl(control: unknown): boolean {
  const ttl = asObject(control)?.ttl
  return ttl !== undefined && ttl !== '5m' && ttl !== '1h'
}

const maxNames = 200
const maxNameLength = 100

/**
 * Collects the names of what a translation drops. Fields are named as in `fieldNames`; content of messages by
 * its type: `image`, `file`, `audio`, `video`, `reasoning_signature`, `citations`, `cache_control`,
 * `tool:<type>`, `block:<type>`, `message_name`.
 */
export class Losses {
  readonly #names = new Set<string>()

  /** Names of unknown fields come from the client, so their length and number are bounded. */
  add(name: string): undefined {
    if (this.#names.size < maxNames) this.#names.add(name.slice(0, maxNameLength))
    return undefined
  }

  /** Adds the given fields, which this wire format cannot express, and the unknown fields of the body. */
  addFields(call: ModelCall, ...fields: CallField[]): void {
    for (const field of fields) if (call[field] !== undefined) this.add(fieldNames[field])
    for (const name of call.unknown) this.add(name)
  }

  /** Adds what a format without several choices, other modalities and kinds of summaries cannot express. */
  addReplySettings({ n, modalities, reasoning }: ModelCall): void {
    if (n !== undefined && n > 1) this.add('n')
    if (modalities?.some((modality) => modality !== 'text')) this.add('modalities')
    // `auto` only requests visible reasoning, which is shown.
    const { summary } = reasoning ?? {}
    if (summary !== undefined && summary !== 'auto') this.add('reasoning.summary')
  }

  list(): string[] {
    return [...this.#names].sort()
  }
}

/** The call without fields the upstream rejects; each one dropped is a loss. */
export function dropUnsupportedFields(
  call: ModelCall,
  unsupported: ReadonlySet<string>,
  losses: Losses,
): ModelCall {
  if (unsupported.size === 0) return call
  const supported: ModelCall = { ...call }
  for (const field of Object.keys(fieldNames) as CallField[]) {
    if (supported[field] === undefined || !unsupported.has(fieldNames[field])) continue
    losses.add(fieldNames[field])
    delete supported[field]
  }
  return supported
}
