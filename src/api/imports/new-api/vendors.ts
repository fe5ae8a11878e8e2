/** How channels of a type are reached. */
export interface ChannelVendor {
  /** The built-in provider, or a kind of server that `models/vendors.ts` knows. */
  vendor: string
  /** What follows the address of a channel; those of one vendor that `models/vendors.ts` completes have none. */
  path?: string
  /** Where channels without an address of their own are sent. */
  base?: string
}

/** The same in new-api and one-api. */
export const sharedChannels: Readonly<Record<number, ChannelVendor>> = {
  1: { vendor: 'openai', path: '/v1', base: 'https://api.openai.com' },
  3: { vendor: 'azure' },
  8: { vendor: 'openai_like', path: '/v1' },
  14: { vendor: 'anthropic', base: 'https://api.anthropic.com' },
  17: { vendor: 'alibaba', path: '/compatible-mode/v1', base: 'https://dashscope.aliyuncs.com' },
  20: { vendor: 'openrouter', path: '/v1', base: 'https://openrouter.ai/api' },
  24: { vendor: 'google-ai-studio', path: '/v1beta', base: 'https://generativelanguage.googleapis.com' },
  25: { vendor: 'moonshotai', path: '/v1', base: 'https://api.moonshot.cn' },
}

export const newApiChannels: Readonly<Record<number, ChannelVendor>> = {
  ...sharedChannels,
  4: { vendor: 'ollama', base: 'http://localhost:11434' },
  26: { vendor: 'z-ai', path: '/api/paas/v4', base: 'https://open.bigmodel.cn' },
  27: { vendor: 'perplexity', base: 'https://api.perplexity.ai' },
  33: { vendor: 'amazon-bedrock' },
  34: { vendor: 'cohere', base: 'https://api.cohere.ai' },
  35: { vendor: 'minimax', path: '/v1', base: 'https://api.minimax.chat' },
  38: { vendor: 'jina', path: '/v1', base: 'https://api.jina.ai' },
  40: { vendor: 'siliconflow', path: '/v1', base: 'https://api.siliconflow.cn' },
  41: { vendor: 'google-vertex' },
  42: { vendor: 'mistral', path: '/v1', base: 'https://api.mistral.ai' },
  43: { vendor: 'deepseek', path: '/v1', base: 'https://api.deepseek.com' },
  47: { vendor: 'xinference', path: '/v1' },
  48: { vendor: 'xai', path: '/v1', base: 'https://api.x.ai' },
  60: { vendor: 'openai_like', path: '/v1' },
}

export const oneApiChannels: Readonly<Record<number, ChannelVendor>> = {
  ...sharedChannels,
  27: { vendor: 'minimax', path: '/v1', base: 'https://api.minimax.chat' },
  28: { vendor: 'mistral', path: '/v1', base: 'https://api.mistral.ai' },
  29: { vendor: 'groq', path: '/v1', base: 'https://api.groq.com/openai' },
  30: { vendor: 'ollama', base: 'http://localhost:11434' },
  32: { vendor: 'stepfun', path: '/v1', base: 'https://api.stepfun.com' },
  33: { vendor: 'amazon-bedrock' },
  35: { vendor: 'cohere', base: 'https://api.cohere.ai' },
  36: { vendor: 'deepseek', path: '/v1', base: 'https://api.deepseek.com' },
  39: { vendor: 'together', path: '/v1', base: 'https://api.together.xyz' },
  41: { vendor: 'novita', path: '/v1', base: 'https://api.novita.ai/v3/openai' },
  42: { vendor: 'google-vertex' },
  44: { vendor: 'siliconflow', path: '/v1', base: 'https://api.siliconflow.cn' },
  45: { vendor: 'xai', path: '/v1', base: 'https://api.x.ai' },
  49: { vendor: 'alibaba', path: '/compatible-mode/v1', base: 'https://dashscope.aliyuncs.com' },
  50: { vendor: 'openai_like', path: '/v1' },
}
