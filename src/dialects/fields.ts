import type { Call } from '../call/call.ts'

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
} as const satisfies Partial<Record<keyof Call, string>>

export type CallField = keyof typeof fieldNames

const mostNames = 200
const longestName = 100

/**
 * Collects what a translation leaves out. Fields are named as in `fieldNames`; what is inside messages by
 * what it is: `image`, `file`, `audio`, `video`, `reasoning_signature`, `citations`, `cache_control`,
 * `tool:<type>`, `block:<type>`, `message_name`.
 */
export class Losses {
  readonly #names = new Set<string>()

  /** Names of unknown fields are the client's own words: they are repeated, but not at any length. */
  add(name: string): undefined {
    if (this.#names.size < mostNames) this.#names.add(name.slice(0, longestName))
    return undefined
  }

  /** The fields of the call that this dialect has no word for, and those of the body that only the client's own has. */
  addFields(call: Call, ...fields: CallField[]): void {
    for (const field of fields) if (call[field] !== undefined) this.add(fieldNames[field])
    for (const name of call.unknown) this.add(name)
  }

  list(): string[] {
    return [...this.#names].sort()
  }
}

/** The call without what the upstream would refuse; what is left out is a loss. */
export function withoutUnsupported(call: Call, unsupported: ReadonlySet<string>, losses: Losses): Call {
  if (unsupported.size === 0) return call
  const kept: Call = { ...call }
  for (const field of Object.keys(fieldNames) as CallField[]) {
    if (kept[field] === undefined || !unsupported.has(fieldNames[field])) continue
    losses.add(fieldNames[field])
    delete kept[field]
  }
  return kept
}
