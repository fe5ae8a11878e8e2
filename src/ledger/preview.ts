import type { Db } from '../db/db.ts'
import { Book, type Limit, type LimitStanding, type Refusal, standingOf, type Wish } from './book.ts'
import { newMeter, rollTo } from './meter.ts'
import { meterOf } from './tables.ts'

/** What the ledger would say to a wish. */
export interface Preview {
  refusal: Refusal | null
  limits: (LimitStanding & { limit: Limit })[]
  /** Requests to free variants, where the wish is for one. */
  free: { minute: number; day: number } | null
}

/** Asks the rules of the ledger with the meters as they are; nothing is set aside, and nothing written. */
export async function previewOf(db: Db, wish: Wish): Promise<Preview> {
  const book = await bookFor(db, wish)
  const limits = wish.limits.map((limit) => ({
    limit,
    ...standingOf(limit, meterIn(book, limit.subject), wish),
  }))
  const free = wish.free && freeIn(book, wish.free)
  return { limits, free, refusal: book.admit(wish) }
}

/** With the meters of a wish, moved on to its day. */
async function bookFor(db: Db, { subjects, day }: Wish): Promise<Book> {
  const book = new Book()
  const rows = await db.selectFrom('meters').selectAll().where('subject', 'in', subjects).execute()
  for (const subject of subjects) book.meters.set(subject, newMeter(subject))
  for (const row of rows) book.meters.set(row.subject, meterOf({ ...row }))
  const latest = rows.reduce((later, row) => (row.day > later ? row.day : later), day)
  for (const meter of book.meters.values()) rollTo(meter, latest)
  return book
}

function meterIn({ meters }: Book, subject: string) {
  return meters.get(subject) ?? newMeter(subject)
}

function freeIn(book: Book, { subject, minute }: NonNullable<Wish['free']>) {
  const meter = meterIn(book, subject)
  return { minute: minute <= meter.minute ? meter.freeMinute : 0, day: meter.freeDay }
}
