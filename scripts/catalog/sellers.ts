import { identifyModel, type ModelIdentity } from './model-identity.ts'
import type { PriceEntry } from './price-list.ts'

/** A provider in the price list, and which of its rows are models that our provider serves. */
export interface Seller {
  /** Names of the provider in the price list. */
  names: string[]
  /** The slug of our provider. */
  provider: string
  /** The author of names that contain none: the provider makes these models. */
  author?: string
  /** Modes that it serves; by default all. */
  modes?: string[]
  /** Names of no model of its own: aliases, retired ones, and those without a format or with an incomplete price. */
  skip?: RegExp
  /** Names of its models, if not all. */
  only?: RegExp
  /** Resolves names or rows that deviate from the usual form; undefined if the model is not served. */
  resolve?: (name: string, entry: PriceEntry) => SellerModel | undefined
}

export interface SellerModel extends ModelIdentity {
  upstream: string
}

const textModes = ['chat', 'responses', 'embedding']

/** Guards classify prompts, adapters need a base model, aliases move to other models, and Claude 3 is retired. */
const unservedPattern = /guard|safety|-lora|latest|claude-3/i

/** The prefix of a key is the seller's name, or the first word of it. */
export function splitKey({ key, seller }: PriceEntry): string {
  const [first = '', ...rest] = key.split('/')
  return rest.length > 0 && (first === seller || seller.startsWith(`${first}-`)) ? rest.join('/') : key
}

export function resolveSellerModel(seller: Seller, entry: PriceEntry, name: string): SellerModel | undefined {
  if (seller.modes && !seller.modes.includes(entry.mode)) return undefined
  if (seller.only?.test(name) === false || seller.skip?.test(name) || unservedPattern.test(name))
    return undefined
  if (seller.resolve) return seller.resolve(name, entry)
  const identity = identifyModel(name, seller.author)
  return identity && { ...identity, upstream: name }
}

function resolveOpenai(name: string): SellerModel | undefined {
  return { id: `openai/${name}`, upstream: name }
}

/** The deployment has the name of the model. */
function resolveAzure(name: string): SellerModel | undefined {
  return /^(gpt-|o[134]|text-embedding-3|dall-e|sora|tts-1|whisper)/.test(name)
    ? { id: `openai/${name}`, upstream: name }
    : undefined
}

/** `FW-` models are hosted for Azure by another provider. */
function resolveFoundry(name: string): SellerModel | undefined {
  const identity = identifyModel(name.replace(/^FW-/, ''))
  return identity && { ...identity, upstream: name }
}

function resolveGemini(name: string): SellerModel | undefined {
  return /^(gemini|gemma|imagen|veo)-/.test(name) ? { id: `google/${name}`, upstream: name } : undefined
}

/** Models of other authors are called with their author's name, or with a version after an at sign. */
function resolveVertex(name: string, entry: PriceEntry): SellerModel | undefined {
  const identity = identifyModel(name.replace(/-maas$/, ''))
  if (identity?.id.startsWith('anthropic/'))
    return name.endsWith('@default') ? undefined : { ...identity, upstream: name }
  if (/-maas$/.test(name)) return identity && { ...identity, upstream: name }
  return entry.mode === 'rerank' ? undefined : resolveGemini(name)
}

const bedrockAuthors =
  'amazon|anthropic|deepseek|google|meta|minimax|mistral|moonshot|moonshotai|nvidia|openai|qwen|writer|xai|zai'
const bedrockName = new RegExp(`^(?:(global|us)\\.)?(${bedrockAuthors})\\.(.+)$`)
/** Models that are called through inference profiles only. */
const profileModels = /^(?:amazon|anthropic|meta|writer)\.|^deepseek\.r1|^mistral\.pixtral/

/** Models by names that say less than their ids. */
const bedrockModels: Record<string, string> = {
  'deepseek/r1-v1': 'deepseek/deepseek-r1',
  'deepseek/v3-v1': 'deepseek/deepseek-chat-v3.1',
  'deepseek/v3.2': 'deepseek/deepseek-v3.2',
  'meta/llama3-3-70b-instruct-v1': 'meta-llama/llama-3.3-70b-instruct',
  'meta/llama4-maverick-17b-instruct-v1': 'meta-llama/llama-4-maverick',
  'meta/llama4-scout-17b-instruct-v1': 'meta-llama/llama-4-scout',
  'mistral/devstral-2-123b': 'mistralai/devstral-2512',
  'mistral/ministral-3-14b-instruct': 'mistralai/ministral-14b-2512',
  'mistral/ministral-3-3b-instruct': 'mistralai/ministral-3b-2512',
  'mistral/ministral-3-8b-instruct': 'mistralai/ministral-8b-2512',
  'mistral/mistral-large-3-675b-instruct': 'mistralai/mistral-large-2512',
  'mistral/pixtral-large-2502-v1': 'mistralai/pixtral-large-2502',
  'nvidia/nemotron-nano-12b-v2': 'nvidia/nemotron-nano-12b-v2-vl',
  'nvidia/nemotron-nano-3-30b': 'nvidia/nemotron-3-nano-30b-a3b',
  'nvidia/nemotron-super-3-120b': 'nvidia/nemotron-3-super-120b-a12b',
  'qwen/qwen3-235b-a22b-2507-v1': 'qwen/qwen3-235b-a22b-2507',
  'qwen/qwen3-32b-v1': 'qwen/qwen3-32b',
  'qwen/qwen3-coder-30b-a3b-v1': 'qwen/qwen3-coder-30b-a3b-instruct',
  'qwen/qwen3-coder-480b-a35b-v1': 'qwen/qwen3-coder',
  'qwen/qwen3-next-80b-a3b': 'qwen/qwen3-next-80b-a3b-instruct',
  'qwen/qwen3-vl-235b-a22b': 'qwen/qwen3-vl-235b-a22b-instruct',
  'writer/palmyra-x4-v1': 'writer/palmyra-x4',
  'writer/palmyra-x5-v1': 'writer/palmyra-x5',
}

