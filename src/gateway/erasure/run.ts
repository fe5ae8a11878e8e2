import type { AuditOrigin } from '../../governance/audit/entry.ts'
import { appendEvents } from '../../governance/audit/transaction.ts'
import type { RunResult } from '../../platform/concurrency/repeated-task.ts'
import type { Db } from '../../platform/db/db.ts'
import { isoNow } from '../../platform/time/clock.ts'
import { utcDay } from '../../platform/time/time.ts'
import { deletePacks, withoutMoving } from '../../storage/content-packs.ts'
import type { Gateway } from '../gateway.ts'
import { eraseCachedReplies } from './cached-replies.ts'
import { addCounts, type ErasedCounts, type ErasureProgress, erasureSteps, parseCounts } from './erasure.ts'
import { type Erasure, releaseErasure, saveErasure, takeDueErasure } from './erasure-store.ts'
import { deleteCounters, deleteRefused, listEndUserLimits } from './others-store.ts'
import { eraseRequests, examineGenerations, planErasure } from './records-store.ts'

/** One run ends after this time, and the next one continues. */
const runMs = 5000
/** Delay after a failure, for example of the bucket. */
const retryMs = 60_000
/** Pages without anything to erase, after which the progress is stored. */
const pagesPerSlice = 20
const dayMs = 86_400_000
/** Later passes find requests that were in progress: they began at most this long before the erasure was requested. */
const lateMs = 2 * dayMs

/** The state of an erasure while a node works on it. */
interface Work {
  gateway: Gateway
  erasure: Erasure
  name: string
  progress: ErasureProgress
  counts: ErasedCounts
}

/**
 * Erases end users in slices. What a slice does is one transaction with its progress, so that an interrupted slice is
 * done again as a whole, by any node.
 */
export async function runErasures(gateway: Gateway): Promise<RunResult> {
  const { db, clock, node } = gateway
  const erasure = await takeDueErasure(db, { owner: node.id, now: clock.now() })
  if (erasure) {
    const lease = { id: erasure.id, owner: node.id }
    try {
      await continueErasure(gateway, erasure)
      await releaseErasure(db, lease)
    } catch (error) {
      // Others are not kept waiting by one that fails.
      await releaseErasure(db, lease, new Date(clock.now() + retryMs).toISOString())
      throw error
    }
  }
  await eraseCachedReplies(gateway)
  return erasure ? 'busy' : 'idle'
}

async function continueErasure(gateway: Gateway, erasure: Erasure): Promise<void> {
  const { id, sealed_end_user } = erasure
  if (sealed_end_user === null) return
  const work: Work = {
    gateway,
    erasure,
    name: gateway.vault.decrypt(sealed_end_user, id),
    progress: JSON.parse(erasure.progress) as ErasureProgress,
    counts: parseCounts(erasure.counts),
  }
  const end = performance.now() + runMs
  let isPassing = true
  while (isPassing && performance.now() < end) isPassing = await steps[work.progress.step](work)
}

/** Each does a slice. They return false when the pass is done, or must wait. */
const steps: Record<ErasureProgress['step'], (work: Work) => Promise<boolean>> = {
  records: eraseRecords,
  refused: eraseRefused,
  analytics: eraseAnalytics,
  limits: eraseLimits,
}

async function eraseRecords(work: Work): Promise<boolean> {
  const { gateway, erasure } = work
  await deleteAbandonedPacks(work)
  const organizationId = erasure.organization_id
  let after = work.progress.after ?? [findPassStart(work), '']
  for (let pages = 0; pages < pagesPerSlice; pages++) {
    const query = { organizationId, name: work.name, before: erasure.requested_at, after }
    const { found, last } = await examineGenerations(gateway.db, query)
    const ids = found.map(({ id }) => id)
    if (ids.length > 0) return erasePage(work, ids, last)
    if (last === null) {
      await save(work, nextStep(work.progress))
      return true
    }
    after = last
  }
  await save(work, { ...work.progress, after })
  return true
}

/** False if contents are moved at the moment: another run erases them. */
function erasePage(work: Work, ids: string[], last: string[] | null): Promise<boolean> {
  const { gateway, erasure, name } = work
  return withoutMoving(gateway, async () => {
    const plan = await planErasure(gateway, erasure.organization_id, ids)
    const names = { name, pseudonym: erasure.pseudonym }
    const { progress } = work
    const next = last === null ? nextStep(progress) : { ...progress, after: last }
    await save(work, { ...next, packs: plan.packs }, (tx) =>
      eraseRequests(tx, erasure.organization_id, names, plan),
    )
    await deleteAbandonedPacks(work)
  })
}

/** Deletes objects whose contents were erased, or moved back to the database. */
async function deleteAbandonedPacks(work: Work): Promise<void> {
  const { packs } = work.progress
  if (packs.length === 0) return
  await deletePacks(work.gateway, packs)
  await save(work, { ...work.progress, packs: [] })
}

