import type { Schemas } from '../../api/client.ts'

export type WireFormat = NonNullable<Schemas['ProviderEdit']['dialects']>[number]

/** Formats of a provider that is not in the catalog. */
export const providerFormats: { value: WireFormat; label: string }[] = [
  { value: 'chat', label: 'Chat completions (OpenAI)' },
  { value: 'responses', label: 'Responses (OpenAI)' },
  { value: 'messages', label: 'Messages (Anthropic)' },
  { value: 'gemini', label: 'Gemini (Google)' },
  { value: 'embeddings', label: 'Embeddings' },
]