/**
 * `regional.` is replaced with the prefix of the region. Models of OpenAI and xAI are served in the Chat format only if
 * the price list says so, those of other authors in the formats of Anthropic or of Converse.
 */
function resolveBedrock(name: string, { seller, fields }: PriceEntry): SellerModel | undefined {
  const [, profile, author, model = ''] = bedrockName.exec(name) ?? []
  if (author === undefined || (profile === undefined && profileModels.test(name))) return undefined
  const isServed =
    author === 'openai' || author === 'xai'
      ? Object.keys(fields).some((field) => field.startsWith('supports_bedrock_runtime_chat_completions'))
      : author === 'anthropic' || seller === 'bedrock_converse'
  if (!isServed) return undefined
  const slug = `${author}/${model.replace(/(?:-\d)?:\d$/, '')}`
  const known = bedrockModels[slug]
  const identity = known === undefined ? identifyModel(slug) : { id: known }
  if (!identity) return undefined
  const isRegional = profile === 'us'
  return {
    ...identity,
    ...(isRegional && { variant: 'regional' }),
    upstream: isRegional ? name.replace(/^us\./, 'regional.') : name,
  }
}

/**
 * Short names are the same models; faster routes have separate prices. A price that is the same for prompts and
 * replies is that of a size class, which says neither that the model is served nor what it costs.
 */
