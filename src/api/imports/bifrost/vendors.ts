/** Names of providers there that are neither the slug of a built-in provider nor a name that `models/vendors.ts` knows. */
export const providerNames: Readonly<Record<string, string>> = {
  bedrock_mantle: 'amazon-bedrock',
  gemini: 'google-ai-studio',
  sgl: 'openai_like',
  vertex: 'google-vertex',
  vllm: 'hosted_vllm',
}

/** Providers whose address ends with a version here, and before it there. */
export const versioned: ReadonlySet<string> = new Set(['openai'])
