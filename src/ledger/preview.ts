import type { Db } from '../db/db.ts'
import { Book, type Limit, type LimitStanding, type Refusal, standingOf, type Wish } from './book.ts'
import { freeInMinute, newMeter } from './meter.ts'
import { metersOn } from './windows.ts'

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

async function bookFor(db: Db, { subjects, day }: Wish): Promise<Book> {
  const book = new Book()
  for (const meter of await metersOn(db, subjects, day)) book.meters.set(meter.subject, meter)
  return book
}

function meterIn({ meters }: Book, subject: string) {
  return meters.get(subject) ?? newMeter(subject)
}

function freeIn(book: Book, { subject, minute }: NonNullable<Wish['free']>) {
  const meter = meterIn(book, subject)
  return { minute: freeInMinute(meter, minute), day: meter.freeDay }
}
