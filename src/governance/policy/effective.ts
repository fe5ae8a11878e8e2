import { ruleCovers } from '../../catalog/model-rule.ts'
import type { DataRegion } from '../../formats/vocabulary.ts'
import type { LimitReset } from '../../platform/db/schema.ts'
import type { DetectorSlug } from '../filters/detectors.ts'
import { defaultThreshold } from '../filters/prompt-injection.ts'
import {
  type BuiltinFilter,
  type CustomFilter,
  type ExternalCheck,
  type ExternalChecks,
  type FilterAction,
  type FilterScope,
  filterActions,
  type Guardrail,
  type ModerationRule,
  type ScanScope,
  scanScopes,
  scopedBuiltin,
  type UnscannableAction,
  unscannableActions,
  type ZdrGroup,
} from './guardrail.ts'

/** Broadest first. */
export const layerNames = ['organization', 'workspace', 'member', 'key'] as const
export type Layer = (typeof layerNames)[number]

/** The guardrail of each layer that has one. */
export type Layers = { readonly [L in Layer]?: Guardrail | undefined }

export type GuardrailIds = { readonly [L in Layer]?: string }

export function listGuardrailIds(layers: Layers): GuardrailIds {
  return Object.fromEntries(
    layerNames.flatMap((layer) => {
      const guardrail = layers[layer]
      return guardrail ? [[layer, guardrail.id]] : []
    }),
  )
}

/** The intersection of all layers: null allows everything, an empty list nothing. */
export interface Restriction<T> {
  values: T[] | null
  layers: Layer[]
}

export interface DeniedItem {
  value: string
  layers: Layer[]
}

export interface FilterSource {
  layer: Layer
  action: FilterAction
}

/** The side that a filter reads: a filter of both sides is two effective filters. */
export type FilterDirection = Exclude<FilterScope, 'both'>

export interface EffectiveBuiltin extends BuiltinFilter {
  scope: FilterDirection
  sources: FilterSource[]
}

export interface EffectiveFilter extends CustomFilter {
  scope: FilterDirection
  sources: FilterSource[]
}

/** The moderation of one layer: each calls its own model. */
export interface EffectiveModeration extends ModerationRule {
  layer: Layer
}

/** A check of one layer: each calls its own service. */
export interface EffectiveCheck extends ExternalCheck, Pick<ExternalChecks, 'guardrailId' | 'sealed'> {
  layer: Layer
}

export interface LayeredValue<T> {
  value: T
  layers: Layer[]
}

/** Spending counts per key, or over all keys of one member. */
export type BudgetScope = 'key' | 'member'

export interface Budget {
  layer: Layer
  guardrail_id: string
  limit_nanos: bigint
  /** Null: it never resets. */
  reset_interval: LimitReset | null
  include_byok_in_budgets: boolean
  scope: BudgetScope
}

export interface EffectiveRules {
  allowed_data_regions: Restriction<DataRegion>
  allowed_models: Restriction<string>
  allowed_providers: Restriction<string>
  ignored_models: DeniedItem[]
  ignored_providers: DeniedItem[]
  content_filter_builtins: EffectiveBuiltin[]
  content_filters: EffectiveFilter[]
  /** Only false restricts; null: no layer sets it. */
  enable_free_model_publication: LayeredValue<boolean | null>
  enable_free_model_training: LayeredValue<boolean | null>
  enable_paid_model_training: LayeredValue<boolean | null>
  enforce_zdr: Record<ZdrGroup, LayeredValue<boolean>>
  budgets: Budget[]
  unscannable_content: LayeredValue<UnscannableAction>
  moderation: EffectiveModeration[]
  external_checks: EffectiveCheck[]
}

export interface EffectivePolicy extends EffectiveRules {
  /** The rules of guardrails that only record; null if there are none. */
  dry_run: EffectiveRules | null
}

/** The values of each layer, broadest first. */
type LayerValues<T> = { layer: Layer; value: T }[]

/** All layers apply together; a further layer can only restrict. */
export function computeEffectivePolicy(layers: Layers): EffectivePolicy {
  const active = layerNames.flatMap((layer) => {
    const value = layers[layer]
    return value ? [{ layer, value }] : []
  })
  const isDryRun = ({ value }: { value: Guardrail }) => value.dry_run
  const dryRun = active.filter(isDryRun)
  return {
    ...combineRules(active.filter((entry) => !isDryRun(entry))),
    dry_run: dryRun.length === 0 ? null : combineRules(dryRun),
  }
}

