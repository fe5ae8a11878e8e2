import { z } from 'zod'
import { parseRow } from '../rows.ts'
import { SourceError, type Tables } from '../source.ts'

const text = z.string().nullish().catch(null)
const amount = z.coerce.number().nullish().catch(null)
const flag = z
  .union([z.boolean(), z.number().transform((value) => value !== 0)])
  .nullish()
  .catch(null)
const jsonText = z.string().transform((value, context): unknown => {
  try {
    return JSON.parse(value)
  } catch {
    context.addIssue({ code: 'custom', message: 'is not JSON' })
    return z.NEVER
  }
})
/** A list, in a table as JSON. */
const names = z
  .union([z.array(z.string()), jsonText.pipe(z.array(z.string()))])
  .nullish()
  .catch(null)

const network = z.object({
  base_url: text,
  default_request_timeout_in_seconds: amount,
  max_retries: amount,
})

const key = z.object({
  name: text,
  value: text,
  models: names,
  weight: amount,
  enabled: flag,
  azure_key_config: z.object({ endpoint: text }).nullish().catch(null),
  ollama_key_config: z.object({ url: text }).nullish().catch(null),
  vllm_key_config: z.object({ url: text }).nullish().catch(null),
  sgl_key_config: z.object({ url: text }).nullish().catch(null),
  encryption_status: text,
})

const provider = z.object({
  keys: z.array(key).nullish().catch(null),
  network_config: network.nullish().catch(null),
  custom_provider_config: z.object({ base_provider_type: text }).nullish().catch(null),
})

const budget = z.object({
  id: z.string(),
  max_limit: amount,
  reset_duration: text,
  current_usage: amount,
  team_id: text,
  virtual_key_id: text,
  customer_id: text,
})

const rateLimit = z.object({
  id: z.string(),
  token_max_limit: amount,
  token_reset_duration: text,
  request_max_limit: amount,
  request_reset_duration: text,
})

const owner = { id: z.string(), name: z.string(), rate_limit_id: text, budget_id: text }
const customer = z.object(owner)
const team = z.object({ ...owner, customer_id: text })

const providerConfig = z.object({ provider: z.string(), allowed_models: names, virtual_key_id: text })

const virtualKey = z.object({
  ...owner,
  value: text,
  value_hash: text,
  is_active: flag,
  expires_at: text,
  team_id: text,
  customer_id: text,
  provider_configs: z.array(providerConfig).nullish().catch(null),
  encryption_status: text,
})

const routingTarget = z.object({ rule_id: text, provider: text, model: text, weight: amount })
const routingRule = z.object({
  id: text,
  name: z.string(),
  enabled: flag,
  cel_expression: z.string().catch(''),
  targets: z.array(routingTarget).nullish().catch(null),
  scope: text,
})

const modelConfig = z.object({
  model_name: z.string(),
  provider: text,
  budget_id: text,
  rate_limit_id: text,
})

const list = <S extends z.ZodType>(schema: S) =>
  z
    .array(schema)
    .nullish()
    .transform((value) => value ?? [])

const governance = z.object({
  budgets: list(budget),
  rate_limits: list(rateLimit),
  customers: list(customer),
  teams: list(team),
  virtual_keys: list(virtualKey),
  routing_rules: list(routingRule),
  model_configs: list(modelConfig),
})

/** What both forms of the configuration have: config.json, and the tables of the store. */
const configuration = z.object({
  providers: z
    .record(z.string(), provider)
    .nullish()
    .transform((value) => value ?? {}),
  governance: governance.nullish().transform((value) => value ?? governance.parse({})),
})

export type Configuration = z.output<typeof configuration>
export type Provider = z.output<typeof provider>
export type ProviderKey = z.output<typeof key>
export type Budget = z.output<typeof budget>
export type VirtualKey = z.output<typeof virtualKey>
export type RoutingRule = z.output<typeof routingRule>

export const tableOrders = {
  config_providers: 'name',
  config_keys: 'id',
  governance_budgets: 'id',
  governance_rate_limits: 'id',
  governance_customers: 'id',
  governance_teams: 'id',
  governance_virtual_keys: 'id',
  governance_virtual_key_provider_configs: 'id',
  governance_model_configs: 'id',
  routing_rules: 'id',
  routing_targets: 'rule_id',
}

export function readConfiguration(name: string, value: unknown): Configuration {
  const result = configuration.safeParse(value)
  if (result.success) return result.data
  const [issue] = result.error.issues
  throw new SourceError(`${name}: ${issue?.path.join('.')}: ${issue?.message}`)
}

const providerRow = z.object({
  name: z.string(),
  network_config_json: jsonText.pipe(network).nullish().catch(null),
  custom_provider_config_json: jsonText
    .pipe(z.object({ base_provider_type: text }))
    .nullish()
    .catch(null),
})

const keyRow = z.object({
  name: text,
  provider: z.string(),
  value: text,
  models_json: names,
  weight: amount,
  enabled: flag,
  azure_endpoint: text,
  ollama_url: text,
  vllm_url: text,
  sgl_url: text,
  encryption_status: text,
})

/** The tables, in the form of config.json. */
export function readStore(tables: Tables): Configuration {
  const read = <S extends z.ZodType>(table: keyof typeof tableOrders, schema: S) =>
    (tables.get(table) ?? []).map((row) => parseRow(table, schema, row))
  const keys = read('config_keys', keyRow)
  const configs = read('governance_virtual_key_provider_configs', providerConfig)
  const targets = read('routing_targets', routingTarget)
  return {
    providers: Object.fromEntries(
      read('config_providers', providerRow).map((row) => [
        row.name,
        {
          network_config: row.network_config_json,
          custom_provider_config: row.custom_provider_config_json,
          keys: keys.filter((one) => one.provider === row.name).map(toKey),
        },
      ]),
    ),
    governance: {
      budgets: read('governance_budgets', budget),
      rate_limits: read('governance_rate_limits', rateLimit),
      customers: read('governance_customers', customer),
      teams: read('governance_teams', team),
      virtual_keys: read('governance_virtual_keys', virtualKey).map((row) => ({
        ...row,
        provider_configs: configs.filter((config) => config.virtual_key_id === row.id),
      })),
      routing_rules: read('routing_rules', routingRule).map((row) => ({
        ...row,
        targets: targets.filter((target) => target.rule_id === row.id),
      })),
      model_configs: read('governance_model_configs', modelConfig),
    },
  }
}

function toKey({ models_json, ...row }: z.output<typeof keyRow>): ProviderKey {
  return {
    ...row,
    models: models_json,
    azure_key_config: { endpoint: row.azure_endpoint },
    ollama_key_config: { url: row.ollama_url },
    vllm_key_config: { url: row.vllm_url },
    sgl_key_config: { url: row.sgl_url },
  }
}
