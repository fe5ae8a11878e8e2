import { z } from 'zod'

const text = z.string().min(1).nullish().catch(null)
const number = z.number().nonnegative().nullish().catch(null)

const targetFields = z.object({
  name: text,
  provider: text,
  virtual_key: text,
  api_key: text,
  custom_host: text,
  weight: number,
  override_params: z.object({ model: text }).nullish().catch(null),
  request_timeout: number,
  retry: z.object({ attempts: number }).nullish().catch(null),
  cache: z.unknown().optional(),
  strategy: z.object({ mode: z.string() }).nullish().catch(null),
  input_guardrails: z.unknown().optional(),
  output_guardrails: z.unknown().optional(),
  before_request_hooks: z.unknown().optional(),
  after_request_hooks: z.unknown().optional(),
})

type TargetFields = z.output<typeof targetFields>

export interface Config extends TargetFields {
  targets: Config[]
}

const maxDepth = 5
const maxTargets = 100

/** Null if it is not a config. */
export function readConfig(value: unknown, depth = 0): Config | null {
  const { data } = targetFields.safeParse(value)
  const { data: inner } = z
    .object({ targets: z.array(z.unknown()).max(maxTargets).optional() })
    .safeParse(value)
  if (!data || depth > maxDepth) return null
  const targets = (inner?.targets ?? []).flatMap((target) => readConfig(target, depth + 1) ?? [])
  return { ...data, targets }
}

/** A target with the settings that those around it give it, and its share of the requests. */
export interface FlatTarget {
  config: Config
  share: number
}

/** The targets at the ends, in their order. Undefined if requests decide by conditions. */
export function flattenTargets(config: Config, share = 1): FlatTarget[] | undefined {
  if (config.targets.length === 0) return [{ config, share }]
  const mode = config.strategy?.mode ?? 'single'
  if (mode === 'conditional') return undefined
  const used = mode === 'single' ? config.targets.slice(0, 1) : config.targets
  const total = used.reduce((sum, { weight }) => sum + (weight ?? 1), 0)
  const flat: FlatTarget[] = []
  for (const target of used) {
    const part = mode === 'loadbalance' ? (share * (target.weight ?? 1)) / (total || 1) : share
    const ends = flattenTargets(inherit(config, target), part)
    if (!ends) return undefined
    flat.push(...ends)
  }
  return flat
}

function inherit(outer: Config, target: Config): Config {
  return {
    ...target,
    provider: target.provider ?? outer.provider,
    virtual_key: target.virtual_key ?? outer.virtual_key,
    api_key: target.api_key ?? outer.api_key,
    request_timeout: target.request_timeout ?? outer.request_timeout,
    retry: target.retry ?? outer.retry,
    override_params: target.override_params ?? outer.override_params,
  }
}
