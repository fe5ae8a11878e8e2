import type { Call, Format, ReasoningWish } from '../../call/call.ts'
import { isEffort } from '../../call/reasoning.ts'
import { defined, flagOf, type JsonObject, numberOf, objectOf, textOf } from '../../lib/loose.ts'
import { jsonSchemaOf } from './json-schema.ts'
import { camel, field, listOf, objectField, snake } from './names.ts'

/** Fields of `generationConfig` that are read; the others pass to the same dialect only. */
const known = new Set([
  'temperature',
  'topP',
  'topK',
  'candidateCount',
  'maxOutputTokens',
  'stopSequences',
  'seed',
  'presencePenalty',
  'frequencyPenalty',
  'responseLogprobs',
  'logprobs',
  'responseMimeType',
  'responseSchema',
  'responseJsonSchema',
  '_responseJsonSchema',
  'thinkingConfig',
  'responseModalities',
  'speechConfig',
  'imageConfig',
])

export function decodeConfig(config: JsonObject, unknown: Set<string>): Partial<Call> {
  for (const key of Object.keys(config)) {
    if (config[key] !== null && !known.has(camel(key))) unknown.add(`generationConfig.${key}`)
  }
  const number = (name: string) => numberOf(field(config, name))
  const stop = listOf(field(config, 'stopSequences')).filter((word) => typeof word === 'string')
  return defined({
    temperature: number('temperature'),
    topP: number('topP'),
    topK: number('topK'),
    maxTokens: number('maxOutputTokens'),
    n: number('candidateCount'),
    seed: number('seed'),
    presencePenalty: number('presencePenalty'),
    frequencyPenalty: number('frequencyPenalty'),
    stop: stop.length > 0 ? stop : undefined,
    logprobs: flagOf(field(config, 'responseLogprobs')),
    topLogprobs: number('logprobs'),
    format: decodeFormat(config, unknown),
    reasoning: decodeThinking(objectField(config, 'thinkingConfig'), unknown),
    modalities: decodeModalities(field(config, 'responseModalities')),
    audio: decodeSpeech(objectField(config, 'speechConfig')),
    imageConfig: decodeImageConfig(objectField(config, 'imageConfig')),
  })
}

function decodeFormat(config: JsonObject, unknown: Set<string>): Format | undefined {
  const type = textOf(field(config, 'responseMimeType'))
  const own = objectField(config, 'responseSchema')
  const schema =
    objectField(config, 'responseJsonSchema') ??
    objectOf(config._responseJsonSchema) ??
    (own && jsonSchemaOf(own))
  if (type === undefined && !schema) return undefined
  if (type === 'text/plain') return { kind: 'text' }
  if (type === undefined || type === 'application/json') {
    return schema ? { kind: 'schema', schema } : { kind: 'json' }
  }
  // `text/x.enum` and whatever follows: words without JSON around them, which no other format has.
  unknown.add('generationConfig.responseMimeType')
  return undefined
}

const thinkingFields = new Set(['thinkingBudget', 'thinkingLevel', 'includeThoughts'])

function decodeThinking(config: JsonObject | undefined, unknown: Set<string>): ReasoningWish | undefined {
  if (!config) return undefined
  const budget = numberOf(field(config, 'thinkingBudget'))
  const level = textOf(field(config, 'thinkingLevel'))?.toLowerCase()
  const shown = flagOf(field(config, 'includeThoughts'))
  const wish: ReasoningWish = {}
  if (isEffort(level)) wish.effort = level
  else if (level !== undefined) unknown.add('generationConfig.thinkingConfig.thinkingLevel')
  for (const key of Object.keys(config)) {
    if (!thinkingFields.has(camel(key))) unknown.add(`generationConfig.thinkingConfig.${key}`)
  }
  if (budget === 0) wish.enabled = false
  else if (budget !== undefined && budget < 0) wish.adaptive = true
  else if (budget !== undefined) wish.maxTokens = budget
  if (shown !== undefined) wish.exclude = !shown
  return Object.keys(wish).length > 0 ? wish : undefined
}

function decodeModalities(value: unknown): string[] | undefined {
  const names = listOf(value).filter((name) => typeof name === 'string')
  return names.length > 0 ? names.map((name) => name.toLowerCase()) : undefined
}

/** A lone prebuilt voice goes by its name; anything richer stays as it is. */
function decodeSpeech(config: JsonObject | undefined): Call['audio'] | undefined {
  if (!config) return undefined
  const prebuilt = objectField(objectField(config, 'voiceConfig'), 'prebuiltVoiceConfig')
  const name = prebuilt && textOf(field(prebuilt, 'voiceName'))
  return { voice: name !== undefined && Object.keys(config).length === 1 ? name : config }
}

function decodeImageConfig(config: JsonObject | undefined): JsonObject | undefined {
  if (!config) return undefined
  return Object.fromEntries(Object.entries(config).map(([key, value]) => [snake(key), value]))
}
