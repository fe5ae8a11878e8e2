/** The author of the gateway's own models. */
export const ownAuthor = 'service'
export const routerPrefix = `${ownAuthor}/`

export const inputModalities = ['text', 'image', 'file', 'audio', 'video'] as const

export const outputModalities = [
  'text',
  'image',
  'embeddings',
  'audio',
  'video',
  'rerank',
  'speech',
  'transcription',
] as const
export type OutputModality = (typeof outputModalities)[number]

/** The formats of text that clients and upstreams have. */
export const generateWireFormats = ['chat', 'messages', 'responses', 'gemini'] as const
export type GenerateWireFormat = (typeof generateWireFormats)[number]

/** The formats of text that upstreams have. */
export const textWireFormats = [...generateWireFormats, 'converse', 'cohere-chat'] as const
export type TextWireFormat = (typeof textWireFormats)[number]

export interface TaskTraits {
  /** A model serves the task if it has one of these outputs. */
  outputs: readonly OutputModality[]
  /** The wire formats of the task. */
  wireFormats: readonly string[]
  /** The name in records of generations. */
  apiType: string
  /** Set if every provider retains the requests of the task, whatever the policy of the endpoint. */
  retains?: true
}

/** The tasks that a request can have for a model. */
export const tasks = {
  text: { outputs: ['text', 'image', 'audio'], wireFormats: textWireFormats, apiType: 'completions' },
  embeddings: {
    outputs: ['embeddings'],
    wireFormats: ['embeddings', 'gemini-embeddings', 'cohere-embeddings', 'voyage-embeddings'],
    apiType: 'embeddings',
  },
  rerank: { outputs: ['rerank'], wireFormats: ['rerank', 'voyage-rerank'], apiType: 'rerank' },
  moderations: { outputs: ['text'], wireFormats: ['moderations'], apiType: 'moderations' },
  images: {
    outputs: ['image'],
    wireFormats: ['images', 'pixel-images', 'gemini-images', 'imagen'],
    apiType: 'image',
  },
  speech: {
    outputs: ['speech'],
    wireFormats: [
      'speech',
      'gemini-speech',
      'elevenlabs-speech',
      'deepgram-speech',
      'minimax-speech',
      'mistral-speech',
    ],
    apiType: 'tts',
  },
  transcriptions: {
    outputs: ['transcription'],
    wireFormats: [
      'transcriptions',
      'mistral-transcriptions',
      'elevenlabs-transcriptions',
      'deepgram-transcriptions',
      'xai-transcriptions',
    ],
    apiType: 'stt',
  },
  video: {
    outputs: ['video'],
    wireFormats: ['video', 'gemini-video', 'video-jobs'],
    apiType: 'video',
    // A job is stored until it has ended, and its video for longer.
    retains: true,
  },
  // An operation of a provider. Most of them store something there, and routing never selects a model for one.
  passthrough: { outputs: [], wireFormats: [], apiType: 'passthrough', retains: true },
} as const satisfies Record<string, TaskTraits>
export type TaskName = keyof typeof tasks

/** The most images that a request for images may refer to. */
export const maxImageReferences = 16

/** The wire formats of a task. */
export type TaskWireFormat<T extends TaskName> = (typeof tasks)[T]['wireFormats'][number]
export type WireFormatName = TaskWireFormat<TaskName>

/** The wire formats of upstreams. */
export const wireFormatNames: readonly WireFormatName[] = Object.values(tasks).flatMap(({ wireFormats }) => [
  ...wireFormats,
])

/** The same by task, for lookups. */
export const taskWireFormats = Object.fromEntries(
  Object.entries(tasks).map(([name, { wireFormats }]) => [name, new Set<string>(wireFormats)]),
) as Record<string, ReadonlySet<string>> as Readonly<Record<TaskName, ReadonlySet<string>>>

/** The wire formats of every task that a model with these outputs serves. */
export function listWireFormats(outputModalities: readonly OutputModality[]): ReadonlySet<WireFormatName> {
  const served = Object.values(tasks).filter(({ outputs }) =>
    outputs.some((output: OutputModality) => outputModalities.includes(output)),
  )
  return new Set(served.flatMap(({ wireFormats }): readonly WireFormatName[] => wireFormats))
}

export function isTextWireFormat(name: WireFormatName): name is TextWireFormat {
  return taskWireFormats.text.has(name)
}

/** Optional features of a wire format, which only some upstreams support. */
export const wireCapabilities = ['developer_role', 'max_completion_tokens', 'stream_usage'] as const
export type WireCapability = (typeof wireCapabilities)[number]

