/** The parts of a provider's name for a model. */
export interface ModelIdentity {
  id: string
  quantization?: 'fp4' | 'fp8' | 'nvfp4' | 'bf16' | 'fp16' | 'int8' | 'int4'
  /** A faster or cheaper deployment of the same model at the same provider. */
  variant?: string
  /** The id with the variant in it, in case that is a model of its own. */
  fullId?: string
}

/** Authors by the spellings of providers. */
const authorNames: Record<string, string> = {
  alibaba: 'qwen',
  'amazon-nova': 'amazon',
  'deepseek-ai': 'deepseek',
  ibm: 'ibm-granite',
  meta: 'meta-llama',
  'meta-models': 'meta-llama',
  minimaxai: 'minimax',
  mistral: 'mistralai',
  moonshot: 'moonshotai',
  paddlepaddle: 'baidu',
  'stepfun-ai': 'stepfun',
  thudm: 'z-ai',
  xai: 'x-ai',
  xiaomimimo: 'xiaomi',
  zai: 'z-ai',
  'zai-org': 'z-ai',
}

/** The author of a name without one, by the family it starts with. */
const families: [RegExp, string][] = [
  [/^(gpt-|o[134](-|$)|whisper|tts-|dall-e|text-embedding-(3|ada)|sora|codex-)/, 'openai'],
  [/^claude-/, 'anthropic'],
  [/^(gemini|gemma|imagen|veo|text-embedding-00|text-multilingual-embedding)/, 'google'],
  [/^(meta-)?(code-?)?llama/, 'meta-llama'],
  [/^(qwen|qwq|qvq)/, 'qwen'],
  [/^deepseek/, 'deepseek'],
  [/^(chat)?glm/, 'z-ai'],
  [/^(kimi|moonshot)/, 'moonshotai'],
  [/^minimax/, 'minimax'],
  [/^(mistral|mixtral|ministral|codestral|devstral|magistral|pixtral|voxtral|open-mi)/, 'mistralai'],
  [/^grok/, 'x-ai'],
  [/^(cohere-)?(command|c4ai)/, 'cohere'],
  [/^phi-/, 'microsoft'],
  [/^(nvidia-)?nemotron/, 'nvidia'],
  [/^inkling/, 'thinkingmachines'],
  [/^(wan\d|happyhorse)/, 'alibaba'],
]

