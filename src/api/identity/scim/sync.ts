import { z } from 'zod'
import { transact } from '../../../access/transact.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import type { AuditOrigin } from '../../../governance/audit/entry.ts'
import { transactAs } from '../../../governance/audit/transaction.ts'
import { defineOperation } from '../../../http/operation.ts'
import { deleteBeyondCeiling } from '../../../identity/ceilings.ts'
import { lockOrganization } from '../../../identity/organizations.ts'
import { applyGrants } from '../../../identity/scim-grants.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
import { subsystemLog } from '../../../platform/logging/subsystem-log.ts'
import { isoNow } from '../../../platform/time/clock.ts'
import { countGroups, failJobsBefore, findJob, insertJob, type SyncJob, updateJob } from './store.ts'

const tag = 'SCIM'

const jobRecord = z
  .strictObject({
    id: z.uuid(),
    status: z.enum(['queued', 'running', 'succeeded', 'failed']),
    created_at: z.string(),
    started_at: z.string().nullable(),
    finished_at: z.string().nullable(),
    synced_groups: z.int().nullable(),
    deleted_groups: z.int().nullable(),
    error_message: z.string().nullable(),
  })
  .meta({ id: 'ScimSyncJob' })

const jobResponse = z.strictObject({ data: jobRecord })

/** A job takes seconds; after this time its process must have crashed. */
const maxJobMs = 10 * 60_000

const createScimSyncJob = defineOperation({
  id: 'createScimSyncJob',
  method: 'POST',
  path: '/scim/sync-jobs',
  tag,
  summary: 'Starts a job that applies every group mapping again.',
  description:
    'Identity providers push every change, so nothing is fetched: the job compares the members of each workspace with the current groups and corrects them. deleted_groups is therefore always 0.',
  permission: 'scim:write',
  status: 202,
  errors: [404],
  response: jobResponse,
  handle: async (context) => {
    const { gateway, caller } = context
    await failLostJobs(gateway, caller.organizationId)
    const job = await transact(context, async (tx, record) => {
      const created = await insertJob(tx, gateway.clock, caller.organizationId)
      await deleteBeyondCeiling(tx, gateway.settings.ceilings, 'scim_sync_jobs', caller.organizationId)
      record({ action: 'scim_sync_job.create', ...describeJob(created) })
      return created
    })
    setTimeout(() => enqueueJob(gateway, job), 0)
    return { data: toJobRecord(job) }
  },
})

const getScimSyncJob = defineOperation({
  id: 'getScimSyncJob',
  method: 'GET',
  path: '/scim/sync-jobs/{id}',
  tag,
  summary: 'Retrieves the progress of a sync job.',
  permission: 'scim:read',
  params: z.object({ id: z.uuid() }),
  errors: [404],
  response: jobResponse,
  handle: async ({ gateway, caller, params }) => {
    await failLostJobs(gateway, caller.organizationId)
    const job = await findJob(gateway.db, caller.organizationId, params.id.toLowerCase())
    if (!job) throw gatewayError('not_found', 'The sync job does not exist.')
    return { data: toJobRecord(job) }
  },
})

export const syncOperations = [createScimSyncJob, getScimSyncJob]

async function failLostJobs(gateway: Gateway, organizationId: string): Promise<void> {
  const before = new Date(gateway.clock.now() - maxJobMs).toISOString()
  await failJobsBefore(gateway.db, gateway.clock, organizationId, before)
}

/** Runs jobs one after another, so that jobs waiting for one organization do not use up the connection pool. */
const lastJobs = new WeakMap<Gateway, Promise<void>>()

function enqueueJob(gateway: Gateway, job: SyncJob): void {
  const before = lastJobs.get(gateway) ?? Promise.resolve()
  lastJobs.set(
    gateway,
    before.then(() => runJob(gateway, job)),
  )
}

/** Runs a job in the background, and so never throws. */
async function runJob(gateway: Gateway, job: SyncJob): Promise<void> {
  const { db, clock, log } = gateway
  const organizationId = job.organization_id
  try {
    await updateJob(db, job.id, { status: 'running', started_at: isoNow(clock) })
    await transactAs(gateway, originOf(job), async (tx, record) => {
      await lockOrganization(tx, organizationId)
      await applyGrants(tx, clock, { organizationId })
      const synced_groups = await countGroups(tx, organizationId)
      const finished_at = isoNow(clock)
      await updateJob(tx, job.id, { status: 'succeeded', finished_at, synced_groups, deleted_groups: 0 })
      record({ action: 'scim_sync_job.finish', ...describeJob(job), details: { synced_groups } })
    })
  } catch (error) {
    subsystemLog(log, 'identity').error({ err: error, job: job.id }, 'SCIM sync job failed')
    const error_message = 'Internal error.'
    await updateJob(db, job.id, { status: 'failed', finished_at: isoNow(clock), error_message }).catch(
      (second: unknown) =>
        subsystemLog(log, 'identity').error(
          { err: second, job: job.id },
          'SCIM sync job could not be marked failed',
        ),
    )
  }
}

/** The target of an event. */
function describeJob({ id }: SyncJob) {
  return { target: { type: 'scim_sync_job', id } }
}

function originOf({ id, organization_id: organizationId }: SyncJob): AuditOrigin {
  const actor = { type: 'job' as const, id, name: 'SCIM sync' }
  return { organizationId, actor, ip: null, userAgent: null, requestId: null }
}

function toJobRecord(job: SyncJob): z.input<typeof jobRecord> {
  return {
    id: job.id,
    status: job.status,
    created_at: job.created_at,
    started_at: job.started_at,
    finished_at: job.finished_at,
    synced_groups: job.synced_groups,
    deleted_groups: job.deleted_groups,
    error_message: job.error_message,
  }
}
