import { handleRequests } from '../../platform/concurrency/worker-thread.ts'
import { closeDb, type Db, openDb } from '../../platform/db/db.ts'
import { publishFigures } from '../datasets/publish.ts'
import { runMaintenance } from './retention.ts'
import { rollUp } from './roll-up.ts'
import type { RollupTask } from './rollup-thread.ts'

let db: Db | undefined

/** Runs on its own thread, because packing columns takes a while. */
handleRequests(async (message) => {
  const task = message as RollupTask
  if (task.kind === 'open') db = openDb(task.url, { poolSize: 2 })
  else if (db) await (task.kind === 'close' ? closeDb(db) : runTask(db, task))
})

async function runTask(on: Db, task: Exclude<RollupTask, { kind: 'open' | 'close' }>): Promise<void> {
  if (task.kind === 'roll') return void (await rollUp({ db: on }, task.isAll ? { minRows: 1 } : {}))
  const context = { db: on, clock: { now: () => task.now } }
  if (task.kind === 'tidy') await runMaintenance(context, task.policy)
  else await publishFigures({ ...context, retentionDays: task.retentionDays })
}
