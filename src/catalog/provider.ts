/** The wire formats an upstream may speak. */
export const dialectNames = [
  'chat',
  'messages',
  'responses',
  'gemini',
  'embeddings',
  'rerank',
  'images',
  'speech',
  'transcriptions',
  'video',
] as const
export type DialectName = (typeof dialectNames)[number]

export interface DataPolicy {
  /** May train on what it is sent. */
  training: boolean
  /** Keeps prompts after the answer. */
  retains: boolean
  /** May publish prompts. */
  publishes: boolean
}

/** Where an upstream is and what it promises. A provider is data: no code runs here. */
export interface Provider {
  slug: string
  name: string
  baseUrl: string
  /** The environment variable its users already have; set, it enables the provider. */
  keyVariable: string | null
  dialects: DialectName[]
  regions: string[]
  dataPolicy: DataPolicy
  /** ISO 3166-1 alpha-2. */
  headquarters: string | null
  datacenters: string[] | null
  privacyPolicyUrl: string | null
  termsOfServiceUrl: string | null
  statusPageUrl: string | null
}
