import type { Provider } from '../catalog/provider.ts'

export const azure: Provider = {
  slug: 'azure',
  name: 'Azure',
  baseUrl: 'https://{AZURE_RESOURCE_NAME}.openai.azure.com/openai/v1',
  keyVariable: 'AZURE_API_KEY',
  dialects: ['chat', 'responses', 'embeddings'],
  regions: ['global'],
  // Prompts may be kept for abuse monitoring unless the subscription is exempt.
  dataPolicy: { training: false, retains: true, publishes: false },
  headquarters: 'US',
  datacenters: null,
  privacyPolicyUrl: 'https://www.microsoft.com/en-us/privacy/privacystatement',
  termsOfServiceUrl: 'https://www.microsoft.com/licensing/terms',
  statusPageUrl: 'https://status.azure.com',
  implicitCaching: true,
}
