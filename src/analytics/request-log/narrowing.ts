import type { LabelName } from '../../ledger/usage-record.ts'
import type { Db } from '../../platform/db/db.ts'
import type { Filter, RollupQuery } from '../rollups/aggregator.ts'
import { queryRollups } from '../rollups/query.ts'
import { findFirstDay } from '../rollups/segment-store.ts'
import { type Condition, type LogRow, type LogSelection, matchesAll } from './selection.ts'

/** The labels of roll-ups, and how a value of one is a row with the columns that it is made of. */
const labels: Record<string, { label: LabelName; toRow: (value: string | null) => LogRow | null }> = {
  workspace_id: { label: 'workspace', toRow: (value) => ({ workspace_id: value }) },
  key_id: { label: 'key', toRow: (value) => ({ key_id: Number(value) }) },
  user_id: { label: 'user', toRow: (value) => ({ user_id: value }) },
  provider: { label: 'provider', toRow: (value) => ({ provider: value }) },
  external_user: { label: 'external', toRow: (value) => ({ external_user: value }) },
  tags: { label: 'tags', toRow: (value) => ({ tags: value }) },
  app_url: { label: 'app', toRow: toAppRow },
  app_title: { label: 'app', toRow: toAppRow },
}

/** The label does not have the title of an app without an address. */
function toAppRow(value: string | null): LogRow | null {
  if (value === null) return null
  const [app_url = '', app_title = ''] = value.split('\n')
  return { app_url, app_title }
}

/** Time for all queries of a search. */
const maxMs = 1000

/** Filters of roll-ups that all generations of a selection pass. */
export type Narrowing = Pick<RollupQuery, 'filters' | 'alternatives'>

/** Null if the roll-ups cannot exclude anything. */
export function narrow({ generations, visible, id, indexedId }: LogSelection): Narrowing | null {
  if (!generations || id !== null || indexedId) return null
  const filters = listFilters(generations)
  const visibleFilters = visible?.map(listFilters) ?? []
  const alternatives = visibleFilters.every((some) => some.length > 0) ? visibleFilters : []
  return filters.length + alternatives.length === 0 ? null : { filters, alternatives }
}

function listFilters(conditions: readonly Condition[]): Filter[] {
  return conditions.flatMap((condition) => {
    const [only, ...others] = new Set(listColumns(condition).map((column) => labels[column] ?? null))
    if (!only || others.some((other) => other?.label !== only.label)) return []
    return [
      {
        column: only.label,
        matches: (value: string | null) => {
          const row = only.toRow(value)
          return row === null || matchesAll([condition], row)
        },
      },
    ]
  })
}

function listColumns(condition: Condition): string[] {
  if ('any' in condition) return condition.any.flatMap(listColumns)
  if ('not' in condition) return listColumns(condition.not)
  return 'columns' in condition ? [...condition.columns] : [condition.column]
}

const dayMs = 86_400_000
const minuteMs = 60_000
/** Days that are read at once. */
const maxDays = 4

/** In milliseconds; `to` is exclusive. */
export interface Period {
  from: number
  to: number
}

/**
 * The part of the period of a selection, up to a time, that has generations and that the roll-ups know; `isCut` if they
 * do not know an earlier part. Null if there is nothing.
 */
export async function findKnownPeriod(
  db: Db,
  { organizationId, from, to }: LogSelection,
  until = Number.POSITIVE_INFINITY,
): Promise<(Period & { isCut: boolean }) | null> {
  const oldest = await findOldest(db, organizationId)
  if (oldest === null) return null
  const first = Date.parse(from !== null && from > oldest ? from : oldest)
  const end = Math.min(until, to === null ? until : Date.parse(to))
  const known = Date.parse((await findFirstDay(db, organizationId, 'request')) ?? oldest)
  return first >= end ? null : { from: Math.max(first, known), to: end, isCut: known > first }
}

async function findOldest(db: Db, organizationId: string): Promise<string | null> {
  const row = await db
    .selectFrom('generations')
    .select('created_at')
    .where('organization_id', '=', organizationId)
    .orderBy('created_at')
    .limit(1)
    .executeTakeFirst()
  return row?.created_at ?? null
}

/** A part of the search that is finished: nothing else of the period from here matches. */
export interface FoundPeriods {
  /** Of one or more minutes, the newest first. */
  periods: Period[]
  reached: number
}

/**
 * The parts of a period with generations that may match, the newest days first: one day, then two, then four at a
 * time, so that little is read for what is frequent. Throws if the roll-ups take too long.
 */
export async function* listPeriods(
  db: Db,
  organizationId: string,
  narrowing: Narrowing,
  { from, to }: Period,
): AsyncGenerator<FoundPeriods> {
  const deadline = performance.now() + maxMs
  const list = async (granularity: 'day' | 'minute', period: Period) => {
    const query = { ...narrowing, ...period, granularity, dimensions: [], measures: [], histograms: [] }
    const timeoutMs = Math.max(0, deadline - performance.now())
    const groups = await queryRollups(db, { organizationId, query, timeoutMs })
    return groups.map(({ bucket }) => Date.parse(bucket ?? '')).sort((a, b) => b - a)
  }
  for (let [end, days] = [to, 1]; end > from; days = Math.min(maxDays, days * 2)) {
    const start = Math.max(from, startOfDay(end - 1) - (days - 1) * dayMs)
    for (const day of await list('day', { from: start, to: end })) {
      const part = { from: Math.max(start, day), to: Math.min(end, day + dayMs) }
      yield { periods: joinMinutes(await list('minute', part), part), reached: part.from }
    }
    yield { periods: [], reached: start }
    end = start
  }
}

/** `minutes` are the starts of minutes, the newest first. */
function joinMinutes(minutes: readonly number[], { from, to }: Period): Period[] {
  const periods: Period[] = []
  for (const minute of minutes) {
    const last = periods.at(-1)
    if (last?.from === minute + minuteMs) last.from = Math.max(from, minute)
    else periods.push({ from: Math.max(from, minute), to: Math.min(to, minute + minuteMs) })
  }
  return periods
}

function startOfDay(time: number): number {
  return time - (time % dayMs)
}
