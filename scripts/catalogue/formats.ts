import type { Provider } from '../../src/catalogue/provider.ts'
import type { DialectName } from '../../src/catalogue/vocabulary.ts'

/** The format of requests for each output besides text. */
const formatByOutput: Record<string, string> = {
  embeddings: 'embeddings',
  rerank: 'rerank',
  image: 'images',
  speech: 'speech',
  transcription: 'transcriptions',
  video: 'video',
}

const googleFormats: Record<string, string> = {
  embeddings: 'gemini-embeddings',
  image: 'gemini-images',
  speech: 'gemini-speech',
  transcription: 'gemini-transcriptions',
  video: 'gemini-video',
}

/** Formats of vendors, which are preferred to the common ones. */
const vendorFormats: Record<string, Record<string, string>> = {
  'google-ai-studio': googleFormats,
  'google-vertex': googleFormats,
  cohere: { embeddings: 'cohere-embeddings' },
  voyageai: { embeddings: 'voyage-embeddings' },
}

/** Cloud providers serve the models of each author in one format only. */
const cloudFormats: Record<string, [RegExp, DialectName][]> = {
  'google-vertex': [
    [/^google\//, 'gemini'],
    [/^anthropic\//, 'messages'],
    [/./, 'chat'],
  ],
  'amazon-bedrock': [
    [/^anthropic\//, 'messages'],
    [/./, 'chat'],
  ],
}

export interface FormatChoice {
  /** Undefined: the provider's. */
  dialects?: DialectName[]
  /** A format that the provider does not have, so that the endpoint cannot be used yet. */
  missing?: string
}

/** The formats of an endpoint, of those that its provider has. */
export function chooseFormats(
  provider: Provider,
  id: string,
  output: readonly string[],
  isResponsesOnly: boolean,
): FormatChoice {
  if (output.includes('text')) {
    const cloud = cloudFormats[provider.slug]?.find(([pattern]) => pattern.test(id))?.[1]
    if (cloud) return { dialects: [cloud] }
    return isResponsesOnly && provider.dialects.includes('responses') ? { dialects: ['responses'] } : {}
  }
  const wanted = listWantedFormats(provider.slug, id, output[0] ?? '')
  const dialect = provider.dialects.find((name) => wanted.includes(name))
  return dialect ? { dialects: [dialect] } : { missing: `${wanted[0]} at ${provider.slug}` }
}

function listWantedFormats(slug: string, id: string, output: string): string[] {
  const vendor = id.startsWith('google/imagen') ? 'imagen' : vendorFormats[slug]?.[output]
  const common = formatByOutput[output]
  return [vendor, common].flatMap((name) => name ?? [])
}
