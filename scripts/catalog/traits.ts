import { commonParameters, type ModelDeclaration } from '../../src/catalog/declared-model.ts'
import {
  isTextMode,
  outputOf,
  readInputModalities,
  readParameters,
  readReasoning,
  readRejectedParameters,
} from './entry-traits.ts'
import type { PriceEntry } from './price-list.ts'

type Traits = Pick<
  ModelDeclaration,
  | 'input_modalities'
  | 'output_modalities'
  | 'supported_parameters'
  | 'supported_voices'
  | 'speech'
  | 'transcription'
  | 'reasoning'
  | 'tokenizer'
>

type Rule<Value> = [RegExp, Value]

/**
 * Properties by model name, from the authors' documentation, and by the flags of the price list where no rule applies.
 * The first matching rule wins; a model without a rule or flags is text to text with the parameters that every server
 * supports.
 */
export function inferTraits(modelId: string, entries: readonly PriceEntry[]): Traits {
  const id = modelId.replace(/:.*$/, '')
  const [main] = entries
  const output = findOutput(id, main)
  const isText = output === undefined || output.includes('text')
  const reasoning =
    output === undefined ? (findRule(reasoningRules, id) ?? (main && readReasoning(main))) : undefined
  const readsText = isText || output.includes('embeddings') || output.includes('rerank')
  const tokenizer = readsText ? findRule(tokenizers, id) : 'Media'
  const parameters = isText ? findParameters(id, entries, reasoning !== undefined) : []
  const input = findInput(id, main)
  return {
    ...(input && { input_modalities: input }),
    ...(output && { output_modalities: output }),
    ...(tokenizer && { tokenizer }),
    ...(parameters && { supported_parameters: parameters }),
    ...(output?.includes('speech') && findVoices(id)),
    ...(reasoning && { reasoning }),
    ...(/-transcribe-diarize/.test(id) && { transcription: { supports_diarization: true } }),
  }
}

/** The mode of the price list, unless it is chat, in which it also lists models that output something else. */
function findOutput(id: string, main: PriceEntry | undefined): Traits['output_modalities'] {
  if (!main || isTextMode(main.mode)) return findRule(outputs, id)
  const ruled = findRule(outputs, id)
  const output = outputOf(main)
  return ruled && output?.every((modality) => ruled.includes(modality)) ? ruled : output
}

function findInput(id: string, main: PriceEntry | undefined): Traits['input_modalities'] {
  const ruled = main?.mode === 'rerank' ? undefined : findRule(inputs, id)
  if (ruled || !main) return ruled
  const flagged = readInputModalities(main)
  return flagged.length === 1 && flagged[0] === 'text' && isTextMode(main.mode) ? undefined : flagged
}

function findParameters(
  id: string,
  entries: readonly PriceEntry[],
  reasons: boolean,
): Traits['supported_parameters'] {
  const ruled = findRule(parameterRules, id)
  const flagged = readParameters(entries)
  if (!ruled && flagged.length === 0) return undefined
  const rejected = new Set(entries[0] ? readRejectedParameters(entries[0]) : [])
  const known = ruled ?? [...commonParameters, ...flagged]
  return [...new Set([...known, ...(reasons ? reasoningParameters : [])])].filter(
    (name) => !rejected.has(name),
  )
}

function findVoices(id: string): Pick<Traits, 'supported_voices' | 'speech'> {
  const voices = findRule(speechVoices, id)
  if (voices) return { supported_voices: voices }
  const examples = findRule(exampleVoices, id)
  return examples ? { supported_voices: examples, speech: { accepts_unlisted_voices: true } } : {}
}

function findRule<Value>(rules: Rule<Value>[], id: string): Value | undefined {
  return rules.find(([pattern]) => pattern.test(id))?.[1]
}

