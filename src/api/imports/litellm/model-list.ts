import { z } from 'zod'
import { providerOverride } from '../../../catalog/override-schema.ts'
import { flattenIssues } from '../../../platform/validation/validation-issues.ts'
import type { SkippedItem } from '../import-plan.ts'
import {
  type Deployment,
  type DeploymentContext,
  type EndpointInput,
  toDecimal,
} from '../models/deployment.ts'
import { findVendor, unprefixedVendors, type Vendor } from '../models/vendors.ts'
import { type ConfigDeployment, deploymentSchema } from './config-file.ts'
import { resolveVariables, type Variables } from './variables.ts'

export interface ModelListContext extends DeploymentContext {
  variables: Variables
  credentials: ReadonlyMap<string, { api_key?: string | undefined; api_base?: string | undefined }>
}

const namedEntry = z.object({ model_name: z.string() })

export interface ModelList {
  deployments: Deployment[]
  /** Entries whose names are patterns. */
  patterns: ConfigDeployment[]
  skipped: SkippedItem[]
}

/** Reads the entries of `model_list`. */
export function readModelList(list: readonly unknown[], context: ModelListContext): ModelList {
  const [deployments, patterns, skipped]: [Deployment[], ConfigDeployment[], SkippedItem[]] = [[], [], []]
  for (const [index, entry] of list.entries()) {
    const name = namedEntry.safeParse(entry).data?.model_name ?? `model_list.${index}`
    const skip = (reason: string) => skipped.push({ kind: 'deployment', name, reason })
    const read = readDeployment(entry, context)
    if ('problem' in read) skip(read.problem)
    else if (name.includes('*')) patterns.push(read)
    else {
      const target = resolveTarget(read.litellm_params, context)
      if ('problem' in target) skip(target.problem)
      else {
        deployments.push(toDeployment(name, read, target, context))
        skipped.push(...listDropped(name, read))
      }
    }
  }
  return { deployments, patterns, skipped }
}

/** After the deployments, whose accounts come first. Returns those that become no wildcard of a provider. */
export function addWildcards(
  patterns: readonly ConfigDeployment[],
  context: ModelListContext,
): SkippedItem[] {
  return patterns.flatMap((pattern) => {
    const reason = translateWildcard(pattern, context)
    return reason === null ? [] : [{ kind: 'deployment', name: pattern.model_name, reason }]
  })
}

/** No message quotes a value that may be a secret. */
function readDeployment(
  value: unknown,
  { variables }: ModelListContext,
): ConfigDeployment | { problem: string } {
  const { value: resolved, missing } = resolveVariables(value, variables)
  if (missing.length > 0) return { problem: `not set: ${missing.join(', ')}; give --env` }
  const result = deploymentSchema.safeParse(resolved)
  if (result.success) return result.data
  const [issue] = flattenIssues(result.error)
  return { problem: `${issue?.path.join('.') ?? 'the entry'}: ${issue?.message ?? 'is not valid'}` }
}

interface Target {
  vendor: Vendor
  upstream: string
}

function toDeployment(
  name: string,
  { litellm_params: params, model_info: info }: ConfigDeployment,
  { vendor, upstream }: Target,
  context: ModelListContext,
): Deployment {
  return {
    name,
    vendor,
    upstreamModel: upstream,
    ...findCredential(params, context),
    settings: {
      requestsPerMinute: params.rpm,
      tokensPerMinute: params.tpm,
      timeout: params.timeout,
      streamTimeout: params.stream_timeout,
      maxRetries: params.max_retries,
    },
    pricing: toPricing(params) ?? toPricing(info ?? {}),
    info: {
      task: info?.mode,
      baseModel: info?.base_model?.slice(info.base_model.indexOf('/') + 1),
      contextLength: info?.max_input_tokens ?? info?.max_tokens,
      maxOutputTokens: info?.max_output_tokens,
      hasVision: info?.supports_vision,
      hasTools: info?.supports_function_calling,
    },
  }
}

type Params = ConfigDeployment['litellm_params']

function findCredential(params: Params, { credentials }: ModelListContext) {
  const stored = credentials.get(params.litellm_credential_name ?? '')
  return {
    apiKey: params.api_key ?? stored?.api_key,
    apiBase: params.api_base ?? params.base_url ?? stored?.api_base,
  }
}

/** Names such as `openai/*` become a pattern of the provider. Returns why one does not. */
function translateWildcard(
  { model_name, litellm_params: params }: ConfigDeployment,
  context: ModelListContext,
): string | null {
  const target = params.model === '*' ? null : resolveTarget(params, context)
  if (target === null) return 'one pattern for all providers; name those of each, such as openai/*'
  if ('problem' in target) return target.problem
  const isPattern = providerOverride.shape.wildcards.safeParse([model_name]).success
  // The provider gets what follows the last slash of the pattern.
  if (!isPattern || model_name.slice(model_name.lastIndexOf('/') + 1) !== target.upstream)
    return 'the name and the model of the pattern differ; set `wildcards` of the provider: docs/catalog.md'
  const account = context.accounts.find({ vendor: target.vendor, ...findCredential(params, context) })
  if ('problem' in account) return account.problem
  context.accounts.addWildcard(account.slug, model_name)
  return null
}

function resolveTarget(
  { model, custom_llm_provider }: Params,
  context: ModelListContext,
): Target | { problem: string } {
  const slash = model.indexOf('/')
  const prefix = custom_llm_provider ?? (slash < 0 ? guessVendor(model, context) : model.slice(0, slash))
  if (prefix === undefined)
    return { problem: `litellm_params.model: "${model}" has no provider as its prefix` }
  const vendor = findVendor(prefix, context.accounts.isBuiltIn)
  if (!vendor) return { problem: `there is no provider for the prefix "${prefix}/"` }
  const upstream = model.startsWith(`${prefix}/`) ? model.slice(prefix.length + 1) : model
  return { vendor, upstream: upstream.replace(/^(converse|invoke)\//, '') }
}

/** Names without a prefix are those of vendors whose models LiteLLM knows by name. */
function guessVendor(model: string, { models }: ModelListContext): string | undefined {
  return unprefixedVendors.find((slug) => models.findUpstream(slug, model))
}

const droppedReasons = {
  weight: 'weights divide requests among models, as `targets` of a model alias: docs/model-aliases.md',
  order: 'set `provider.order` in requests or presets: docs/routing.md',
} as const

function listDropped(name: string, { litellm_params: params }: ConfigDeployment): SkippedItem[] {
  return (['weight', 'order'] as const)
    .filter((field) => params[field] !== undefined)
    .map((field) => ({ kind: 'setting', name: `${name} ${field}`, reason: droppedReasons[field] }))
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
function toPricing(prices: Partial<Prices>): EndpointInput['pricing'] | undefined {
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
