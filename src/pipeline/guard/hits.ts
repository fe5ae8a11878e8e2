import { buildHitStatement } from '../../account/guardrail-hits.ts'
import type { Gateway } from '../../app/gateway.ts'
import type { Statement } from '../../db/batch.ts'
import type { ModelRequest } from '../request/inference-request.ts'

/** The hits of a request, stored with its record. */
export function buildHitStatements({ db }: Gateway, { hits, id, caller, at }: ModelRequest): Statement[] {
  if (!hits || hits.length === 0) return []
  const owner = {
    generationId: id,
    organizationId: caller.organizationId,
    workspaceId: caller.key.workspace_id,
    keyId: caller.key.id,
    createdAt: new Date(at).toISOString(),
  }
  return [buildHitStatement(db, owner, hits)]
}

/** For a refused request, which has no record. Resolves when they are durable. */
export async function recordHits(gateway: Gateway, request: ModelRequest): Promise<void> {
  const statements = buildHitStatements(gateway, request)
  try {
    await Promise.all(statements.map((statement) => gateway.statementWriter.write(statement)))
  } catch (err) {
    gateway.log.warn({ err, id: request.id }, 'failed to record the hits of a refused request')
  }
}
