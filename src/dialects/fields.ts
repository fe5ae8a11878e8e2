import type { ModelCall } from '../call/call.ts'
import { asObject, type JsonObject } from '../lib/json-values.ts'

/** What the fields of a call are called in `x-headgate-dropped`, in documents and in the catalogue. */
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

/** Fields of our own API that no stage of this gateway acts on. */
const unimplementedFields = [
  'plugins',
  'transforms',
  'stop_server_tools_when',
  'max_tool_calls',
  'debug',
  'trace',
]

/** Those of them that a request asks something with, and that did not reach the upstream either. */
export function listUnimplementedFields(body: JsonObject, sent: JsonObject): string[] {
  return unimplementedFields.filter((name) => isRequested(body[name]) && sent[name] === undefined)
}

function isRequested(value: unknown): boolean {
  if (value === undefined || value === null) return false
  return !Array.isArray(value) || value.some((entry) => asObject(entry)?.enabled !== false)
}

/** Names the fields of an object that are not among those known, under the name of the object. */
export function listUnknownMembers(value: unknown, known: ReadonlySet<string>, name: string): string[] {
  const members = asObject(value) ?? {}
  return Object.keys(members)
    .filter((key) => !known.has(key) && members[key] !== null && members[key] !== undefined)
    .map((key) => `${name}.${key}`)
}

/** A lifetime of a cache that only some vendors have. */
export function hasUnknownCacheTtl(control: unknown): boolean {
  const ttl = asObject(control)?.ttl
  return ttl !== undefined && ttl !== '5m' && ttl !== '1h'
}

const maxNames = 200
const maxNameLength = 100

/**
 * Collects what a translation leaves out. Fields are named as in `fieldNames`; what is inside messages by
 * what it is: `image`, `file`, `audio`, `video`, `reasoning_signature`, `citations`, `cache_control`,
 * `tool:<type>`, `block:<type>`, `message_name`.
 */
export class Losses {
  readonly #names = new Set<string>()

  /** Names of unknown fields are the client's own words: they are repeated, but not at any length. */
  add(name: string): undefined {
    if (this.#names.size < maxNames) this.#names.add(name.slice(0, maxNameLength))
    return undefined
  }

  /** The fields of the call that this dialect has no word for, and those of the body that only the client's own has. */
  addFields(call: ModelCall, ...fields: CallField[]): void {
    for (const field of fields) if (call[field] !== undefined) this.add(fieldNames[field])
    for (const name of call.unknown) this.add(name)
  }

  list(): string[] {
    return [...this.#names].sort()
  }
}

/** The call without what the upstream would refuse; what is left out is a loss. */
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
