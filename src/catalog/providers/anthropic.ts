import type { Provider } from '../provider.ts'
import { minCachedTokens } from './cached-tokens.ts'
import { messagesSearch } from './native-search.ts'

export const anthropic: Provider = {
  slug: 'anthropic',
  name: 'Anthropic',
  baseUrl: 'https://api.anthropic.com/v1',
  keyVariable: 'ANTHROPIC_API_KEY',
  wireFormats: ['messages'],
  minCachedTokens,
  regions: ['global'],
  dataPolicy: { training: false, retains: true, publishes: false },
  headquarters: 'US',
  datacenters: null,
  privacyPolicyUrl: 'https://www.anthropic.com/legal/privacy',
  termsOfServiceUrl: 'https://www.anthropic.com/legal/commercial-terms',
  statusPageUrl: 'https://status.anthropic.com',
  author: 'anthropic',
  vendor: 'vendor_a',
  fileFormat: 'vendor_a',
  webSearch: messagesSearch,
  connectsToMcp: 'messages',
}
