import { type RawBuilder, sql } from 'kysely'
import type { Scope } from '../../identity/permissions/grant.ts'
import { matchesPattern, toLikePattern } from '../../platform/text/wildcard.ts'

type Value = string | number | bigint

/**
 * One of the columns has one of the values, or matches a pattern; the column has at least, or at most, this value; its
 * lines, each between line feeds, have this part; one of several conditions holds, or one does not.
 */
export type Condition =
  | { columns: readonly string[]; values: readonly Value[] }
  | { columns: readonly string[]; pattern: string }
  | { column: string; min: number | bigint }
  | { column: string; max: number | bigint }
  | { column: string; part: string }
  | { any: readonly Condition[] }
  | { not: Condition }

/** An id that has an index, and that all requests of a selection have. */
export interface IndexedId {
  column: 'session_id' | 'request_id' | 'upstream_id'
  value: string
}

/** The selection of requests in a list. Conditions are data, so that the list and its live continuation agree. */
export interface LogSelection {
  organizationId: string
  /** The id of the only request that is meant. */
  id: string | null
  /** Period of arrival; `to` is exclusive. */
  from: string | null
  to: string | null
  /** Conditions for requests with a record, and for rejected ones; null excludes them. */
  generations: readonly Condition[] | null
  refused: readonly Condition[] | null
  /** Whether to select only requests that did not succeed, which have an index of their own. */
  isUnsuccessful: boolean
  /** What finds the requests without a search by time; the conditions have it, too. */
  indexedId?: IndexedId | null
  /** Alternatives of which one must hold as a whole; null: the caller may see all. */
  visible: readonly (readonly Condition[])[] | null
}

/** Lists what a caller may see: all requests in some workspaces, and in others those with keys they created. */
export function listVisibleRequests({ everywhere, workspaceIds, own }: Scope): LogSelection['visible'] {
  if (everywhere) return null
  const inWorkspaces = (ids: ReadonlySet<string>): Condition => ({
    columns: ['workspace_id'],
    values: [...ids],
  })
  if (!own) return [[inWorkspaces(workspaceIds)]]
  return [
    [inWorkspaces(workspaceIds)],
    [inWorkspaces(own.workspaceIds), { columns: ['user_id'], values: [own.userId] }],
  ]
}

export type LogRow = Readonly<Record<string, unknown>>

export function matchesAll(conditions: readonly Condition[], row: LogRow): boolean {
  return conditions.every((condition) => matches(condition, row))
}

function matches(condition: Condition, row: LogRow): boolean {
  if ('any' in condition) return condition.any.some((one) => matches(one, row))
  if ('not' in condition) return !matches(condition.not, row)
  if ('min' in condition || 'max' in condition) {
    const value = row[condition.column]
    if (typeof value !== 'number' && typeof value !== 'bigint') return false
    return 'min' in condition ? value >= condition.min : value <= condition.max
  }
  if ('part' in condition) return `\n${row[condition.column] ?? ''}\n`.includes(condition.part)
  if ('pattern' in condition)
    return condition.columns.some((column) => matchesPattern(String(row[column] ?? ''), condition.pattern))
  return condition.columns.some((column) => condition.values.some((value) => value === row[column]))
}

export function isVisible({ visible }: Pick<LogSelection, 'visible'>, row: LogRow): boolean {
  return visible === null || visible.some((conditions) => matchesAll(conditions, row))
}

/** The same as SQL. */
export function buildCondition(
  { visible }: Pick<LogSelection, 'visible'>,
  conditions: readonly Condition[],
): RawBuilder<boolean> {
  const parts = conditions.map(toSql)
  const alternatives = visible?.map((all) => join(all.map(toSql), 'and'))
  if (alternatives) parts.push(join(alternatives, 'or'))
  return join(parts, 'and')
}

function join(parts: readonly RawBuilder<boolean>[], operator: 'and' | 'or'): RawBuilder<boolean> {
  if (parts.length === 0) return operator === 'and' ? sql<boolean>`1 = 1` : sql<boolean>`1 = 0`
  return sql<boolean>`(${sql.join(parts, sql.raw(` ${operator} `))})`
}

function toSql(condition: Condition): RawBuilder<boolean> {
  if ('any' in condition) return join(condition.any.map(toSql), 'or')
  // Null, where a column has no value, is not true either.
  if ('not' in condition) return sql<boolean>`(${toSql(condition.not)}) is not true`
  if ('min' in condition) return sql<boolean>`${sql.ref(condition.column)} >= ${condition.min}`
  if ('max' in condition) return sql<boolean>`${sql.ref(condition.column)} <= ${condition.max}`
  if ('part' in condition) {
    const lines = sql`('\n' || ${sql.ref(condition.column)} || '\n')`
    // Unlike `like`, it distinguishes upper and lower case in both databases, and has no wildcards.
    return sql<boolean>`replace(${lines}, ${condition.part}, '') <> ${lines}`
  }
  if ('pattern' in condition) {
    const pattern = toLikePattern(condition.pattern)
    const tests = condition.columns.map(
      (column) => sql<boolean>`lower(${sql.ref(column)}) like lower(${pattern}) escape '\\'`,
    )
    return join(tests, 'or')
  }
  if (condition.values.length === 0) return sql<boolean>`1 = 0`
  const tests = condition.columns.map(
    (column) => sql<boolean>`${sql.ref(column)} in (${sql.join(condition.values)})`,
  )
  return join(tests, 'or')
}
