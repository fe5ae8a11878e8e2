import { handleRequests } from '../../platform/concurrency/worker-thread.ts'
import { closeDb, type Db, openDb } from '../../platform/db/db.ts'
import { ClickHouseClient } from '../clickhouse/client.ts'
import { reportExport } from '../clickhouse/export.ts'
import { publishFigures } from '../datasets/publish.ts'
import { renameEndUser } from './rename-end-user.ts'
import { runMaintenance } from './retention.ts'
import { rollUp } from './roll-up.ts'
import type { RollupTask } from './rollup-thread.ts'

let db: Db | undefined
let clickhouse: ClickHouseClient | null = null
const prepared = new Set<string>()

/** Runs on its own thread, because packing columns takes a while. */
handleRequests(async (message) => {
  const task = message as RollupTask
  if (task.kind === 'open') {
    db = openDb(task.url, { poolSize: 2 })
    clickhouse = task.clickhouse && new ClickHouseClient(task.clickhouse)
  } else if (db) return task.kind === 'close' ? closeDb(db) : runTask(db, task)
  return undefined
})

async function runTask(on: Db, task: Exclude<RollupTask, { kind: 'open' | 'close' }>): Promise<unknown> {
  if (task.kind === 'roll') return void (await rollUp({ db: on }, task.isAll ? { minRows: 1 } : {}))
  if (task.kind === 'export')
    return (
      clickhouse && reportExport({ db: on, client: clickhouse, owner: task.owner, now: task.now, prepared })
    )
  if (task.kind === 'rename') return renameEndUser(on, task.rename)
  const context = { db: on, clock: { now: () => task.now } }
  if (task.kind === 'tidy') await runMaintenance(context, task.policy)
  else await publishFigures({ ...context, retentionDays: task.retentionDays })
  return undefined
}