/** The ids of models whose names differ between providers in more than spelling. */
const renamedModels: Record<string, string> = {
  'cohere/command-a-03-2025': 'cohere/command-a',
  'cohere/c4ai-aya-expanse-32b': 'cohere/aya-expanse-32b',
  'cohere/embed-v-4-0': 'cohere/embed-v4.0',
  'deepseek/deepseek-v3': 'deepseek/deepseek-chat',
  'deepseek/deepseek-v3-0324': 'deepseek/deepseek-chat-v3-0324',
  'deepseek/deepseek-v3.1': 'deepseek/deepseek-chat-v3.1',
  'google/gemma-4-31b': 'google/gemma-4-31b-it',
  'meta-llama/llama-4-maverick-17b-128e-instruct': 'meta-llama/llama-4-maverick',
  'meta-llama/llama-4-maverick-instruct': 'meta-llama/llama-4-maverick',
  'meta-llama/llama-4-scout-17b-16e-instruct': 'meta-llama/llama-4-scout',
  'meta-llama/llama-4-scout-instruct': 'meta-llama/llama-4-scout',
  'meta-llama/llama-3.1-8b': 'meta-llama/llama-3.1-8b-instruct',
  'meta-llama/llama-3.1-70b': 'meta-llama/llama-3.1-70b-instruct',
  'meta-llama/llama-3.3-70b': 'meta-llama/llama-3.3-70b-instruct',
  'meta-llama/muse-spark-open': 'meta-llama/muse-spark-open-816b-a42b',
  'mistralai/mistral-nemo-instruct-2407': 'mistralai/mistral-nemo',
  'mistralai/open-mistral-nemo': 'mistralai/mistral-nemo',
  'mistralai/mistral-small-3.2-24b-instruct-2506': 'mistralai/mistral-small-3.2-24b-instruct',
  'mistralai/mistral-medium-2505': 'mistralai/mistral-medium-3',
  'mistralai/mistral-medium-3.5': 'mistralai/mistral-medium-3-5',
  'mistralai/mistral-large-3': 'mistralai/mistral-large-2512',
  'mistralai/voxtral-small-2507': 'mistralai/voxtral-small-24b-2507',
  'mistralai/ministral-3-14b-instruct-2512': 'mistralai/ministral-14b-2512',
  'nvidia/nemotron-120b-a12b': 'nvidia/nemotron-3-super-120b-a12b',
  'nvidia/nemotron-3-120b-a12b': 'nvidia/nemotron-3-super-120b-a12b',
  'nvidia/nemotron-3-ultra': 'nvidia/nemotron-3-ultra-550b-a55b',
  'nvidia/nemotron-3.5-super-vl': 'nvidia/nemotron-3.5-super-vl-120b-a12b',
  'nvidia/nemotron-lightning-3.5-30b-a3b': 'nvidia/nemotron-3.5-lightning-30b-a3b',
  'nvidia/nemotron-3.5-lightning': 'nvidia/nemotron-3.5-lightning-30b-a3b',
  'qwen/qwen3-coder-480b-a35b-instruct': 'qwen/qwen3-coder',
  'qwen/qwen3-coder-480b': 'qwen/qwen3-coder',
  'reflection/beam': 'reflection/beam-1.0',
  'reflection/beam-1.0-501b-a23b': 'reflection/beam-1.0',
  'sao10k/l3-8b-lunaris': 'sao10k/l3-lunaris-8b',
  'sao10k/l3-8b-lunaris-v1': 'sao10k/l3-lunaris-8b',
  'sao10k/l3-70b-euryale-v2.1': 'sao10k/l3-euryale-70b',
  'sao10k/l31-70b-euryale-v2.2': 'sao10k/l3.1-euryale-70b',
  'sao10k/l3.1-70b-euryale-v2.2': 'sao10k/l3.1-euryale-70b',
  'sao10k/l3.3-70b-euryale-v2.3': 'sao10k/l3.3-euryale-70b',
  'x-ai/grok-4-0709': 'x-ai/grok-4',
  'x-ai/grok-4-fast-reasoning': 'x-ai/grok-4-fast',
  'x-ai/grok-4-1-fast-reasoning': 'x-ai/grok-4.1-fast',
  'x-ai/grok-4.1-fast-reasoning': 'x-ai/grok-4.1-fast',
  'x-ai/grok-4-1-fast-non-reasoning': 'x-ai/grok-4.1-fast-non-reasoning',
  'x-ai/grok-4-20-reasoning': 'x-ai/grok-4.20',
  'x-ai/grok-4.20-reasoning': 'x-ai/grok-4.20',
  'x-ai/grok-4-20-non-reasoning': 'x-ai/grok-4.20-non-reasoning',
  'z-ai/glm-4-32b-0414': 'z-ai/glm-4-32b',
  'z-ai/glm-4-32b-0414-128k': 'z-ai/glm-4-32b',
}

const quantizationPattern = /-(fp8|fp4|nvfp4|bf16|fp16|int8|int4)(?=-|$)/
const variantPattern = /-(turbo|fast|ultra|basic)$/

/**
 * The id of a model from the name that a provider uses for it. `maker` is the author of a name that neither contains
 * one nor belongs to a known family.
 */
