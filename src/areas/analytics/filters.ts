import type { Gateway } from '../../gateway.ts'
import type { Filter } from '../../ledger/rollups/tally.ts'
import { type DimensionKind, dimensionsByName } from './dimensions.ts'
import type { SentFilter } from './request.ts'
import { keysOf } from './store.ts'

type Value = string | number

export interface ReadFilters {
  filters: Filter[]
  warnings: string[]
  /** The generations it is about, where the filters say so. */
  generationIds: string[] | null
}

export async function readFilters(
  gateway: Gateway,
  organizationId: string,
  sent: readonly SentFilter[],
): Promise<ReadFilters> {
  const warnings: string[] = []
  const filters: Filter[] = []
  let generationIds: string[] | null = null
  for (const filter of sent) {
    const kind = dimensionsByName.get(filter.field)
    if (!kind) continue
    const isKey = kind.column === 'key'
    const values = isKey ? await keyIds(gateway, organizationId, filter, warnings) : listOf(filter.value)
    filters.push({ column: kind.column, keeps: predicate(gateway, kind, filter, values) })
    if (kind.column === 'id' && ['eq', 'in'].includes(filter.operator) && !filter.include_unset) {
      generationIds = values.map(String)
    }
  }
  return { filters, warnings, generationIds }
}

function listOf(value: SentFilter['value']): Value[] {
  return Array.isArray(value) ? value : [value]
}

const hashPattern = /^[0-9a-f]{64}$/i

/** Keys go by their number; a hash is looked up first. */
async function keyIds(
  { db }: Gateway,
  organizationId: string,
  filter: SentFilter,
  warnings: string[],
): Promise<Value[]> {
  const given = listOf(filter.value)
  const hashes = given.map(String).filter((value) => hashPattern.test(value))
  const keys = await keysOf(db, organizationId, { hashes: hashes.map((hash) => hash.toLowerCase()) })
  const byHash = new Map(keys.map(({ hash, id }) => [hash, id]))
  return given.map((value) => {
    if (!hashPattern.test(String(value))) return value
    const id = byHash.get(String(value).toLowerCase())
    if (id === undefined) warnings.push(`${filter.field}: no key has the hash ${value}.`)
    return id ?? value
  })
}

function predicate(
  { catalog }: Gateway,
  { read, aliases }: DimensionKind,
  { operator, include_unset }: SentFilter,
  values: readonly Value[],
): Filter['keeps'] {
  const wanted = new Set(values.map(String))
  const [first = ''] = values
  return (stored) => {
    const value = read(stored, catalog)
    if (value === null) return include_unset === true
    const isOne = wanted.has(value) || wanted.has(aliases?.(stored) ?? value)
    if (operator === 'eq' || operator === 'in') return isOne
    if (operator === 'neq' || operator === 'not_in') return !isOne
    return isOrdered(operator, compare(value, first))
  }
}

function isOrdered(operator: 'gt' | 'gte' | 'lt' | 'lte', order: number): boolean {
  if (operator === 'gt') return order > 0
  if (operator === 'gte') return order >= 0
  return operator === 'lt' ? order < 0 : order <= 0
}

/** Numbers by their size, everything else as text. */
function compare(a: Value, b: Value): number {
  const difference = a === '' || b === '' ? Number.NaN : Number(a) - Number(b)
  if (!Number.isNaN(difference)) return difference
  return String(a) < String(b) ? -1 : String(a) > String(b) ? 1 : 0
}
