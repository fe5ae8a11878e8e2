import type { z } from 'zod'
import type { declaredEndpoint } from '../../../catalog/declared-model.ts'
import { providerOverride } from '../../../catalog/override-schema.ts'
import type { OutputModality, WireFormatName } from '../../../formats/vocabulary.ts'
import { flattenIssues } from '../../../platform/validation/validation-issues.ts'
import type { Account, Accounts } from './accounts.ts'
import { type Deployment, deploymentSchema, type ModelInfo } from './config-file.ts'
import type { KnownModel, KnownModels } from './known-models.ts'
import { resolveVariables } from './variables.ts'
import { findVendor, unprefixedVendors, type Vendor } from './vendors.ts'

type EndpointInput = z.input<typeof declaredEndpoint>

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
  /** Fields that have no counterpart. */
  dropped: string[]
}

export interface DeploymentContext {
  variables: Readonly<Record<string, string | undefined>>
  credentials: ReadonlyMap<string, { api_key?: string | undefined; api_base?: string | undefined }>
  accounts: Accounts
  models: KnownModels
}

interface TaskFields {
  outputs: OutputModality[]
  dialects: WireFormatName[]
}

/** What `mode` of `model_info` means; absent modes generate text. */
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

/** Reads a deployment of `model_list`. No message quotes a value that may be a secret. */
export function readDeployment(
  value: unknown,
  { variables }: DeploymentContext,
): { deployment: Deployment } | { problem: string } {
  const { value: resolved, missing } = resolveVariables(value, variables)
  if (missing.length > 0) return { problem: `not set: ${missing.join(', ')}; give --env` }
  const result = deploymentSchema.safeParse(resolved)
  if (result.success) return { deployment: result.data }
  const [issue] = flattenIssues(result.error)
  return { problem: `${issue?.path.join('.') ?? 'the entry'}: ${issue?.message ?? 'is not valid'}` }
}

export function translateDeployment(
  { litellm_params: params, model_info }: Deployment,
  context: DeploymentContext,
): TranslatedDeployment | { problem: string } {
  const info: ModelInfo = model_info ?? {}
  const task = info.mode === undefined ? undefined : tasks[info.mode]
  if (task === null) return { problem: `${info.mode} is not offered here` }
  const { models } = context
  const target = resolveTarget(params, context)
  if ('problem' in target) return target
  const { vendor, upstream } = target
  const account = findAccount(params, vendor, context)
  if ('problem' in account) return account
  const base = info.base_model?.slice(info.base_model.indexOf('/') + 1)
  const known = vendor.slug ? models.findUpstream(vendor.slug, base ?? upstream) : undefined
  const isBuiltIn = account.slug === vendor.slug && known?.endpoint.upstream_model === upstream
  const ownPricing = toPricing(params) ?? toPricing(info)
  return {
    endpoint: {
      provider: account.slug,
      upstream_model: upstream,
      ...describeLimits(params, info, known),
      ...(known?.endpoint.prompt_unit && { prompt_unit: known.endpoint.prompt_unit }),
      ...((ownPricing ?? known?.endpoint.pricing) && { pricing: ownPricing ?? known?.endpoint.pricing }),
      ...((task?.dialects ?? known?.endpoint.dialects) && {
        dialects: task?.dialects ?? known?.endpoint.dialects,
      }),
    },
    info,
    outputs: task?.outputs,
    known: known ?? null,
    isBuiltIn: isBuiltIn && ownPricing === undefined && !hasPolicy(params),
    dropped: (['weight', 'order'] as const).filter((name) => params[name] !== undefined),
  }
}

/** Names such as `openai/*` become a pattern of the provider. Returns why one does not. */
export function translateWildcard(
  { model_name, litellm_params: params }: Deployment,
  context: DeploymentContext,
): string | null {
  const target = params.model === '*' ? null : resolveTarget(params, context)
  if (target === null) return 'one pattern for all providers; name those of each, such as openai/*'
  if ('problem' in target) return target.problem
  const isPattern = providerOverride.shape.wildcards.safeParse([model_name]).success
  // The provider gets what follows the last slash of the pattern.
  if (!isPattern || model_name.slice(model_name.lastIndexOf('/') + 1) !== target.upstream)
    return 'the name and the model of the pattern differ; set `wildcards` of the provider: docs/catalog.md'
  const account = findAccount(params, target.vendor, context)
  if ('problem' in account) return account.problem
  context.accounts.addWildcard(account.slug, model_name)
  return null
}

