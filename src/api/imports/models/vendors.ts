/** How models of a prefix such as `openai/` are reached. */
export interface Vendor {
  prefix: string
  /** The built-in provider; null: a server with an address of its own. */
  slug: string | null
  /** Where a server listens unless `api_base` says otherwise. */
  defaultBase?: string
  /** From the configured address to the one that paths are appended to. */
  toBaseUrl?: (apiBase: string) => string
}

/** Prefixes that differ from the slug of the built-in provider. */
const slugs: Readonly<Record<string, string>> = {
  bedrock: 'amazon-bedrock',
  bedrock_converse: 'amazon-bedrock',
  cohere_chat: 'cohere',
  dashscope: 'alibaba',
  fireworks_ai: 'fireworks',
  friendliai: 'friendli',
  gemini: 'google-ai-studio',
  jina_ai: 'jina',
  moonshot: 'moonshotai',
  nvidia_nim: 'nvidia',
  together_ai: 'together',
  vertex_ai: 'google-vertex',
  vertex_ai_beta: 'google-vertex',
  voyage: 'voyageai',
  zai: 'z-ai',
}

/** Vendors whose models may be named without a prefix. */
export const unprefixedVendors: readonly string[] = ['openai', 'anthropic', 'cohere', 'mistral']

/** Servers in the format of OpenAI. Ollama serves it below a path of its own. */
const servers: Readonly<Record<string, Omit<Vendor, 'prefix' | 'slug'>>> = {
  aiohttp_openai: {},
  custom_openai: {},
  docker_model_runner: {},
  hosted_vllm: {},
  infinity: {},
  litellm_proxy: {},
  llamafile: { defaultBase: 'http://127.0.0.1:8080/v1' },
  lm_studio: {},
  ollama: { defaultBase: 'http://localhost:11434', toBaseUrl: (base) => appendOnce(base, '/v1') },
  ollama_chat: { defaultBase: 'http://localhost:11434', toBaseUrl: (base) => appendOnce(base, '/v1') },
  openai_like: {},
  vllm: {},
  xinference: {},
}

/** Addresses of built-in providers that differ from the ones their paths are appended to. */
const addresses: Readonly<Record<string, (apiBase: string) => string>> = {
  anthropic: (base) => appendOnce(base.replace(/\/v1\/messages$/, ''), '/v1'),
  azure: (base) => `${URL.parse(base)?.origin ?? base}/openai/v1`,
  gemini: (base) => appendOnce(base, '/v1beta'),
}

function appendOnce(base: string, path: string): string {
  return base.endsWith(path) ? base : base + path
}

/** The vendor of a prefix; undefined if it has no counterpart. */
export function findVendor(prefix: string, isBuiltIn: (slug: string) => boolean): Vendor | undefined {
  const server = servers[prefix]
  if (server) return { prefix, slug: null, ...server }
  const slug = slugs[prefix] ?? prefix
  if (!isBuiltIn(slug)) return undefined
  const toBaseUrl = addresses[prefix]
  return { prefix, slug, ...(toBaseUrl && { toBaseUrl }) }
}