export function identifyModel(name: string, maker?: string): ModelIdentity | undefined {
  const claude = identifyClaude(name.slice(name.lastIndexOf('/') + 1))
  if (claude) return claude
  const path = name
    .replace(/^@[a-z]+\//i, '')
    .toLowerCase()
    .split('/')
  const slug = normalizeSlug(path.at(-1) ?? '')
  const owner = path.length > 2 ? undefined : findOwner(path.length === 2 ? path[0] : undefined, slug, maker)
  if (!owner || !slug) return undefined
  const { name: plain, ...deployment } = splitDeployment(slug, maker === undefined)
  const id = `${owner}/${plain}`
  if (!/^[a-z0-9][\w.-]*\/[a-z0-9][\w.-]*$/.test(id)) return undefined
  const fullId = deployment.variant && `${id}-${deployment.variant}`
  return { id: renamedModels[id] ?? id, ...deployment, ...(fullId && { fullId }) }
}

function findOwner(written: string | undefined, slug: string, maker: string | undefined): string | undefined {
  if (written === undefined) return families.find(([pattern]) => pattern.test(slug))?.[1] ?? maker
  if (written === 'bytedance' && slug.startsWith('seed-')) return 'bytedance-seed'
  return authorNames[written] ?? written
}

/** One spelling of versions: `llama3.1`, `Meta-Llama-3.1`, `llama-v3p1` and `Llama-3_1` are `llama-3.1`. */
function normalizeSlug(slug: string): string {
  return slug
    .replace(/(\d)[_p](\d)/g, '$1.$2')
    .replace(/^(meta|nvidia|cohere)-(?=llama|nemotron|command|embed|rerank)/, '')
    .replace(/^code-llama/, 'codellama')
    .replace(/^llama-?v?(\d)/, 'llama-$1')
    .replace(/^deepseek_/, 'deepseek-')
    .replace(/-hf$/, '')
}

/** Suffixes that name a deployment, not another model. Makers sell variants as models of their own. */
function splitDeployment(slug: string, isHost: boolean): { name: string } & Omit<ModelIdentity, 'id'> {
  const quantization = quantizationPattern.exec(slug)?.[1] as ModelIdentity['quantization']
  const name = slug.replace(quantizationPattern, '')
  const variant = isHost ? variantPattern.exec(name)?.[1] : undefined
  return {
    name: variant ? name.replace(variantPattern, '') : name,
    ...(quantization && { quantization }),
    ...(variant && { variant }),
  }
}

const claudePattern =
  /^(?:anthropic[.-])?claude-(opus|sonnet|haiku|fable|mythos)-(\d+)(?:[-.](\d{1,2}))?(?:[-@](?:\d{8}|default))?(?:-v\d(?::\d)?)?(-fast)?$/

/** `claude-opus-4-1-20250805` is `claude-opus-4.1`, `claude-sonnet-4-20250514` is `claude-sonnet-4`. */
function identifyClaude(name: string): ModelIdentity | undefined {
  const match = claudePattern.exec(name)
  if (!match) return undefined
  const [, family, major, minor = '0', fast = ''] = match
  return { id: `anthropic/claude-${family}-${minor === '0' ? major : `${major}.${minor}`}${fast}` }
}

/** The ids in use, to find the one of a model that is spelled differently. */
export class KnownModels {
  readonly #ids: ReadonlySet<string>
  readonly #bySpelling = new Map<string, string>()

  constructor(ids: Iterable<string>) {
    this.#ids = new Set(ids)
    for (const id of this.#ids) this.#addSpelling(id)
  }

  has(id: string): boolean {
    return this.#ids.has(id)
  }

  /** `qwen/qwen2.5-72b-instruct` is `qwen/qwen-2.5-72b-instruct`; some leave out `-instruct`. */
  resolve(id: string): string {
    if (this.#ids.has(id)) return id
    const withoutInstruct = removeSpelling(id.replace(/-(instruct|it)(?=-|$)/, ''))
    const known = this.#bySpelling.get(removeSpelling(id)) ?? this.#bySpelling.get(withoutInstruct)
    if (known === undefined) this.#addSpelling(id)
    return known ?? id
  }

  #addSpelling(id: string): void {
    const spelling = removeSpelling(id)
    if (!id.includes(':') && !this.#bySpelling.has(spelling)) this.#bySpelling.set(spelling, id)
  }
}

function removeSpelling(id: string): string {
  return id.replace(/[-_]/g, '')
}
