import { type Db, openDb } from '../../db/db.ts'
import { answerEach } from '../../lib/thread.ts'
import { tidyRecords } from './retention.ts'
import { rollUp } from './roll.ts'
import type { Chore } from './thread.ts'

let db: Db | undefined

/** Packing columns takes a while: here nobody waits for it. */
answerEach(async (question) => {
  const chore = question as Chore
  if (chore.kind === 'open') db = openDb(chore.url)
  else if (db) await carryOut(db, chore)
})

async function carryOut(on: Db, chore: Exclude<Chore, { kind: 'open' }>): Promise<void> {
  if (chore.kind === 'roll') await rollUp({ db: on }, chore.isAll ? { fewest: 1 } : {})
  else await tidyRecords({ db: on, clock: { now: () => chore.now } }, chore.ages)
}
