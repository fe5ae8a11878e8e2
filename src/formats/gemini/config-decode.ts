import {
  asBoolean,
  asNumber,
  asObject,
  asString,
  type JsonObject,
  omitUndefined,
} from '../../platform/json/json-values.ts'
import type { ModelCall, ReasoningOptions, ResponseFormat } from '../call/call.ts'
import { isEffort } from '../call/reasoning.ts'
import { listOf, readField, readObjectField, toCamelCase, toSnakeCase } from './field-names.ts'
import { toJsonSchema } from './json-schema.ts'

/** Fields of `generationConfig` that a call represents; others reach only upstreams of this format. */
const knownFields = new Set([
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

export function decodeConfig(config: JsonObject, unknown: Set<string>): Partial<ModelCall> {
  for (const key of Object.keys(config)) {
    if (config[key] !== null && !knownFields.has(toCamelCase(key))) unknown.add(`generationConfig.${key}`)
  }
  const readNumber = (name: string) => asNumber(readField(config, name))
  const stop = listOf(readField(config, 'stopSequences')).filter((sequence) => typeof sequence === 'string')
  return omitUndefined({
    temperature: readNumber('temperature'),
    topP: readNumber('topP'),
    topK: readNumber('topK'),
    maxTokens: readNumber('maxOutputTokens'),
    n: readNumber('candidateCount'),
    seed: readNumber('seed'),
    presencePenalty: readNumber('presencePenalty'),
    frequencyPenalty: readNumber('frequencyPenalty'),
    stop: stop.length > 0 ? stop : undefined,
    logprobs: asBoolean(readField(config, 'responseLogprobs')),
    topLogprobs: readNumber('logprobs'),
    format: decodeFormat(config, unknown),
    reasoning: decodeReasoning(readObjectField(config, 'thinkingConfig'), unknown),
    modalities: decodeModalities(readField(config, 'responseModalities')),
    audio: decodeSpeech(readObjectField(config, 'speechConfig')),
    imageConfig: decodeImageConfig(readObjectField(config, 'imageConfig')),
  })
}

function decodeFormat(config: JsonObject, unknown: Set<string>): ResponseFormat | undefined {
  const type = asString(readField(config, 'responseMimeType'))
  const vendorSchema = readObjectField(config, 'responseSchema')
  const schema =
    readObjectField(config, 'responseJsonSchema') ??
    asObject(config._responseJsonSchema) ??
    (vendorSchema && toJsonSchema(vendorSchema))
  if (type === undefined && !schema) return undefined
  if (type === 'text/plain') return { kind: 'text' }
  if (type === undefined || type === 'application/json') {
    return schema ? { kind: 'schema', schema } : { kind: 'json' }
  }
  // `text/x.enum` and other types have no counterpart in other formats.
  unknown.add('generationConfig.responseMimeType')
  return undefined
}

const thinkingFields = new Set(['thinkingBudget', 'thinkingLevel', 'includeThoughts'])

function decodeReasoning(config: JsonObject | undefined, unknown: Set<string>): ReasoningOptions | undefined {
  if (!config) return undefined
  const budget = asNumber(readField(config, 'thinkingBudget'))
  const level = asString(readField(config, 'thinkingLevel'))?.toLowerCase()
  const includeThoughts = asBoolean(readField(config, 'includeThoughts'))
  const options: ReasoningOptions = {}
  if (isEffort(level)) options.effort = level
  else if (level !== undefined) unknown.add('generationConfig.thinkingConfig.thinkingLevel')
  for (const key of Object.keys(config)) {
    if (!thinkingFields.has(toCamelCase(key))) unknown.add(`generationConfig.thinkingConfig.${key}`)
  }
  if (budget === 0) options.enabled = false
  else if (budget !== undefined && budget < 0) options.adaptive = true
  else if (budget !== undefined) options.maxTokens = budget
  if (includeThoughts !== undefined) options.exclude = !includeThoughts
  return Object.keys(options).length > 0 ? options : undefined
}

function decodeModalities(value: unknown): string[] | undefined {
  const names = listOf(value).filter((name) => typeof name === 'string')
  return names.length > 0 ? names.map((name) => name.toLowerCase()) : undefined
}

/** A single prebuilt voice becomes its name; other configurations are preserved. */
function decodeSpeech(config: JsonObject | undefined): ModelCall['audio'] | undefined {
  if (!config) return undefined
  const prebuilt = readObjectField(readObjectField(config, 'voiceConfig'), 'prebuiltVoiceConfig')
  const name = prebuilt && asString(readField(prebuilt, 'voiceName'))
  return { voice: name !== undefined && Object.keys(config).length === 1 ? name : config }
}

function decodeImageConfig(config: JsonObject | undefined): JsonObject | undefined {
  if (!config) return undefined
  return Object.fromEntries(Object.entries(config).map(([key, value]) => [toSnakeCase(key), value]))
}
