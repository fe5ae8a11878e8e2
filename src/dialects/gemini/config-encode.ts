import type { Call, Format, ReasoningWish } from '../../call/call.ts'
import { budgetOf, effortOf, nearestEffort, wantsReasoning } from '../../call/reasoning.ts'
import { defined, type JsonObject, objectOf } from '../../lib/loose.ts'
import type { ReasoningAbility, Target } from '../dialect.ts'
import type { Losses } from '../fields.ts'
import { camel, field } from './names.ts'

/** Where the fields of a call stand in `generationConfig`, by their public names. */
export const configNames: Record<string, string[]> = {
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

export function encodeConfig(call: Call, target: Target, losses: Losses): JsonObject | undefined {
  const config = defined({
    temperature: call.temperature,
    topP: call.topP,
    // 0 switches the limit off elsewhere; here it is switched off by leaving it out.
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
    thinkingConfig: call.reasoning && encodeThinking(call.reasoning, call.maxTokens, target, losses),
    responseModalities: call.modalities?.map((name) => name.toUpperCase()),
    speechConfig: call.audio && encodeSpeech(call.audio, losses),
    imageConfig: call.imageConfig && encodeImageConfig(call.imageConfig),
  })
  return Object.keys(config).length > 0 ? config : undefined
}

function encodeFormat(format: Format | undefined, losses: Losses): JsonObject {
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

/** The largest budget that every thinking model of the vendor takes, for budgets that follow from an effort. */
const safeBudget = 24_576
/** What most models answer with at most, where neither client nor catalogue says. */
const usualOutput = 65_536

export function encodeThinking(
  wish: ReasoningWish,
  maxTokens: number | undefined,
  target: Target,
  losses: Losses,
): JsonObject | undefined {
  const { reasoning: ability } = target
  const wanted = wantsReasoning(wish)
  if (!ability) return wanted === false ? undefined : losses.add('reasoning')
  // `auto` asks to see the thinking, which is shown; a kind of summary cannot be chosen.
  if (wish.summary !== undefined && wish.summary !== 'auto') losses.add('reasoning.summary')
  const cap = maxTokens ?? target.maxOutput ?? usualOutput
  const amount = ability.budget ? budgetWord(wish, cap) : levelWord(wish, cap, ability)
  if (wanted === false) return amount
  return { includeThoughts: wish.exclude !== true, ...amount }
}

function budgetWord(wish: ReasoningWish, cap: number): JsonObject | undefined {
  if (wish.maxTokens !== undefined) return { thinkingBudget: wish.maxTokens }
  if (wish.adaptive && wish.effort === undefined) return { thinkingBudget: -1 }
  const budget = budgetOf(wish, cap)
  return budget === undefined ? undefined : { thinkingBudget: Math.min(budget, safeBudget) }
}

/** Levels cannot switch thinking off: `minimal` comes nearest. */
function levelWord(wish: ReasoningWish, cap: number, ability: ReasoningAbility): JsonObject | undefined {
  const effort = effortOf(wish, cap)
  if (effort === undefined) return undefined
  const wanted = effort === 'none' ? 'minimal' : effort === 'xhigh' || effort === 'max' ? 'high' : effort
  const levels = ability.efforts?.filter((known) => wireLevels.includes(known)) ?? wireLevels
  return { thinkingLevel: nearestEffort(wanted, levels.length > 0 ? levels : wireLevels) }
}

const wireLevels: readonly string[] = ['high', 'medium', 'low', 'minimal']

function encodeSpeech(audio: NonNullable<Call['audio']>, losses: Losses): JsonObject | undefined {
  if (audio.format !== undefined && audio.format !== 'pcm16') losses.add('audio.format')
  if (typeof audio.voice === 'string') {
    return { voiceConfig: { prebuiltVoiceConfig: { voiceName: audio.voice } } }
  }
  const config = objectOf(audio.voice)
  const own =
    config && ['voiceConfig', 'multiSpeakerVoiceConfig', 'languageCode'].some((name) => field(config, name))
  if (config && !own) losses.add('audio.voice')
  return own ? config : undefined
}

function encodeImageConfig(config: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(config).map(([key, value]) => [camel(key), value]))
}
