import type { Provider } from '../provider.ts'
import { geminiSearch } from './native-search.ts'

export const google: Provider = {
  slug: 'google-ai-studio',
  telemetryName: 'gcp.gemini',
  name: 'Google AI Studio',
  billsAbandoned: true,
  baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
  keyVariable: 'GEMINI_API_KEY',
  wireFormats: ['gemini', 'gemini-embeddings', 'gemini-speech', 'gemini-images', 'imagen', 'gemini-video'],
  regions: ['global'],
  // The unpaid tier trains on prompts, and a key does not reveal its tier.
  dataPolicy: { training: true, retains: true, publishes: false },
  headquarters: 'US',
  datacenters: null,
  privacyPolicyUrl: 'https://policies.google.com/privacy',
  termsOfServiceUrl: 'https://ai.google.dev/gemini-api/terms',
  statusPageUrl: 'https://aistudio.google.com/status',
  author: 'google',
  vendor: 'vendor_c',
  implicitCaching: true,
  webSearch: geminiSearch,
}