function combineRules(active: LayerValues<Guardrail>): EffectiveRules {
  return {
    allowed_data_regions: intersectLists(collectValues(active, (g) => g.allowed_data_regions)),
    allowed_models: intersectLists(
      collectValues(active, (g) => g.allowed_models),
      ruleCovers,
    ),
    allowed_providers: intersectLists(collectValues(active, (g) => g.allowed_providers)),
    ignored_models: unionLists(collectValues(active, (g) => g.ignored_models)),
    ignored_providers: unionLists(collectValues(active, (g) => g.ignored_providers)),
    content_filter_builtins: mergeBuiltins(collectValues(active, (g) => g.content_filter_builtins)),
    content_filters: mergeFilters(collectValues(active, (g) => g.content_filters)),
    enable_free_model_publication: mergeFalseWins(
      collectValues(active, (g) => g.enable_free_model_publication),
    ),
    enable_free_model_training: mergeFalseWins(collectValues(active, (g) => g.enable_free_model_training)),
    enable_paid_model_training: mergeFalseWins(collectValues(active, (g) => g.enable_paid_model_training)),
    enforce_zdr: {
      vendor_a: mergeTrueWins(collectValues(active, (g) => g.enforce_zdr_vendor_a)),
      vendor_b: mergeTrueWins(collectValues(active, (g) => g.enforce_zdr_vendor_b)),
      vendor_c: mergeTrueWins(collectValues(active, (g) => g.enforce_zdr_vendor_c)),
      vendor_d: mergeTrueWins(collectValues(active, (g) => g.enforce_zdr_vendor_d)),
      other: mergeTrueWins(collectValues(active, (g) => g.enforce_zdr_other)),
    },
    budgets: active.flatMap(({ layer, value }) => listBudgets(layer, value)),
    unscannable_content: mergeStrictest(collectValues(active, (g) => g.unscannable_content)),
    moderation: collectValues(active, (g) => g.moderation).map(({ layer, value }) => ({ ...value, layer })),
    external_checks: collectValues(active, (g) => g.external_checks).flatMap(
      ({ layer, value: { checks, ...rest } }) => checks.map((check) => ({ ...check, ...rest, layer })),
    ),
  }
}

function collectValues<T>(
  active: LayerValues<Guardrail>,
  read: (guardrail: Guardrail) => T | null,
): LayerValues<T> {
  return active.flatMap(({ layer, value }) => {
    const result = read(value)
    return result === null ? [] : [{ layer, value: result }]
  })
}

/** The intersection of lists. An item of one may cover several items of another. */
function intersectLists<T extends string>(
  lists: LayerValues<T[]>,
  covers: (item: T, other: T) => boolean = (item, other) => item === other,
): Restriction<T> {
  if (lists.length === 0) return { values: null, layers: [] }
  const all = [...new Set(lists.flatMap(({ value }) => value))]
  const isAllowed = (item: T) => lists.every(({ value }) => value.some((one) => covers(one, item)))
  return { values: all.filter(isAllowed).sort(), layers: layersOf(lists) }
}

function unionLists(lists: LayerValues<string[]>): DeniedItem[] {
  const all = new Set(lists.flatMap(({ value }) => value))
  return [...all].sort().map((value) => ({
    value,
    layers: layersOf(lists.filter((list) => list.value.includes(value))),
  }))
}

function mergeBuiltins(lists: LayerValues<BuiltinFilter[]>): EffectiveBuiltin[] {
  return groupFilters(lists, (filter) => filter.slug).map((group) => {
    const { slug, scope: side } = group.strictest
    // Replies have no messages to select.
    const scopes = side === 'input' ? group.all.flatMap(({ value }) => value.scan_scope ?? []) : []
    const scope = findWidestScope(scopes)
    const threshold = findLowestThreshold(slug, group.all)
    return {
      slug,
      action: group.strictest.action,
      scope: side,
      ...(scope && { scan_scope: scope }),
      ...(threshold !== undefined && { threshold }),
      ...reversibleOf(group),
      sources: group.sources,
    }
  })
}

