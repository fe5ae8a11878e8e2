import { encodeErrorCode } from '../../formats/responses/error.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { RunResult } from '../../platform/concurrency/repeated-task.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import { estimateJsonLength } from '../../platform/json/long-json.ts'
import {
  type FinishedResponse,
  finishResponse,
  listCancellationRequests,
  listOrphanedResponses,
} from '../../storage/background-responses.ts'

export const shutdownMessage =
  'The gateway was stopped before the response was complete. Send the request again.'

/** Longer instructions and tools are not echoed in a stored response that is not complete. */
const maxEchoedLength = 256 * 1024

export function trimEchoedFields(response: JsonObject): JsonObject {
  const { instructions, tools } = response
  if (estimateJsonLength({ instructions, tools }, maxEchoedLength) <= maxEchoedLength) return response
  return { ...response, instructions: null, tools: [] }
}

export async function storeEnded(gateway: Gateway, ended: FinishedResponse): Promise<void> {
  const { responses } = gateway.settings
  const stored = { ...ended, body: trimEchoedFields(ended.body) }
  const bytes = await finishResponse(gateway, stored, responses.retention_days)
  if (bytes > 0) gateway.responseQuota.recordResponse(ended.owner.workspaceId, bytes, responses)
}

/** Applies cancellations requested through other nodes, and fails the responses of nodes that are gone. */
export async function maintainBackgroundResponses(gateway: Gateway): Promise<RunResult> {
  const { db, node, backgroundRuns } = gateway
  if (backgroundRuns.size > 0)
    for (const id of await listCancellationRequests(db, node.id)) backgroundRuns.get(id)?.stop('cancelled')
  for (const { id, owner, body } of await listOrphanedResponses(gateway, node.id)) {
    const failed = {
      ...body,
      status: 'failed',
      error: { code: encodeErrorCode(''), message: shutdownMessage },
    }
    await storeEnded(gateway, { id, owner, body: failed, input: [] })
  }
  return backgroundRuns.size > 0 ? 'busy' : 'idle'
}
