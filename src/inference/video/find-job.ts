import type { Caller } from '../../access/caller.ts'
import { assertVisible } from '../../access/reachable-workspace.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { Scope } from '../../identity/permissions/grant.ts'
import { gatewayError } from '../../platform/errors/gateway-error.ts'
import { findVideoJob, type VideoJob } from '../../storage/video-jobs.ts'

export interface JobContext {
  gateway: Gateway
  caller: Caller
  httpRequest: Request
}

/** The job that the path names. */
export async function requireJob(
  request: JobContext & { scope: Scope; params: { jobId: string } },
): Promise<VideoJob> {
  const { gateway, caller, params } = request
  const scope = { organizationId: caller.organizationId, workspaceIds: null }
  const job = await findVideoJob(gateway.db, scope, params.jobId)
  if (!job) throw jobNotFoundError()
  assertVisible(request, { workspaceId: job.workspace_id }, jobNotFoundError)
  return job
}

function jobNotFoundError() {
  return gatewayError('not_found', 'The video job does not exist.')
}