/** A rule without a threshold has the default. */
function findLowestThreshold(slug: DetectorSlug, rules: LayerValues<BuiltinFilter>): number | undefined {
  if (slug !== scopedBuiltin || rules.every(({ value }) => value.threshold === undefined)) return undefined
  return Math.min(...rules.map(({ value }) => value.threshold ?? defaultThreshold))
}

function mergeFilters(lists: LayerValues<CustomFilter[]>): EffectiveFilter[] {
  return groupFilters(lists, (filter) => filter.pattern).map((group) => ({
    pattern: group.strictest.pattern,
    scope: group.strictest.scope,
    action: group.strictest.action,
    label: group.strictest.label,
    ...reversibleOf(group),
    sources: group.sources,
  }))
}

interface FilterGroup<F> {
  strictest: F & { scope: FilterDirection }
  all: LayerValues<F>
  sources: FilterSource[]
}

/** Values of a prompt are restored only if every layer that redacts them says so. Replies have nothing to restore. */
function reversibleOf({
  strictest,
  all,
}: Pick<FilterGroup<BuiltinFilter | CustomFilter>, 'strictest' | 'all'>): { reversible?: true } {
  if (strictest.action !== 'redact' || strictest.scope !== 'input') return {}
  const redacting = all.filter(({ value }) => value.action === 'redact')
  return redacting.every(({ value }) => value.reversible) ? { reversible: true } : {}
}

/** Filters of one side that find the same. */
function groupFilters<F extends { action: FilterAction; scope?: FilterScope }>(
  lists: LayerValues<F[]>,
  keyOf: (filter: F) => string,
): FilterGroup<F>[] {
  const each = lists.flatMap(({ layer, value }) =>
    value.flatMap((filter) =>
      directionsOf(filter.scope).map((scope) => ({ layer, value: { ...filter, scope } })),
    ),
  )
  const groups = [...Map.groupBy(each, ({ value }) => `${value.scope} ${keyOf(value)}`)].toSorted(
    ([a], [b]) => (a < b ? -1 : 1),
  )
  return groups.flatMap(([, all]) => {
    // The sort is stable: among equally strict filters, the label of the broadest layer wins.
    const [first] = all.toSorted((a, b) => strictnessOf(b.value.action) - strictnessOf(a.value.action))
    const sources = all.map(({ layer, value }) => ({ layer, action: value.action }))
    return first ? [{ strictest: first.value, all, sources }] : []
  })
}

/** The sides that a filter reads. */
export function directionsOf(scope: FilterScope = 'input'): FilterDirection[] {
  return scope === 'both' ? ['input', 'output'] : [scope]
}

function mergeStrictest(entries: LayerValues<UnscannableAction>): LayeredValue<UnscannableAction> {
  const value = unscannableActions.findLast((action) => entries.some((entry) => entry.value === action))
  return {
    value: value ?? 'allow',
    layers: layersOf(entries.filter((entry) => entry.value === value)),
  }
}

function strictnessOf(action: FilterAction): number {
  return filterActions.indexOf(action)
}

function findWidestScope(scopes: ScanScope[]): ScanScope | undefined {
  return scanScopes.findLast((scope) => scopes.includes(scope))
}

function mergeFalseWins(entries: LayerValues<boolean>): LayeredValue<boolean | null> {
  if (entries.length === 0) return { value: null, layers: [] }
  const value = entries.every((entry) => entry.value)
  return { value, layers: layersOf(entries.filter((entry) => entry.value === value)) }
}

function mergeTrueWins(entries: LayerValues<boolean>): LayeredValue<boolean> {
  const enforced = entries.filter((entry) => entry.value)
  return { value: enforced.length > 0, layers: layersOf(enforced) }
}

/** Budgets are independent: a request must fit into each. */
function listBudgets(layer: Layer, guardrail: Guardrail): Budget[] {
  const { limit_nanos, reset_interval } = guardrail
  if (limit_nanos === null) return []
  return [
    {
      layer,
      guardrail_id: guardrail.id,
      limit_nanos,
      reset_interval,
      include_byok_in_budgets: guardrail.include_byok_in_budgets,
      scope: layer === 'member' ? 'member' : 'key',
    },
  ]
}

function layersOf(entries: LayerValues<unknown>): Layer[] {
  return entries.map(({ layer }) => layer)
}