async function eraseRefused(work: Work): Promise<boolean> {
  const { organization_id: organizationId, requested_at: before } = work.erasure
  let deleted = 0
  await save(work, work.progress, async (tx) => {
    deleted = await deleteRefused(tx, { organizationId, name: work.name, before })
    return { refused_requests: deleted }
  })
  if (deleted === 0) await save(work, nextStep(work.progress))
  return true
}

async function eraseAnalytics(work: Work): Promise<boolean> {
  const { gateway, erasure, name, progress } = work
  const { nextDay } = await gateway.rollUps.renameEndUser({
    organizationId: erasure.organization_id,
    name,
    pseudonym: erasure.pseudonym,
    before: erasure.requested_at,
    fromDay: progress.after?.[0] ?? findPassStart(work).slice(0, 10),
  })
  await save(work, nextDay === null ? nextStep(progress) : { ...progress, after: [nextDay] })
  return true
}

/** The last step: a pass ends with it. */
async function eraseLimits(work: Work): Promise<boolean> {
  const { gateway, erasure, name, progress } = work
  const [after = '', inUseBefore = '0'] = progress.after ?? []
  const ids = await listEndUserLimits(gateway.db, erasure.organization_id, after)
  const last = ids.at(-1)
  if (last === undefined) {
    await endPass(work, inUseBefore !== '0')
    return false
  }
  let inUse = Number(inUseBefore)
  const month = `${isoNow(gateway.clock).slice(0, 7)}-01`
  await save(work, progress, async (tx) => {
    let deleted = 0
    for (const id of ids) {
      const outcome = await deleteCounters(tx, id, { name, month })
      deleted += outcome.deleted
      inUse += outcome.inUse
    }
    return { limit_counters: deleted }
  })
  await save(work, { ...progress, after: [last, String(inUse)] })
  return true
}

/** Delay until the next pass, by the number of passes that are done. */
const passDelaysMs = [2 * 60_000, dayMs]

/**
 * The first pass erases what is recorded. Two more find requests that had not ended: after two minutes, when the
 * erasure is reported as completed, and after a day. Further ones wait for the end of a month in which limits in use
 * are named after the end user.
 */
async function endPass(work: Work, hasLimitsInUse: boolean): Promise<void> {
  const { gateway, erasure, progress } = work
  const passes = progress.passes + 1
  const delay = passDelaysMs[passes - 1]
  const requestedAt = Date.parse(erasure.requested_at)
  const nextPass =
    delay !== undefined ? requestedAt + delay : hasLimitsInUse ? findMonthEnd(gateway.clock.now()) : null
  const isCompleted = passes === 2
  const completedAt = isoNow(gateway.clock)
  await save(
    work,
    { passes, step: 'records', after: null, packs: [] },
    async (tx) => {
      if (isCompleted) await recordCompletion(tx, work, completedAt)
      return {}
    },
    {
      due_at: nextPass === null ? null : new Date(nextPass).toISOString(),
      ...(isCompleted && { completed_at: completedAt }),
      ...(nextPass === null && { sealed_end_user: null }),
    },
  )
}

function findMonthEnd(now: number): number {
  const date = new Date(now)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1)
}

/** The entry seals the receipt: it has its counts, and is part of the chain. */
async function recordCompletion(tx: Db, { gateway, erasure, counts }: Work, completedAt: string) {
  const origin: AuditOrigin = {
    organizationId: erasure.organization_id,
    actor: { type: 'job', id: null, name: 'erasures' },
    ip: null,
    userAgent: null,
    requestId: null,
  }
  await appendEvents(tx, gateway, origin, [
    {
      action: 'end_user.erased',
      target: { type: 'end_user', id: erasure.end_user_hash },
      details: { erasure: erasure.id, completed_at: completedAt, ...counts },
    },
  ])
}

/** The first pass begins with the oldest record. */
function findPassStart({ erasure, progress }: Work): string {
  if (progress.passes === 0) return ''
  return utcDay(Date.parse(erasure.requested_at) - lateMs)
}

function nextStep(progress: ErasureProgress): ErasureProgress {
  const step = erasureSteps[erasureSteps.indexOf(progress.step) + 1] ?? 'records'
  return { ...progress, step, after: null }
}

/** Does a slice and stores its progress in one transaction. */
async function save(
  work: Work,
  progress: ErasureProgress,
  slice?: (tx: Db) => Promise<Partial<ErasedCounts>>,
  change: Omit<Parameters<typeof saveErasure>[2], 'progress' | 'counts'> = {},
): Promise<void> {
  const { gateway, erasure } = work
  const lease = { id: erasure.id, owner: gateway.node.id, now: gateway.clock.now() }
  work.counts = await gateway.db.transaction().execute(async (tx) => {
    // First, so that a node without the lease changes nothing.
    await saveErasure(tx, lease, { progress, counts: work.counts, ...change })
    if (!slice) return work.counts
    const counts = addCounts(work.counts, await slice(tx))
    await saveErasure(tx, lease, { progress, counts, ...change })
    return counts
  })
  work.progress = progress
}
