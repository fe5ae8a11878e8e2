import { z } from 'zod'
import type { FallbackReason, ReasonFallbacks } from '../../../formats/schema/fallbacks.ts'
import { aliasName } from '../../catalog/aliases/record.ts'
import type { CatalogPlan, SkippedItem } from '../import-plan.ts'
import type { GroupDefaults, ModelGroups } from '../models/model-groups.ts'
import type { ConfigFile } from './config-file.ts'

/** The most models that a fallback has here. */
const maxFallbacks = 3

const names = z.array(z.string())
const rules = z.array(z.record(z.string(), names)).catch([])
const aliasTarget = z.union([z.string(), z.object({ model: z.string() }).transform(({ model }) => model)])

/** The lists of LiteLLM, and the reasons here that they are for. */
const fallbackSettings: readonly (readonly [string, readonly FallbackReason[]])[] = [
  ['fallbacks', ['error', 'rate_limit']],
  ['context_window_fallbacks', ['context_length']],
  ['content_policy_fallbacks', ['content_policy']],
]

/** Both sections have settings of the router; those of `router_settings` count. */
function findSetting({ router_settings, litellm_settings }: ConfigFile, name: string): unknown {
  return router_settings[name] ?? litellm_settings[name]
}

export function readDefaults(config: ConfigFile): GroupDefaults {
  const number = z.coerce.number().nonnegative().optional().catch(undefined)
  const read = (...candidates: string[]) =>
    number.parse(candidates.map((name) => findSetting(config, name)).find((value) => value != null))
  return {
    timeout: read('timeout', 'request_timeout'),
    streamTimeout: read('stream_timeout'),
    maxRetries: read('num_retries'),
  }
}

/** Fallbacks by model: of the models that are created here, and of those of the catalog. */
export function translateFallbacks(
  config: ConfigFile,
  { idOf }: Pick<ModelGroups, 'idOf'>,
): { fallbacks: CatalogPlan['fallbacks']; skipped: SkippedItem[] } {
  const skipped: SkippedItem[] = []
  const byModel = new Map<string, ReasonFallbacks>()
  const generic = names.catch([]).parse(findSetting(config, 'default_fallbacks'))
  for (const [setting, reasons] of fallbackSettings) {
    const chains = new Map(rules.parse(findSetting(config, setting)).flatMap((rule) => Object.entries(rule)))
    const forOthers = chains.get('*') ?? (setting === 'fallbacks' ? generic : [])
    for (const name of chains.keys())
      if (name !== '*' && !idOf.has(name))
        skipped.push({ kind: 'fallbacks', name, reason: 'the model is not imported' })
    for (const [name, id] of idOf) {
      const chain = chains.get(name) ?? forOthers.filter((other) => other !== name)
      const targets = chain.flatMap((target) => idOf.get(target) ?? [])
      for (const target of chain.filter((one) => !idOf.has(one)))
        skipped.push({ kind: 'fallbacks', name, reason: `${target} is not imported` })
      if (targets.length > maxFallbacks)
        skipped.push({ kind: 'fallbacks', name, reason: `only the first ${maxFallbacks} models are used` })
      if (targets.length === 0) continue
      const before = byModel.get(id) ?? {}
      const added = Object.fromEntries(reasons.map((reason) => [reason, targets.slice(0, maxFallbacks)]))
      byModel.set(id, { ...added, ...before })
    }
  }
  return { fallbacks: [...byModel].map(([model, fallbacks]) => ({ model, fallbacks })), skipped }
}

export function translateAliases(
  { router_settings }: ConfigFile,
  { idOf }: Pick<ModelGroups, 'idOf'>,
): { aliases: CatalogPlan['aliases']; skipped: SkippedItem[] } {
  const skipped: SkippedItem[] = []
  const listed = z
    .record(z.string(), z.unknown())
    .catch({})
    .parse(router_settings.model_group_alias ?? {})
  const aliases = Object.entries(listed).flatMap(([name, value]) => {
    const target = aliasTarget.safeParse(value).data
    const id = idOf.get(target ?? '')
    const skip = (reason: string) => skipped.push({ kind: 'alias', name, reason })
    if (id === undefined) skip(`${target ?? 'its model'} is not imported`)
    else if (!aliasName.safeParse(name).success) skip('the name has characters that an alias cannot have')
    else if (idOf.has(name)) skip('a model of model_list has the name')
    else return [{ name, models: [id] }]
    return []
  })
  return { aliases, skipped }
}

/** Settings that are read, or that need nothing here. */
const readSettings = new Set([
  ...fallbackSettings.map(([name]) => name),
  ...[
    'default_fallbacks',
    'model_group_alias',
    'timeout',
    'request_timeout',
    'stream_timeout',
    'num_retries',
  ],
  ...['drop_params', 'enable_pre_call_checks', 'set_verbose', 'debug_level', 'json_logs', 'database_url'],
  ...['store_model_in_db'],
])

/** What to do instead, by setting. */
const remedies: Readonly<Record<string, string>> = {
  'general_settings master_key': 'operators use management keys: docs/permissions.md',
  'general_settings alerting': 'set up notifications: docs/notifications.md',
  'litellm_settings cache': 'requests and presets choose the cache: docs/response-cache.md',
  'litellm_settings callbacks': 'set up destinations: docs/observability.md',
  'litellm_settings success_callback': 'set up destinations: docs/observability.md',
  'litellm_settings failure_callback': 'set up destinations: docs/observability.md',
  'litellm_settings max_budget': 'create a limit without `match`: docs/limits.md',
  'litellm_settings budget_duration': 'create a limit without `match`: docs/limits.md',
  'router_settings allowed_fails': 'cooldown and ejection are automatic: docs/routing.md',
  'router_settings cooldown_time': 'cooldown and ejection are automatic: docs/routing.md',
  'router_settings routing_strategy':
    'set `default_provider_sort` of the workspace to price, latency or throughput: docs/routing.md',
  'router_settings retry_policy': 'set `retry` of the model: docs/routing.md',
  'router_settings provider_budget_config': 'create a limit with `match.providers`: docs/limits.md',
  'router_settings enable_tag_filtering': 'create routing rules: docs/routing-rules.md',
}
const otherwise = 'has no counterpart that an import could set: docs/coming-from/litellm.md'

/** Names the settings that are left; never their values, among which are secrets. */
export function listUnreadSettings(config: ConfigFile): SkippedItem[] {
  const sections = ['router_settings', 'litellm_settings', 'general_settings'] as const
  const settings = sections.flatMap((section) =>
    Object.keys(config[section])
      .filter((name) => !readSettings.has(name) && !isDefault(section, name, config[section][name]))
      .map((name) => `${section} ${name}`),
  )
  const known = new Set<string>([...sections, 'model_list', 'credential_list', 'environment_variables'])
  const others = Object.keys(config).filter((name) => !known.has(name))
  return [...settings, ...others].map((name) => ({
    kind: 'setting',
    name: name.slice(0, 200),
    reason: remedies[name] ?? otherwise,
  }))
}

function isDefault(section: string, name: string, value: unknown): boolean {
  return section === 'router_settings' && name === 'routing_strategy' && value === 'simple-shuffle'
}
