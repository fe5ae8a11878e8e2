import type { Selectable } from 'kysely'
import type { Db } from '../../platform/db/db.ts'
import type { DatasetFigureTable } from '../../platform/db/schema.ts'
import { utcDay } from '../../platform/time/time.ts'
import { yieldToEventLoop } from '../../platform/time/time-slicer.ts'

export type Figure = Selectable<DatasetFigureTable>

export interface FigureQuery {
  kind: DatasetFigureTable['kind']
  /** The first and the last day. */
  from: string
  to: string
  /** Figures of fewer organizations are left out. */
  minOrganizations: number
}

/** Days that are read at once: a few thousand rows. */
const daysPerRead = 7
const dayMs = 86_400_000

/** Calls `visit` for every published figure of the period, and serves other requests between reads. */
export async function readFigures(
  db: Db,
  { kind, from, to, minOrganizations }: FigureQuery,
  visit: (figure: Figure) => void,
): Promise<void> {
  const start = await findFirstDay(db, kind, from, to)
  if (start === null) return
  const end = Date.parse(to)
  for (let time = Date.parse(start); time <= end; time += daysPerRead * dayMs) {
    const last = utcDay(Math.min(end, time + (daysPerRead - 1) * dayMs))
    const figures = await db
      .selectFrom('dataset_figures')
      .selectAll()
      .where('kind', '=', kind)
      .where('day', '>=', utcDay(time))
      .where('day', '<=', last)
      .where('organizations', '>=', minOrganizations)
      .execute()
    figures.forEach(visit)
    await yieldToEventLoop()
  }
}

async function findFirstDay(db: Db, kind: Figure['kind'], from: string, to: string): Promise<string | null> {
  const row = await db
    .selectFrom('dataset_figures')
    .select((eb) => eb.fn.min<string | null>('day').as('day'))
    .where('kind', '=', kind)
    .where('day', '>=', from)
    .where('day', '<=', to)
    .executeTakeFirst()
  return row?.day ?? null
}

/** The time of the last publication; null before the first. */
export async function readPublicationTime(db: Db): Promise<string | null> {
  const row = await db
    .selectFrom('dataset_days')
    .select((eb) => eb.fn.max<string | null>('published_at').as('at'))
    .executeTakeFirst()
  return row?.at ?? null
}