function resolveFireworks(name: string, { mode, fields }: PriceEntry): SellerModel | undefined {
  if (mode === 'chat' && fields.input_cost_per_token === fields.output_cost_per_token) return undefined
  const slug = name.replace(/^accounts\/fireworks\/models\//, '')
  const identity = slug.includes('/') ? undefined : identifyModel(slug)
  return identity && { ...identity, upstream: `accounts/fireworks/models/${slug}` }
}

/** `openai-gpt-4o`, `alibaba-qwen3-32b`: the author is the first word. */
function resolveDigitalocean(name: string): SellerModel | undefined {
  const identity = identifyModel(name.replace(/^(openai|alibaba|anthropic)-/, ''))
  return identity && { ...identity, upstream: name }
}

/** The hosted models of ollama.com have the suffix `-cloud`; the others run on the user's machine. */
function resolveOllama(name: string): SellerModel | undefined {
  const [, family, size] = /^([^:]+):(\w+)-cloud$/.exec(name) ?? []
  const identity = family === undefined ? undefined : identifyModel(`${family}-${size}`)
  if (!identity) return undefined
  const id = { 'deepseek/deepseek-v3.1-671b': 'deepseek/deepseek-chat-v3.1' }[identity.id] ?? identity.id
  return { ...identity, id, upstream: `${family}:${size}` }
}

/** Sellers in order of preference: of two rows for the same endpoint the first counts. Makers come first. */
export const sellers: Seller[] = [
  {
    names: ['anthropic'],
    provider: 'anthropic',
    author: 'anthropic',
    only: /^claude-[a-z]+-\d+(-\d{1,2})?$/,
  },
  {
    names: ['openai'],
    provider: 'openai',
    author: 'openai',
    skip: /^(container|computer-use|daybreak|gpt-daybreak|gpt-rosalind|gpt-live|omni-|text-embedding-ada|codex-mini|gpt-3\.5-turbo-|gpt-4-\d|gpt-5-chat)|^ft:|realtime|audio-preview|search|deep-research|cyber|high-res|sora-2-pro|-1106$/,
    resolve: resolveOpenai,
  },
  {
    names: ['gemini'],
    provider: 'google-ai-studio',
    author: 'google',
    skip: /live|native|omni|-exp|learnlm|lyria|robotics|deep-research|computer-use|customtools|gemini-gemma|gemma-[23]|nano-banana-pro-preview|streaming|cyber|imagen-3/,
    resolve: resolveGemini,
  },
  {
    names: ['xai'],
    provider: 'xai',
    author: 'x-ai',
    skip: /beta|experimental|-gv2|-\d{4}(-|$)|-\d{8}|realtime|grok-code-fast$|video-1\.5-preview|^grok-4\.20-(reasoning|0309)/,
  },
  {
    names: ['mistral'],
    provider: 'mistral',
    author: 'mistralai',
    skip: /vibe-cli|mistral-code-|labs-|glm|^mistral-(tiny|small|medium)$|^ministral-3-|large-4-0|realtime|embed-\d|medium-3$|medium-3-5$|large-3$/,
  },
  {
    names: ['deepseek'],
    provider: 'deepseek',
    author: 'deepseek',
    only: /^deepseek-v4/,
  },
  { names: ['cohere', 'cohere_chat'], provider: 'cohere', author: 'cohere', skip: /nightly/ },
  {
    names: ['perplexity'],
    provider: 'perplexity',
    author: 'perplexity',
    only: /^sonar(-pro|-reasoning-pro)?$/,
  },
  { names: ['moonshot'], provider: 'moonshotai', author: 'moonshotai', skip: /-auto$/ },
  { names: ['minimax'], provider: 'minimax', author: 'minimax' },
  { names: ['zai'], provider: 'z-ai', author: 'z-ai' },
  { names: ['qwencloud'], provider: 'alibaba', author: 'qwen' },
  // The same text models; videos cost less at this seller's address, which is not ours.
  { names: ['dashscope'], provider: 'alibaba', author: 'qwen', modes: textModes },
  { names: ['inception'], provider: 'inception', author: 'inception' },
  { names: ['morph'], provider: 'morph', author: 'morph' },
  { names: ['xiaomi_mimo'], provider: 'xiaomi', author: 'xiaomi' },
  { names: ['voyage'], provider: 'voyageai', author: 'voyageai' },
  { names: ['jina_ai'], provider: 'jina', author: 'jina-ai' },
  { names: ['elevenlabs'], provider: 'elevenlabs', author: 'elevenlabs', skip: /experimental/ },
  { names: ['deepgram'], provider: 'deepgram', author: 'deepgram', skip: /^streaming\/|whisper/ },
  { names: ['groq'], provider: 'groq' },
  { names: ['cerebras'], provider: 'cerebras' },
  { names: ['together_ai'], provider: 'together', skip: /^together-ai-/ },
  {
    names: ['fireworks_ai', 'fireworks_ai-embedding-models'],
    provider: 'fireworks',
    modes: [...textModes, 'rerank'],
    skip: /^fireworks-ai-|-(fast|us)$/,
    resolve: resolveFireworks,
  },
  { names: ['baseten'], provider: 'baseten' },
  { names: ['deepinfra'], provider: 'deepinfra', skip: /^anthropic\/|^google\/gemini/ },
  { names: ['novita'], provider: 'novita' },
  { names: ['nebius'], provider: 'nebius' },
  { names: ['sambanova'], provider: 'sambanova' },
  { names: ['nvidia_nim'], provider: 'nvidia', author: 'nvidia', skip: /^ranking\// },
  { names: ['cloudflare'], provider: 'cloudflare', modes: textModes, only: /^@cf\// },
  { names: ['friendliai'], provider: 'friendli' },
  { names: ['gmi'], provider: 'gmicloud' },
  { names: ['wandb'], provider: 'wandb' },
  { names: ['gradient_ai'], provider: 'digitalocean', resolve: resolveDigitalocean },
  { names: ['crusoe'], provider: 'crusoe' },
  { names: ['ollama'], provider: 'ollama', resolve: resolveOllama },
  {
    names: [
      ...['vertex_ai', 'vertex_ai-language-models', 'vertex_ai-embedding-models', 'vertex_ai-video-models'],
      ...['vertex_ai-anthropic_models', 'vertex_ai-llama_models', 'vertex_ai-deepseek_models'],
      ...['vertex_ai-qwen_models', 'vertex_ai-openai_models', 'vertex_ai-zai_models'],
      ...['vertex_ai-minimax_models', 'vertex_ai-moonshot_models'],
    ],
    provider: 'google-vertex',
    skip: /live|native|omni|-exp|lyria|chirp|robotics|deep-research|computer-use|customtools|cyber|gemini-2\.0|virtual-try-on|ocr|llama3-|maverick-17b-16e|scout-17b-128e/,
    resolve: resolveVertex,
  },
  {
    names: ['azure'],
    provider: 'azure',
    skip: /^(us|eu|apac|us-gov|global|global-standard|speech)\/|^whisper$|live|realtime|audio-preview|deep-research|search|high-res|sora-2-pro|gpt-(35|3\.5|4-|4\.5)|o1-(mini|preview)|gpt-chat|dall-e-2/,
    resolve: resolveAzure,
  },
  {
    names: ['azure_ai'],
    provider: 'azure',
    modes: ['chat'],
    skip: /^(claude|gpt-[^o]|model[_-]router|jais|MAI|mistral-(large|small|nemo)$)/,
    resolve: resolveFoundry,
  },
  {
    names: ['bedrock', 'bedrock_converse'],
    provider: 'amazon-bedrock',
    modes: ['chat'],
    skip: /voxtral|-preview-/,
    resolve: resolveBedrock,
  },
]
