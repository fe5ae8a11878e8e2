import type { Filter } from '../../../analytics/rollups/aggregator.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { findKeys } from '../../../identity/record-names.ts'
import { type DimensionDefinition, findDimension } from './dimensions.ts'
import type { RequestFilter } from './request.ts'

type FilterValue = string | number

export interface ParsedFilters {
  filters: Filter[]
  warnings: string[]
  /** The generation ids, if the filters name them. */
  generationIds: string[] | null
}

export async function parseFilters(
  gateway: Gateway,
  organizationId: string,
  sent: readonly RequestFilter[],
): Promise<ParsedFilters> {
  const warnings: string[] = []
  const filters: Filter[] = []
  let generationIds: string[] | null = null
  for (const filter of sent) {
    const kind = findDimension(filter.field)
    if (!kind) continue
    const isKey = kind.column === 'key'
    const values = isKey
      ? await resolveKeyIds(gateway, organizationId, filter, warnings)
      : toList(filter.value)
    const known = listMatchingValues(kind, filter, values)
    const matches = buildPredicate(gateway, kind, filter, values)
    filters.push({ column: kind.column, matches, ...(known && { values: known }) })
    if (kind.column === 'id' && ['eq', 'in'].includes(filter.operator) && !filter.include_unset) {
      generationIds = values.map(String)
    }
  }
  return { filters, warnings, generationIds }
}

/** The stored values that match, where the filter names them as they are stored. */
function listMatchingValues(
  { isStoredValue }: DimensionDefinition,
  { operator, include_unset }: RequestFilter,
  values: readonly FilterValue[],
): string[] | null {
  const namesValues = operator === 'eq' || operator === 'in'
  return isStoredValue && namesValues && include_unset !== true ? values.map(String) : null
}

function toList(value: RequestFilter['value']): FilterValue[] {
  return Array.isArray(value) ? value : [value]
}

const hashPattern = /^[0-9a-f]{64}$/i

/** Keys are stored by number; a hash is looked up first. */
async function resolveKeyIds(
  { db }: Gateway,
  organizationId: string,
  filter: RequestFilter,
  warnings: string[],
): Promise<FilterValue[]> {
  const values = toList(filter.value)
  const hashes = values.map(String).filter((value) => hashPattern.test(value))
  const keys = await findKeys(db, organizationId, { hashes: hashes.map((hash) => hash.toLowerCase()) })
  const byHash = new Map(keys.map(({ hash, id }) => [hash, id]))
  return values.map((value) => {
    if (!hashPattern.test(String(value))) return value
    const id = byHash.get(String(value).toLowerCase())
    if (id === undefined) warnings.push(`${filter.field}: no key has the hash ${value}.`)
    return id ?? value
  })
}

function buildPredicate(
  { catalog }: Gateway,
  { read, aliases }: DimensionDefinition,
  { operator, include_unset }: RequestFilter,
  values: readonly FilterValue[],
): Filter['matches'] {
  const expected = new Set(values.map(String))
  const [first = ''] = values
  return (stored) => {
    const value = read(stored, catalog)
    if (value === null) return include_unset === true
    const isOne = expected.has(value) || expected.has(aliases?.(stored) ?? value)
    if (operator === 'eq' || operator === 'in') return isOne
    if (operator === 'neq' || operator === 'not_in') return !isOne
    return isOrdered(operator, compareValues(value, first))
  }
}

function isOrdered(operator: 'gt' | 'gte' | 'lt' | 'lte', order: number): boolean {
  if (operator === 'gt') return order > 0
  if (operator === 'gte') return order >= 0
  return operator === 'lt' ? order < 0 : order <= 0
}

/** Compares numbers by value, everything else as text. */
function compareValues(a: FilterValue, b: FilterValue): number {
  const difference = a === '' || b === '' ? Number.NaN : Number(a) - Number(b)
  if (!Number.isNaN(difference)) return difference
  return String(a) < String(b) ? -1 : String(a) > String(b) ? 1 : 0
}