function findAccount(params: Params, vendor: Vendor, { accounts, credentials }: DeploymentContext): Account {
  const stored = credentials.get(params.litellm_credential_name ?? '')
  return accounts.find({
    vendor,
    apiKey: params.api_key ?? stored?.api_key,
    apiBase: params.api_base ?? params.base_url ?? stored?.api_base,
  })
}

function resolveTarget(
  { model, custom_llm_provider }: Deployment['litellm_params'],
  { accounts, models }: DeploymentContext,
): { vendor: Vendor; upstream: string } | { problem: string } {
  const slash = model.indexOf('/')
  const prefix = custom_llm_provider ?? (slash < 0 ? guessVendor(model, models) : model.slice(0, slash))
  if (prefix === undefined)
    return { problem: `litellm_params.model: "${model}" has no provider as its prefix` }
  const vendor = findVendor(prefix, accounts.isBuiltIn)
  if (!vendor) return { problem: `there is no provider for the prefix "${prefix}/"` }
  const upstream = model.startsWith(`${prefix}/`) ? model.slice(prefix.length + 1) : model
  return { vendor, upstream: upstream.replace(/^(converse|invoke)\//, '') }
}

/** Names without a prefix are those of vendors whose models LiteLLM knows by name. */
function guessVendor(model: string, models: KnownModels): string | undefined {
  return unprefixedVendors.find((slug) => models.findUpstream(slug, model))
}

type Params = Deployment['litellm_params']

/** Settings that an endpoint of the catalog does not have. */
function hasPolicy({ rpm, tpm, timeout, stream_timeout, max_retries }: Params): boolean {
  return [rpm, tpm, timeout, stream_timeout, max_retries].some((value) => value !== undefined)
}

const maxRetries = 5

function describeLimits(
  { rpm, tpm, timeout, stream_timeout, max_retries }: Params,
  info: ModelInfo,
  known: KnownModel | undefined,
): Partial<EndpointInput> {
  const maxOutput = info.max_output_tokens ?? known?.endpoint.max_completion_tokens
  const rates = {
    ...(rpm !== undefined && rpm >= 1 && { requests_per_minute: Math.floor(rpm) }),
    ...(tpm !== undefined && tpm >= 1 && { tokens_per_minute: Math.floor(tpm) }),
  }
  const times = toTimeout(timeout, stream_timeout)
  return {
    ...(maxOutput !== undefined && { max_completion_tokens: maxOutput }),
    ...(Object.keys(rates).length > 0 && { rate_limits: rates }),
    ...(times && { timeout: times }),
    ...(max_retries !== undefined && {
      retry: { max_retries: Math.min(Math.floor(max_retries), maxRetries) },
    }),
  }
}

/** The time until a stream begins is `stream_timeout`. */
export function toTimeout(
  total: number | undefined,
  stream: number | undefined,
): EndpointInput['timeout'] | undefined {
  if (!total && !stream) return undefined
  return { ...(total && { total }), ...(stream && { first_content: stream }) }
}

type Prices = Pick<
  Params,
  | 'input_cost_per_token'
  | 'output_cost_per_token'
  | 'cache_read_input_token_cost'
  | 'cache_creation_input_token_cost'
  | 'output_cost_per_reasoning_token'
>

/** Undefined if no price per token is set: that of the catalog applies. */
function toPricing(prices: Partial<Prices>): EndpointInput['pricing'] {
  const { input_cost_per_token: prompt, output_cost_per_token: completion } = prices
  if (prompt === undefined && completion === undefined) return undefined
  const optional = {
    input_cache_read: prices.cache_read_input_token_cost,
    input_cache_write: prices.cache_creation_input_token_cost,
    internal_reasoning: prices.output_cost_per_reasoning_token,
  }
  return {
    prompt: toDecimal(prompt ?? 0),
    completion: toDecimal(completion ?? 0),
    ...Object.fromEntries(
      Object.entries(optional).flatMap(([name, price]) =>
        price === undefined ? [] : [[name, toDecimal(price)] as const],
      ),
    ),
  }
}

/** The shortest decimal text that is the same number: 2.5e-7 is 0.00000025. */
export function toDecimal(value: number): string {
  const [mantissa = '0', exponent] = String(value).split('e-')
  if (exponent === undefined) return mantissa
  const [whole = '', fraction = ''] = mantissa.split('.')
  return `0.${whole.padStart(Number(exponent), '0')}${fraction}`
}
