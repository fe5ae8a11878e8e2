import type { Logger } from 'pino'
import type { Gateway } from '../../gateway/gateway.ts'
import { buildHitStatement, type HitOwner } from '../../governance/guardrail-hits.ts'
import type { GuardrailHit } from '../../governance/policy/content-rules.ts'
import type { Statement } from '../../platform/db/batch.ts'
import { logOf } from '../../platform/logging/request-log.ts'
import { subsystemLog } from '../../platform/logging/subsystem-log.ts'
import type { RequestState } from '../request/inference-request.ts'
import type { Candidate } from '../routing/candidate.ts'
import { listEndpointHits } from './dry-run.ts'

/** The hits of a request, stored with its record. `candidate` is what served it. */
export function buildHitStatements(
  { db, metrics }: Gateway,
  { hits: found, keyContext, id, caller, at }: RequestState,
  candidate: Candidate | null,
): Statement[] {
  if (!found) return []
  const { dry_run } = keyContext.policy
  const hits = dry_run && candidate ? [...found, ...listEndpointHits(dry_run, candidate)] : found
  if (hits.length === 0) return []
  metrics.policies.recordHits(hits, caller.key.workspace_id)
  const owner = {
    generationId: id,
    organizationId: caller.organizationId,
    workspaceId: caller.key.workspace_id,
    keyId: caller.key.id,
    userId: caller.userId,
    createdAt: new Date(at).toISOString(),
  }
  return [buildHitStatement(db, owner, hits)]
}

/** A failure must not prevent the settlement. */
export async function completeHits(gateway: Gateway, request: RequestState): Promise<void> {
  try {
    await request.completeHits?.()
  } catch (err) {
    logOf(gateway, request).warn({ err }, 'failed to scan a reply for its hits')
  }
}

/** Records the matches of a request without a record. Resolves when they are durable. */
export async function recordHits(gateway: Gateway, request: RequestState): Promise<void> {
  await write(gateway, logOf(gateway, request), buildHitStatements(gateway, request, null))
}

/** Records the matches of a file that is sent to a vendor. */
export async function recordFileHits(
  gateway: Gateway,
  owner: HitOwner,
  hits: readonly GuardrailHit[],
): Promise<void> {
  if (hits.length === 0) return
  gateway.metrics.policies.recordHits(hits, owner.workspaceId)
  const log = subsystemLog(gateway.log, 'inference').child({ generationId: owner.generationId })
  await write(gateway, log, [buildHitStatement(gateway.db, owner, hits)])
}

async function write({ statementWriter }: Gateway, log: Logger, statements: Statement[]): Promise<void> {
  try {
    await Promise.all(statements.map((statement) => statementWriter.write(statement)))
  } catch (err) {
    log.warn({ err }, 'failed to record the hits of a request')
  }
}
