import type { z } from 'zod'
import type { declaredEndpoint } from '../../../catalog/declared-model.ts'
import type { OutputModality, WireFormatName } from '../../../formats/vocabulary.ts'
import type { Account, Accounts } from './accounts.ts'
import type { KnownModel, KnownModels } from './known-models.ts'
import type { Vendor } from './vendors.ts'

export type EndpointInput = z.input<typeof declaredEndpoint>

/** A model at a vendor, as another gateway reaches it. */
export interface Deployment {
  /** The name that clients use. */
  name: string
  vendor: Vendor
  /** What the vendor calls the model. */
  upstreamModel: string
  apiKey: string | undefined
  apiBase: string | undefined
  settings: DeploymentSettings
  /** A price that replaces the one of the catalog. */
  pricing: EndpointInput['pricing'] | undefined
  /** A price for a model that the catalog does not have. */
  otherwisePricing?: EndpointInput['pricing'] | undefined
  info: ModelInfo
}

/** Settings that an endpoint of the catalog does not have. */
export interface DeploymentSettings {
  requestsPerMinute?: number | undefined
  tokensPerMinute?: number | undefined
  /** Seconds. */
  timeout?: number | undefined
  /** Seconds until a stream begins. */
  streamTimeout?: number | undefined
  maxRetries?: number | undefined
}

/** What the other gateway knows of the model. */
export interface ModelInfo {
  task?: string | undefined
  baseModel?: string | undefined
  contextLength?: number | undefined
  maxOutputTokens?: number | undefined
  hasVision?: boolean | undefined
  hasTools?: boolean | undefined
}

/** A deployment as an endpoint. */
export interface TranslatedDeployment {
  endpoint: EndpointInput
  info: ModelInfo
  /** The outputs of its task; undefined for text. */
  outputs: OutputModality[] | undefined
  /** What the catalog knows of the model at the vendor. */
  known: KnownModel | null
  /** Whether requests reach it through the built-in provider, under the price of the catalog. */
  isBuiltIn: boolean
}

export interface DeploymentContext {
  accounts: Accounts
  models: KnownModels
  /** The author of models whose names have none. */
  author: string
}

interface TaskFields {
  outputs: OutputModality[]
  dialects: WireFormatName[]
}

/** What a task is here; an absent one generates text. */
const tasks: Readonly<Record<string, TaskFields | null>> = {
  embedding: { outputs: ['embeddings'], dialects: ['embeddings'] },
  rerank: { outputs: ['rerank'], dialects: ['rerank'] },
  image_generation: { outputs: ['image'], dialects: ['images'] },
  audio_speech: { outputs: ['speech'], dialects: ['speech'] },
  audio_transcription: { outputs: ['transcription'], dialects: ['transcriptions'] },
  moderation: { outputs: ['text'], dialects: ['moderations'] },
  realtime: null,
  video_generation: null,
  ocr: null,
  search: null,
  vector_store: null,
}

export function translateDeployment(
  { vendor, upstreamModel, apiKey, apiBase, settings, pricing, otherwisePricing, info }: Deployment,
  { accounts, models }: DeploymentContext,
): TranslatedDeployment | { problem: string } {
  const task = info.task === undefined ? undefined : tasks[info.task]
  if (task === null) return { problem: `${info.task} is not offered here` }
  const account: Account = accounts.find({ vendor, apiKey, apiBase })
  if ('problem' in account) return account
  const known = vendor.slug ? models.findUpstream(vendor.slug, info.baseModel ?? upstreamModel) : undefined
  const isBuiltIn = account.slug === vendor.slug && known?.endpoint.upstream_model === upstreamModel
  const price = pricing ?? known?.endpoint.pricing ?? otherwisePricing
  const dialects = task?.dialects ?? known?.endpoint.dialects
  return {
    endpoint: {
      provider: account.slug,
      upstream_model: upstreamModel,
      ...describeLimits(settings, info, known),
      ...(known?.endpoint.prompt_unit && { prompt_unit: known.endpoint.prompt_unit }),
      ...(price && { pricing: price }),
      ...(dialects && { dialects }),
    },
    info,
    outputs: task?.outputs,
    known: known ?? null,
    isBuiltIn: isBuiltIn && pricing === undefined && !hasSettings(settings),
  }
}

function hasSettings(settings: DeploymentSettings): boolean {
  return Object.values(settings).some((value) => value !== undefined)
}

const maxRetriesHere = 5

export function toRetry(maxRetries: number): { max_retries: number } {
  return { max_retries: Math.min(Math.floor(maxRetries), maxRetriesHere) }
}

function describeLimits(
  { requestsPerMinute, tokensPerMinute, timeout, streamTimeout, maxRetries }: DeploymentSettings,
  info: ModelInfo,
  known: KnownModel | undefined,
): Partial<EndpointInput> {
  const maxOutput = info.maxOutputTokens ?? known?.endpoint.max_completion_tokens
  const rates = {
    ...(requestsPerMinute !== undefined &&
      requestsPerMinute >= 1 && { requests_per_minute: Math.floor(requestsPerMinute) }),
    ...(tokensPerMinute !== undefined &&
      tokensPerMinute >= 1 && { tokens_per_minute: Math.floor(tokensPerMinute) }),
  }
  const times = toTimeout(timeout, streamTimeout)
  return {
    ...(maxOutput !== undefined && { max_completion_tokens: maxOutput }),
    ...(Object.keys(rates).length > 0 && { rate_limits: rates }),
    ...(times && { timeout: times }),
    ...(maxRetries !== undefined && { retry: toRetry(maxRetries) }),
  }
}

export function toTimeout(
  total: number | undefined,
  stream: number | undefined,
): EndpointInput['timeout'] | undefined {
  if (!total && !stream) return undefined
  return { ...(total && { total }), ...(stream && { first_content: stream }) }
}

/** The shortest decimal text that is the same number: 2.5e-7 is 0.00000025. */
export function toDecimal(value: number): string {
  const [mantissa = '0', exponent] = String(value).split('e-')
  if (exponent === undefined) return mantissa
  const [whole = '', fraction = ''] = mantissa.split('.')
  return `0.${whole.padStart(Number(exponent), '0')}${fraction}`
}