const outputs: Rule<NonNullable<Traits['output_modalities']>>[] = [
  [/embed|^voyageai\//, ['embeddings']],
  [/\/gpt-image-/, ['image']],
  [/^google\/gemini-.*-image/, ['image', 'text']],
  [/-tts$/, ['speech']],
  [/transcribe|whisper|voxtral-mini-2602/, ['transcription']],
  [/\/gpt-audio/, ['text', 'audio']],
]

const inputs: Rule<NonNullable<Traits['input_modalities']>>[] = [
  [/transcribe|whisper|voxtral-mini-2602/, ['audio']],
  [/gemini-embedding-2/, ['text', 'image', 'audio']],
  [/embed|^voyageai\/|-tts$/, ['text']],
  [/\/gpt-audio|voxtral/, ['text', 'audio']],
  [/\/gpt-image-|^google\/gemini-.*-image/, ['text', 'image']],
  [/^google\/gemini-/, ['text', 'image', 'file', 'audio', 'video']],
  [/^anthropic\/claude-/, ['text', 'image', 'file']],
  [/^openai\/o3-mini/, ['text']],
  [/^openai\/(gpt-4o|gpt-4\.1|gpt-[5-9]|o\d)/, ['text', 'image', 'file']],
  [/^openai\/gpt-4-turbo/, ['text', 'image']],
  [/^x-ai\/grok-4(?!.*multi-agent)/, ['text', 'image']],
  [
    /-vl-|-vl$|vision|\/glm-\d\.\dv|pixtral|llama-4-|gemma-3-(4|12|27)b|gemma-4-|kimi-k2\.[5-9]|kimi-k3/,
    ['text', 'image'],
  ],
  [/^amazon\/nova-(lite|pro|premier)/, ['text', 'image']],
  [/mistral-small-3\.[12]|mistral-medium-3|mistral-large-2512|ministral-\d+b-2512/, ['text', 'image']],
]

const tokenizers: Rule<NonNullable<Traits['tokenizer']>>[] = [
  [/^anthropic\//, 'VendorA'],
  [/^openai\//, 'VendorB'],
  [/^google\/gemma/, 'VendorC-open'],
  [/^google\//, 'VendorC'],
  [/^x-ai\//, 'VendorD'],
  [/^cohere\//, 'Cohere'],
  [/^amazon\/nova/, 'Nova'],
  [/^qwen\/qwen3/, 'Qwen3'],
  [/^qwen\//, 'Qwen'],
  [/^deepseek\/deepseek-r1-distill-llama/, 'Llama3'],
  [/^deepseek\/deepseek-r1-distill-qwen/, 'Qwen'],
  [/^deepseek\//, 'DeepSeek'],
  [/^mistralai\//, 'Mistral'],
  [/llama-4/, 'Llama4'],
  [/llama-3|\/l3\.|\/l3-/, 'Llama3'],
  [/llama-?2|-l2-/, 'Llama2'],
]

const sampling = ['max_tokens', 'temperature', 'top_p', 'stop'] as const
const penalties = ['frequency_penalty', 'presence_penalty', 'seed'] as const
const tools = ['tools', 'tool_choice'] as const
const structuredOutputParameters = ['response_format', 'structured_outputs'] as const
const reasoningParameters = ['reasoning', 'include_reasoning'] as const

const parameterRules: Rule<NonNullable<Traits['supported_parameters']>>[] = [
  [/^anthropic\/claude-3-/, [...sampling, 'top_k', ...tools]],
  [/^anthropic\/claude-/, [...sampling, 'top_k', ...tools, 'parallel_tool_calls', ...reasoningParameters]],
  [
    /^openai\/(o\d|gpt-[5-9])/,
    [
      ...(['max_tokens', 'max_completion_tokens', 'seed'] as const),
      ...structuredOutputParameters,
      ...tools,
      'parallel_tool_calls',
      ...reasoningParameters,
      'reasoning_effort',
      'verbosity',
    ],
  ],
  [
    /^openai\/gpt-oss/,
    [
      ...sampling,
      ...penalties,
      ...structuredOutputParameters,
      ...tools,
      ...reasoningParameters,
      'reasoning_effort',
    ],
  ],
  [
    /^openai\/gpt-(3|4|audio)/,
    [
      ...sampling,
      ...penalties,
      ...(['max_completion_tokens', 'logit_bias', 'logprobs', 'top_logprobs'] as const),
      ...structuredOutputParameters,
      ...tools,
      'parallel_tool_calls',
    ],
  ],
  [/^google\/gemini-.*image/, [...sampling, 'seed']],
  [
    /^google\/gemini-/,
    [...sampling, 'top_k', 'seed', ...structuredOutputParameters, ...tools, ...reasoningParameters],
  ],
  [
    /^x-ai\/grok-(3|code|build|4)/,
    [...sampling, 'seed', ...structuredOutputParameters, ...tools, ...reasoningParameters],
  ],
  [/deepseek-r1/, [...sampling, ...penalties, ...reasoningParameters]],
  [
    /deepseek-v4|kimi-k2-thinking|kimi-k2\.[5-9]|kimi-k3|\/glm-(4\.[5-9]|5)|minimax-m[1-9]|qwen3(\.\d)?-(max|\d+b|vl).*thinking|thinking$/,
    [...sampling, ...penalties, ...tools, ...reasoningParameters],
  ],
  [
    /deepseek-(chat|v3)|kimi-k2|qwen3|mistral-(large|medium|small)|ministral|devstral|codestral-25|^meta-llama\/llama-(3\.[13]|4)|^cohere\/command-(a|r)|^amazon\/nova-/,
    [...sampling, ...penalties, 'response_format', ...tools],
  ],
]

const reasoningRules: Rule<NonNullable<Traits['reasoning']>>[] = [
  [
    /^openai\/(o1|o3|o4)/,
    { mandatory: true, default_effort: 'medium', supported_efforts: ['high', 'medium', 'low'] },
  ],
  [
    /^openai\/gpt-5(-mini|-nano|-codex)?(-\d{4}|$)/,
    { mandatory: true, default_effort: 'medium', supported_efforts: ['high', 'medium', 'low', 'minimal'] },
  ],
  [
    /^openai\/gpt-oss-\d/,
    { mandatory: true, default_effort: 'medium', supported_efforts: ['high', 'medium', 'low'] },
  ],
  [
    /^anthropic\/claude-(opus|sonnet|haiku)-4(\.[0-6])?$/,
    { mandatory: false, default_enabled: false, supports_max_tokens: true },
  ],
  [/^google\/gemini-2\.5-pro/, { mandatory: true, default_enabled: true, supports_max_tokens: true }],
  [
    /^google\/gemini-2\.5-flash-lite/,
    { mandatory: false, default_enabled: false, supports_max_tokens: true },
  ],
  [/^google\/gemini-2\.5-flash/, { mandatory: false, default_enabled: true, supports_max_tokens: true }],
  [/deepseek-r1|kimi-k2-thinking/, { mandatory: true, default_enabled: true }],
]

/** Voices as the authors list them; a model has no others. */
const speechVoices: Rule<string[]>[] = [
  [
    /gpt-4o-mini-tts(?:-\d{4}-\d{2}-\d{2})?$/,
    'alloy ash ballad coral echo fable nova onyx sage shimmer verse marin cedar'.split(' '),
  ],
  [
    /gemini-.*-tts(?:-preview)?$/,
    (
      'Zephyr Puck Charon Kore Fenrir Leda Orus Aoede Callirrhoe Autonoe Enceladus Iapetus Umbriel Algieba Despina ' +
      'Erinome Algenib Rasalgethi Laomedeia Achernar Alnilam Schedar Gacrux Pulcherrima Achird Zubenelgenubi ' +
      'Vindemiatrix Sadachbia Sadaltager Sulafat'
    ).split(' '),
  ],
  [/^openai\/tts-1(?:-hd)?$/, 'alloy ash coral echo fable nova onyx sage shimmer'.split(' ')],
  [/orpheus-v1-english$/, 'autumn diana hannah austin daniel troy'.split(' ')],
  [/orpheus-arabic-saudi$/, 'abdullah fahad sultan lulwa noura aisha'.split(' ')],
]

/** Some voices of authors that have more: large libraries, and the custom and cloned voices of an account. */
const exampleVoices: Rule<string[]>[] = [
  // Premade voices, by the ids that requests need: Rachel, Roger, Sarah, Laura, Charlie, George, Callum, River, Liam,
  // Alice, Matilda, Will, Jessica, Eric, Chris, Brian, Daniel, Lily, Bill.
  [
    /^elevenlabs\//,
    (
      '21m00Tcm4TlvDq8ikWAM CwhRBWXzGAHq8TQ4Fs17 EXAVITQu4vr4xnSDxMaL FGY2WhTYpPnrIDTdsKH5 IKne3meq5aSn9XLyUdCD ' +
      'JBFqnCBsd6RMkjVDRZzb N2lVS1w4EtoT3dr4eOWO SAz9YHcvj6GT2YYXdXww TX3LPaxmHKxFdv7VOQHJ Xb7hH8MSUJpSbSDYk0k2 ' +
      'XrExE9yKIg1WjnnlVkGX bIHbv24MWmeRgasZH58o cgSgspJ2msm6clMCkdW9 cjVigY5qzO86Huf0OWal iP95p4xoKVk53GoZ742B ' +
      'nPczCjzI2devNBz1zQrb onwK4e9ZLuTAKqWW03F9 pFZP5JQG7iQjIQuC4Bku pqHfZKP75CvOlQylNhV4'
    ).split(' '),
  ],
  // The beginning of the author's "System Voice ID List", and the system voices without a language in their names.
  [
    /^minimax\/speech-/,
    (
      'English_expressive_narrator English_radiant_girl English_magnetic_voiced_man English_compelling_lady1 ' +
      'English_Aussie_Bloke English_captivating_female1 English_Upbeat_Woman English_Trustworth_Man ' +
      'English_CalmWoman Wise_Woman Friendly_Person Inspirational_girl Deep_Voice_Man Calm_Woman Casual_Guy ' +
      'Lively_Girl Patient_Man Young_Knight Determined_Man Lovely_Girl Decent_Boy Imposing_Manner Elegant_Man ' +
      'Abbess Sweet_Girl_2 Exuberant_Girl'
    ).split(' '),
  ],
  // The presets of the author's page "Voices" that all versions accept.
  [
    /^mistralai\/voxtral-.*tts/,
    [
      ...nameVariants('en_paul', 'neutral happy cheerful excited confident sad frustrated angry'),
      ...nameVariants(
        'gb_jane',
        'neutral confident curious confused sarcasm sad shameful jealousy frustrated',
      ),
      ...nameVariants('gb_oliver', 'neutral cheerful excited confident curious sad angry'),
      ...nameVariants('fr_marie', 'neutral happy excited curious sad angry'),
    ],
  ],
]

/** One voice for each emotion of a speaker. */
function nameVariants(speaker: string, emotions: string): string[] {
  return emotions.split(' ').map((emotion) => `${speaker}_${emotion}`)
}