/** The field of assistant messages that carries reasoning in the chat format; `thinking`: as parts of the content. */
export const reasoningFields = [
  'reasoning_content',
  'reasoning',
  'reasoning_details',
  'thinking',
  'none',
] as const
export type ReasoningField = (typeof reasoningFields)[number]

/** The encodings of speech, as `response_format` names them. `pcm` is 16 bit, little endian, mono. */
export const speechFormats = ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'] as const
export type SpeechFormat = (typeof speechFormats)[number]
/** Fields of requests for speech that not every model supports. */
export const speechFields = ['speed', 'instructions'] as const
export type SpeechField = (typeof speechFields)[number]

/** Request parameters a model may accept, as the API names them. */
export const parameterNames = [
  'temperature',
  'top_p',
  'top_k',
  'min_p',
  'top_a',
  'frequency_penalty',
  'presence_penalty',
  'repetition_penalty',
  'max_tokens',
  'max_completion_tokens',
  'logit_bias',
  'logprobs',
  'top_logprobs',
  'prediction',
  'seed',
  'response_format',
  'structured_outputs',
  'stop',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'include_reasoning',
  'reasoning',
  'reasoning_effort',
  'web_search_options',
  'verbosity',
] as const
export type ParameterName = (typeof parameterNames)[number]

/** Tokenizers, by model group. */
export const tokenizerGroups = [
  'Router',
  'Media',
  'Other',
  'VendorB',
  'VendorA',
  'VendorC',
  'VendorC-open',
  'VendorD',
  'Cohere',
  'Nova',
  'Qwen',
  'Yi',
  'DeepSeek',
  'Mistral',
  'Llama2',
  'Llama3',
  'Llama4',
  'VendorC-legacy',
  'RWKV',
  'Qwen3',
] as const

export const instructTypes = [
  'none',
  'airoboros',
  'alpaca',
  'alpaca-modif',
  'chatml',
  'vendor_a',
  'code-llama',
  'vendor_c-open',
  'llama2',
  'llama3',
  'mistral',
  'nemotron',
  'neural',
  'openchat',
  'phi3',
  'rwkv',
  'vicuna',
  'zephyr',
  'deepseek-r1',
  'deepseek-v3.1',
  'qwq',
  'qwen3',
] as const

/** Highest first. */
export const reasoningEfforts = ['max', 'xhigh', 'high', 'medium', 'low', 'minimal', 'none'] as const

export const quantizations = [
  'int4',
  'int8',
  'fp4',
  'mxfp4',
  'nvfp4',
  'fp6',
  'fp8',
  'mxfp8',
  'fp16',
  'bf16',
  'fp32',
  'unknown',
] as const

/** Service tiers besides the default one. */
export const serviceTiers = ['priority', 'flex'] as const
export type ServiceTier = (typeof serviceTiers)[number]
/** The service tiers of replies in the API. */
export type ServedTier = ServiceTier | 'default'

/** Which requests pass first where the rate of a provider is nearly used, the last one first. Not a service tier of vendors. */
export const priorities = ['low', 'normal', 'high'] as const
export type Priority = (typeof priorities)[number]

export const categories = [
  'programming',
  'roleplay',
  'marketing',
  'marketing/seo',
  'technology',
  'science',
  'translation',
  'legal',
  'finance',
  'health',
  'trivia',
  'academia',
] as const

/** The regions in which endpoints process data. */
export const dataRegions = ['global', 'europe', 'us'] as const
export type DataRegion = (typeof dataRegions)[number]

/** Suffixes that change the routing of any model; every other suffix is part of a model's id. */
export const dynamicVariants: ReadonlySet<string> = new Set(['nitro', 'floor', 'exacto', 'online'])

/** The formats of file storage at vendors, by the vendor that defined them. */
export const fileFormatNames = ['vendor_a', 'vendor_b'] as const
export type FileFormatName = (typeof fileFormatNames)[number]

/** The neutral names of the four vendors that policies can refer to. */
export const vendorNames = ['vendor_a', 'vendor_b', 'vendor_c', 'vendor_d'] as const
export type VendorName = (typeof vendorNames)[number]

export const videoAspectRatios = ['16:9', '9:16', '1:1', '4:3', '3:4', '3:2', '2:3', '21:9', '9:21'] as const
export const videoResolutions = ['360p', '480p', '720p', '768p', '1080p', '1K', '2K', '4K'] as const
