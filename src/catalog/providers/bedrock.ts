import type { DataRegion, WireFormatName } from '../../formats/vocabulary.ts'
import type { Provider, WireAdapter } from '../provider.ts'
import type { ProviderSettings } from '../provider-settings.ts'
import { createBedrockFrameReader, createConverseFrameReader } from './bedrock-frames.ts'
import { firstPartyFields, listKnownBetas } from './betas.ts'
import { minCachedTokens } from './cached-tokens.ts'

/** InvokeModel with a Messages body: the model and streaming are in the path, the version and betas in the body. */
const invokeModel: WireAdapter = {
  adaptRequest: ({ model, stream, headers, body }) => {
    const { model: _inPath, stream: _inVerb, service_tier: _unsupported, ...rest } = body
    const betas = listKnownBetas(headers)
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
  droppedFields: firstPartyFields,
  createFrameReader: createBedrockFrameReader,
}

const openaiPath: WireAdapter = {
  adaptRequest: ({ path, headers, body }) => ({ path: `/openai/v1${path}`, headers, body }),
}

const conversePath: WireAdapter = {
  adaptRequest: ({ path, headers, body }) => ({ path, headers, body }),
  createFrameReader: createConverseFrameReader,
}

/** Each author's models are called with the API that has most of their features. */
function listDialects(model: string): WireFormatName[] {
  if (/(?:^|[./])anthropic\./.test(model)) return ['messages']
  return /(?:^|[./])(?:openai|xai)\./.test(model) ? ['chat'] : ['converse']
}

/** The inference profile prefix of each region: the first match counts. */
const profilePrefixes: [string, string][] = [
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
const profilePattern = /^(?:global|us-gov|us|eu|apac|jp|au|regional)\./

/** `regional.` means the profile of the region, which requests with a data region always use. */
function resolveModelName(
  model: string,
  { region = '' }: ProviderSettings,
  requestedRegion: DataRegion,
): string {
  const isRegional = requestedRegion !== 'global' || model.startsWith('regional.')
  if (!isRegional || !profilePattern.test(model)) return model
  const prefix = profilePrefixes.find(([start]) => region.startsWith(start))?.[1] ?? ''
  return model.replace(profilePattern, prefix)
}

export const bedrock: Provider = {
  slug: 'amazon-bedrock',
  telemetryName: 'aws.bedrock',
  name: 'Amazon Bedrock',
  billsAbandoned: true,
  baseUrl: 'https://bedrock-runtime.{region}.amazonaws.com',
  settings: {
    region: { variables: ['AWS_REGION', 'AWS_DEFAULT_REGION'], fallback: 'us-east-1' },
  },
  // Not AWS_ACCESS_KEY_ID, which many machines have set for other purposes.
  keyVariable: 'AWS_BEARER_TOKEN_BEDROCK',
  keyHeader: 'authorization',
  auth: { scheme: 'access-key', service: 'bedrock' },
  wireFormats: ['messages', 'chat', 'converse'],
  minCachedTokens,
  wire: { messages: invokeModel, chat: openaiPath, converse: conversePath },
  resolveModelName,
  modelList: 'bedrock',
  listDialects,
  dataResidency: {
    europe: { regionPattern: /^eu-/, fallbackRegion: 'eu-west-1' },
    us: { regionPattern: /^us-(?!gov-)/, fallbackRegion: 'us-east-1' },
  },
  unsupportedFields: ['service_tier'],
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
