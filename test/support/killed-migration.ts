// Migrates a database with a table `marks`, and ends this process at a point.
import { sql } from 'kysely'
import { backfill, fillColumns, inTransaction, type Step } from '../../src/platform/db/migrate/steps.ts'
import { migrations } from '../../src/platform/db/migrations/all.ts'
import { runMigrations } from '../../src/platform/db/upgrade.ts'

const [url = '', point] = process.argv.slice(2)

function end(): void {
  process.kill(process.pid, 'SIGKILL')
}

const fill = fillColumns({ table: 'marks', key: 'id', set: "text = 'mark ' || id", where: 'text is null' })
let batches = 0
const fillAndEnd: Step =
  fill.kind === 'backfill' && point === 'backfill'
    ? backfill({
        ...fill,
        runBatch: async (db, after, limit) => {
          const batch = await fill.runBatch(db, after, limit)
          if (++batches === 3) end()
          return batch
        },
      })
    : fill

migrations['900-marks'] = {
  steps: [
    inTransaction('add marks.text', async (db) => {
      await sql`alter table marks add column text text`.execute(db)
    }),
    fillAndEnd,
    {
      kind: 'outside',
      title: 'create index',
      run: async (db) => {
        // A unique index that the rows violate stays behind, invalid, like one whose build was interrupted.
        if (point === 'index')
          await sql`create unique index concurrently marks_by_text on marks ((1))`
            .execute(db)
            .catch(() => undefined)
        end()
      },
    },
  ],
}
await runMigrations(url, {
  nodeTimeoutMs: 30_000,
  progress: { onStep: () => undefined, onProgress: () => undefined, onWait: () => undefined },
})
