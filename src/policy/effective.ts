import { ruleCovers } from '../catalog/model-rule.ts'
import type { DataRegion } from '../catalog/vocabulary.ts'
import type { LimitReset } from '../db/schema.ts'
import {
  type BuiltinFilter,
  type CustomFilter,
  type FilterAction,
  filterActions,
  type Guardrail,
  type ScanScope,
  scanScopes,
  type ZdrGroup,
} from './guardrail.ts'

/** Broadest first. */
export const layerNames = ['organization', 'workspace', 'member', 'key'] as const
export type Layer = (typeof layerNames)[number]

/** The guardrail of each layer that has one. */
export type Layers = { readonly [L in Layer]?: Guardrail | undefined }

/** An allow-list after every layer had its say: null allows everything, an empty list nothing. */
export interface Restriction<T> {
  values: T[] | null
  layers: Layer[]
}

export interface Denied {
  value: string
  layers: Layer[]
}

export interface FilterSource {
  layer: Layer
  action: FilterAction
}

export interface EffectiveBuiltin extends BuiltinFilter {
  sources: FilterSource[]
}

export interface EffectiveFilter extends CustomFilter {
  sources: FilterSource[]
}

export interface Decided<T> {
  value: T
  layers: Layer[]
}

/** Spending is counted for each key by itself, or for everything one member's keys spend. */
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

export interface EffectivePolicy {
  allowed_data_regions: Restriction<DataRegion>
  allowed_models: Restriction<string>
  allowed_providers: Restriction<string>
  ignored_models: Denied[]
  ignored_providers: Denied[]
  content_filter_builtins: EffectiveBuiltin[]
  content_filters: EffectiveFilter[]
  /** Only false refuses anything: null is what nobody said. */
  enable_free_model_publication: Decided<boolean | null>
  enable_free_model_training: Decided<boolean | null>
  enable_paid_model_training: Decided<boolean | null>
  enforce_zdr: Record<ZdrGroup, Decided<boolean>>
  budgets: Budget[]
}

/** What each layer says, broadest first. */
type Said<T> = { layer: Layer; value: T }[]

/** All layers apply at once, and a further one can only take away. */
export function effectivePolicy(layers: Layers): EffectivePolicy {
  const present = layerNames.flatMap((layer) => {
    const value = layers[layer]
    return value ? [{ layer, value }] : []
  })
  return {
    allowed_data_regions: intersection(said(present, (g) => g.allowed_data_regions)),
    allowed_models: intersection(
      said(present, (g) => g.allowed_models),
      ruleCovers,
    ),
    allowed_providers: intersection(said(present, (g) => g.allowed_providers)),
    ignored_models: union(said(present, (g) => g.ignored_models)),
    ignored_providers: union(said(present, (g) => g.ignored_providers)),
    content_filter_builtins: strictestBuiltins(said(present, (g) => g.content_filter_builtins)),
    content_filters: strictestFilters(said(present, (g) => g.content_filters)),
    enable_free_model_publication: falseWins(said(present, (g) => g.enable_free_model_publication)),
    enable_free_model_training: falseWins(said(present, (g) => g.enable_free_model_training)),
    enable_paid_model_training: falseWins(said(present, (g) => g.enable_paid_model_training)),
    enforce_zdr: {
      vendor_a: trueWins(said(present, (g) => g.enforce_zdr_vendor_a)),
      vendor_b: trueWins(said(present, (g) => g.enforce_zdr_vendor_b)),
      vendor_c: trueWins(said(present, (g) => g.enforce_zdr_vendor_c)),
      vendor_d: trueWins(said(present, (g) => g.enforce_zdr_vendor_d)),
      other: trueWins(said(present, (g) => g.enforce_zdr_other)),
    },
    budgets: present.flatMap(({ layer, value }) => budgetOf(layer, value)),
  }
}

function said<T>(present: Said<Guardrail>, read: (guardrail: Guardrail) => T | null): Said<T> {
  return present.flatMap(({ layer, value }) => {
    const answer = read(value)
    return answer === null ? [] : [{ layer, value: answer }]
  })
}

/** What every list allows. An item of one may cover several of another. */
function intersection<T extends string>(
  lists: Said<T[]>,
  covers: (item: T, other: T) => boolean = (item, other) => item === other,
): Restriction<T> {
  if (lists.length === 0) return { values: null, layers: [] }
  const all = [...new Set(lists.flatMap(({ value }) => value))]
  const isAllowed = (item: T) => lists.every(({ value }) => value.some((one) => covers(one, item)))
  return { values: all.filter(isAllowed).sort(), layers: layersOf(lists) }
}

function union(lists: Said<string[]>): Denied[] {
  const all = new Set(lists.flatMap(({ value }) => value))
  return [...all].sort().map((value) => ({
    value,
    layers: layersOf(lists.filter((list) => list.value.includes(value))),
  }))
}

function strictestBuiltins(lists: Said<BuiltinFilter[]>): EffectiveBuiltin[] {
  return grouped(lists, (filter) => filter.slug).map((same) => {
    const { slug } = same.strictest
    const scope = widest(same.all.flatMap(({ value }) => value.scan_scope ?? []))
    return { slug, action: same.strictest.action, ...(scope && { scan_scope: scope }), sources: same.sources }
  })
}

function strictestFilters(lists: Said<CustomFilter[]>): EffectiveFilter[] {
  return grouped(lists, (filter) => filter.pattern).map(({ strictest, sources }) => ({
    pattern: strictest.pattern,
    action: strictest.action,
    label: strictest.label,
    sources,
  }))
}

interface SameFilter<F> {
  strictest: F
  all: Said<F>
  sources: FilterSource[]
}

function grouped<F extends { action: FilterAction }>(
  lists: Said<F[]>,
  keyOf: (filter: F) => string,
): SameFilter<F>[] {
  const each = lists.flatMap(({ layer, value }) => value.map((filter) => ({ layer, value: filter })))
  const groups = [...Map.groupBy(each, ({ value }) => keyOf(value))].toSorted(([a], [b]) => (a < b ? -1 : 1))
  return groups.flatMap(([, all]) => {
    // The sort is stable: of equally strict ones, the broadest layer names the label.
    const [first] = all.toSorted((a, b) => strictness(b.value.action) - strictness(a.value.action))
    const sources = all.map(({ layer, value }) => ({ layer, action: value.action }))
    return first ? [{ strictest: first.value, all, sources }] : []
  })
}

function strictness(action: FilterAction): number {
  return filterActions.indexOf(action)
}

function widest(scopes: ScanScope[]): ScanScope | undefined {
  return scanScopes.findLast((scope) => scopes.includes(scope))
}

function falseWins(answers: Said<boolean>): Decided<boolean | null> {
  if (answers.length === 0) return { value: null, layers: [] }
  const value = answers.every((answer) => answer.value)
  return { value, layers: layersOf(answers.filter((answer) => answer.value === value)) }
}

function trueWins(answers: Said<boolean>): Decided<boolean> {
  const enforced = answers.filter((answer) => answer.value)
  return { value: enforced.length > 0, layers: layersOf(enforced) }
}

/** Each budget stands alone: a request must fit into every one. */
function budgetOf(layer: Layer, guardrail: Guardrail): Budget[] {
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

function layersOf(answers: Said<unknown>): Layer[] {
  return answers.map(({ layer }) => layer)
}
