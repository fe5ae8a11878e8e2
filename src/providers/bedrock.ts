import type { Provider, Wire } from '../catalog/provider.ts'
import type { ProviderSettings } from '../catalog/provider-settings.ts'
import type { DataRegion } from '../catalog/vocabulary.ts'
import { bedrockFrames } from './bedrock-frames.ts'
import { firstPartyFields, knownBetas } from './betas.ts'

/** InvokeModel with the body of the Messages format: what that says in the model, the path and headers is elsewhere. */
const invokeModel: Wire = {
  shape: ({ model, stream, headers, body }) => {
    const { model: _inPath, stream: _inVerb, service_tier: _unknownThere, ...rest } = body
    const betas = knownBetas(headers)
    return {
      path: `/model/${encodeURIComponent(model)}/${stream ? 'invoke-with-response-stream' : 'invoke'}`,
      headers: {},
      body: {
        anthropic_version: 'bedrock-2023-05-31',
        ...(betas.length > 0 && { anthropic_beta: betas }),
        ...rest,
      },
    }
  },
  drops: firstPartyFields,
  frames: bedrockFrames,
}

const openaiPath: Wire = {
  shape: ({ path, headers, body }) => ({ path: `/openai/v1${path}`, headers, body }),
}

/** Where an inference profile may take a request: the first that the region begins with. */
const geographies: [string, string][] = [
  ['us-gov-', 'us-gov.'],
  ['us-', 'us.'],
  ['ca-', 'us.'],
  ['eu-', 'eu.'],
  ['ap-northeast-1', 'jp.'],
  ['ap-northeast-3', 'jp.'],
  ['ap-southeast-2', 'au.'],
  ['ap-southeast-4', 'au.'],
  ['ap-', 'apac.'],
]
const profile = /^(?:global|us-gov|us|eu|apac|jp|au|regional)\./

/** `regional` stands for the profile of the region, which a request that must not leave its own takes anyway. */
function modelName(model: string, { region = '' }: ProviderSettings, asked: DataRegion): string {
  const isRegional = asked !== 'global' || model.startsWith('regional.')
  if (!isRegional || !profile.test(model)) return model
  const own = geographies.find(([start]) => region.startsWith(start))?.[1] ?? ''
  return model.replace(profile, own)
}

export const bedrock: Provider = {
  slug: 'amazon-bedrock',
  name: 'Amazon Bedrock',
  billsAbandoned: true,
  baseUrl: 'https://bedrock-runtime.{region}.amazonaws.com',
  settings: {
    region: { variables: ['AWS_REGION', 'AWS_DEFAULT_REGION'], otherwise: 'us-east-1' },
  },
  // Not AWS_ACCESS_KEY_ID: many machines have that one for other reasons.
  keyVariable: 'AWS_BEARER_TOKEN_BEDROCK',
  keyHeader: 'authorization',
  credentialForm: 'accessKey',
  awsService: 'bedrock',
  dialects: ['messages', 'chat'],
  wire: { messages: invokeModel, chat: openaiPath },
  modelName,
  residence: {
    europe: { inside: /^eu-/, instead: 'eu-west-1' },
    us: { inside: /^us-(?!gov-)/, instead: 'us-east-1' },
  },
  refuses: ['service_tier'],
  reasoningHistory: { field: 'none' },
  regions: ['global'],
  dataPolicy: { training: false, retains: false, publishes: false },
  headquarters: 'US',
  datacenters: null,
  privacyPolicyUrl: 'https://aws.amazon.com/privacy',
  termsOfServiceUrl: 'https://aws.amazon.com/service-terms',
  statusPageUrl: 'https://health.aws.amazon.com/health/status',
  author: 'amazon',
}
