import { dropExpiredConversations } from './account/conversations.ts'
import { dropExpiredResponses } from './account/stored-responses.ts'
import { sweepFiles } from './areas/files/disk.ts'
import { dropExpiredContents } from './areas/generations/store.ts'
import { databaseTime } from './db/db.ts'
import type { Gateway } from './gateway.ts'
import { liveness } from './ledger/recovery.ts'
import { isoNow, RemoteClock } from './lib/clock.ts'
import { tendBackground } from './pipeline/background.ts'
import { followEdits } from './reload.ts'

interface Job {
  name: string
  everyMs: number
  run: (gateway: Gateway) => Promise<unknown>
}

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const rollUpMs = 5000
/** How long a few generations wait for more. */
const smallRollUpMs = 15 * minuteMs
/** An edit of the catalogue counts on every node within two seconds. */
const followMs = 1000

/** What is done beside requests, each at its own pace and never twice at a time. */
const jobs: Job[] = [
  { name: 'sign of life', everyMs: liveness.beatMs, run: giveSign },
  { name: 'orphaned holds', everyMs: liveness.beatMs, run: settleOrphans },
  { name: 'background responses', everyMs: followMs, run: tendBackground },
  { name: 'catalogue', everyMs: followMs, run: followEdits },
  { name: 'roll-ups', everyMs: rollUpMs, run: ({ rollUps }) => rollUps.roll() },
  { name: 'small roll-ups', everyMs: smallRollUpMs, run: ({ rollUps }) => rollUps.roll({ isAll: true }) },
  { name: 'response cache', everyMs: minuteMs, run: dropExpiredAnswers },
  { name: 'old records', everyMs: hourMs, run: tidy },
  { name: 'files', everyMs: hourMs, run: sweepFiles },
  { name: 'expired responses', everyMs: hourMs, run: dropExpiredResponses },
  { name: 'expired conversations', everyMs: hourMs, run: dropExpiredConversations },
  { name: 'expired contents', everyMs: hourMs, run: dropExpiredContents },
]

/** An outage is told once an hour by each job, not at every attempt. */
const tellMs = hourMs

export function startJobs(gateway: Gateway): void {
  for (const job of jobs) void repeat(gateway, job)
}

async function repeat(gateway: Gateway, { name, everyMs, run }: Job): Promise<never> {
  let toldAt = Number.NEGATIVE_INFINITY
  for (;;) {
    try {
      await run(gateway)
    } catch (err) {
      if (performance.now() - toldAt > tellMs) gateway.log.warn({ err, job: name }, 'job failed')
      toldAt = performance.now()
    }
    await new Promise((resolve) => setTimeout(resolve, everyMs).unref())
  }
}

async function dropExpiredAnswers({ responseCache, clock }: Gateway): Promise<void> {
  responseCache.dropExpired(clock.now())
}

function tidy({ rollUps, clock, settings }: Gateway): Promise<void> {
  const { retention_days, posting_days } = settings.records
  const ages = { retentionDays: retention_days, postingDays: posting_days ?? retention_days }
  return rollUps.tidy(clock.now(), ages)
}

/** Says that this node is alive, by the clock that all of them share. */
export async function giveSign({ db, node, clock }: Gateway): Promise<void> {
  if (clock instanceof RemoteClock) await clock.follow(() => databaseTime(db))
  await node.beat(db, isoNow(clock))
}

/** Closes what others left open. */
export async function settleOrphans({ db, ledger, node, clock, log }: Gateway): Promise<void> {
  const settled = await node.settleOrphans(db, ledger, isoNow(clock))
  if (settled > 0) log.warn({ settled }, 'holds without an owner were settled')
}
