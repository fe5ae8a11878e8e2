import type { Provider } from '../provider.ts'

export const azure: Provider = {
  slug: 'azure',
  telemetryName: 'azure.ai.openai',
  name: 'Azure',
  modelList: 'none',
  baseUrl: 'https://{resource}.openai.azure.com/openai/v1',
  addresses: [
    {
      when: { resource_type: 'ai_foundry' },
      baseUrl: 'https://{resource}.services.ai.azure.com/openai/v1',
    },
  ],
  settings: {
    resource: { variables: ['AZURE_RESOURCE_NAME'] },
    resource_type: { variables: ['AZURE_RESOURCE_TYPE'] },
  },
  keyVariable: 'AZURE_API_KEY',
  keyHeader: 'api-key',
  acceptsDeployments: true,
  wireFormats: ['chat', 'responses', 'embeddings', 'speech', 'transcriptions', 'images'],
  regions: ['global'],
  // Prompts may be retained for abuse monitoring unless the subscription is exempt.
  dataPolicy: { training: false, retains: true, publishes: false },
  headquarters: 'US',
  datacenters: null,
  privacyPolicyUrl: 'https://www.microsoft.com/en-us/privacy/privacystatement',
  termsOfServiceUrl: 'https://www.microsoft.com/licensing/terms',
  statusPageUrl: 'https://status.azure.com',
  implicitCaching: true,
  capabilities: ['developer_role', 'max_completion_tokens', 'stream_usage'],
  unsupportedFields: ['input_type'],
  reasoningHistory: { field: 'none' },
}
