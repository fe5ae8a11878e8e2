import { asObject, type JsonObject, omitUndefined } from '../../platform/json/json-values.ts'
import type { ModelCall, ReasoningOptions, ResponseFormat } from '../call/call.ts'
import { findNearestEffort, isReasoningRequested, resolveBudget, resolveEffort } from '../call/reasoning.ts'
import type { Losses } from '../fields.ts'
import type { ReasoningCapability, Target } from '../wire-format.ts'
import { readField, toCamelCase } from './field-names.ts'

/** Fields of `generationConfig` by the public name of the call's field. */
export const configFields: Record<string, string[]> = {
  max_tokens: ['maxOutputTokens'],
  temperature: ['temperature'],
  top_p: ['topP'],
  top_k: ['topK'],
  frequency_penalty: ['frequencyPenalty'],
  presence_penalty: ['presencePenalty'],
  seed: ['seed'],
  stop: ['stopSequences'],
  logprobs: ['responseLogprobs'],
  top_logprobs: ['logprobs'],
  n: ['candidateCount'],
  response_format: ['responseMimeType', 'responseSchema', 'responseJsonSchema', '_responseJsonSchema'],
  reasoning: ['thinkingConfig'],
  modalities: ['responseModalities'],
  audio: ['speechConfig'],
  image_config: ['imageConfig'],
}

export function encodeConfig(call: ModelCall, target: Target, losses: Losses): JsonObject | undefined {
  const config = omitUndefined({
    temperature: call.temperature,
    topP: call.topP,
    // In other formats 0 disables the limit; here the field is omitted instead.
    topK: call.topK === 0 ? undefined : call.topK,
    maxOutputTokens: call.maxTokens,
    candidateCount: call.n,
    stopSequences: call.stop?.length ? call.stop : undefined,
    seed: call.seed,
    presencePenalty: call.presencePenalty,
    frequencyPenalty: call.frequencyPenalty,
    responseLogprobs: call.logprobs,
    logprobs: call.topLogprobs,
    ...encodeFormat(call.format, losses),
    thinkingConfig: call.reasoning && encodeReasoning(call.reasoning, call.maxTokens, target, losses),
    responseModalities: call.modalities?.map((name) => name.toUpperCase()),
    speechConfig: call.audio && encodeSpeech(call.audio, losses),
    imageConfig: call.imageConfig && encodeImageConfig(call.imageConfig),
  })
  return Object.keys(config).length > 0 ? config : undefined
}

function encodeFormat(format: ResponseFormat | undefined, losses: Losses): JsonObject {
  switch (format?.kind) {
    case 'json':
      return { responseMimeType: 'application/json' }
    case 'schema':
      if (format.description !== undefined) losses.add('response_format.description')
      return { responseMimeType: 'application/json', responseJsonSchema: format.schema }
    case 'python':
    case 'grammar':
      losses.add('response_format')
      return {}
    default:
      return {}
  }
}

/** The largest budget that every reasoning model of the vendor accepts; caps budgets derived from an effort. */
const maxEffortBudget = 24_576
/** The output limit of most models, used when neither client nor catalog has one. */
const defaultMaxOutput = 65_536

export function encodeReasoning(
  options: ReasoningOptions,
  maxTokens: number | undefined,
  target: Target,
  losses: Losses,
): JsonObject | undefined {
  const { reasoning: capability } = target
  const isRequested = isReasoningRequested(options)
  if (!capability) return isRequested === false ? undefined : losses.add('reasoning')
  // `auto` only requests visible reasoning, which is shown; other summary types cannot be chosen.
  if (options.summary !== undefined && options.summary !== 'auto') losses.add('reasoning.summary')
  const maxOutput = maxTokens ?? target.maxOutputTokens ?? defaultMaxOutput
  const amount = capability.budget
    ? encodeBudget(options, maxOutput)
    : encodeLevel(options, maxOutput, capability)
  if (isRequested === false) return amount
  return { includeThoughts: options.exclude !== true, ...amount }
}

function encodeBudget(options: ReasoningOptions, maxOutput: number): JsonObject | undefined {
  if (options.maxTokens !== undefined) return { thinkingBudget: options.maxTokens }
  if (options.adaptive && options.effort === undefined) return { thinkingBudget: -1 }
  const budget = resolveBudget(options, maxOutput)
  return budget === undefined ? undefined : { thinkingBudget: Math.min(budget, maxEffortBudget) }
}

/** Levels cannot disable reasoning: `minimal` is the closest. */
function encodeLevel(
  options: ReasoningOptions,
  maxOutput: number,
  capability: ReasoningCapability,
): JsonObject | undefined {
  const effort = resolveEffort(options, maxOutput)
  if (effort === undefined) return undefined
  const requestedLevel =
    effort === 'none' ? 'minimal' : effort === 'xhigh' || effort === 'max' ? 'high' : effort
  const levels = capability.efforts?.filter((known) => wireLevels.includes(known)) ?? wireLevels
  return { thinkingLevel: findNearestEffort(requestedLevel, levels.length > 0 ? levels : wireLevels) }
}

const wireLevels: readonly string[] = ['high', 'medium', 'low', 'minimal']

function encodeSpeech(audio: NonNullable<ModelCall['audio']>, losses: Losses): JsonObject | undefined {
  if (audio.format !== undefined && audio.format !== 'pcm16') losses.add('audio.format')
  if (typeof audio.voice === 'string') {
    return { voiceConfig: { prebuiltVoiceConfig: { voiceName: audio.voice } } }
  }
  const config = asObject(audio.voice)
  const isNativeConfig =
    config &&
    ['voiceConfig', 'multiSpeakerVoiceConfig', 'languageCode'].some((name) => readField(config, name))
  if (config && !isNativeConfig) losses.add('audio.voice')
  return isNativeConfig ? config : undefined
}

function encodeImageConfig(config: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(config).map(([key, value]) => [toCamelCase(key), value]))
}
