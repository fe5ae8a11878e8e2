import type { Gateway } from '../../app/gateway.ts'
import { classifyTask } from '../../classifier/classify.ts'
import type { Statement } from '../../db/batch.ts'
import { buildTaskStatement } from '../../ledger/datasets/task-samples.ts'
import { forbidsRetention } from '../cache/options.ts'
import type { ModelRequest } from '../request/inference-request.ts'

/**
 * Classifies the prompt of a sampled request by its task. Only the classification is stored. Requests of a region, and
 * those that must not be retained, are left out.
 */
export function buildTaskStatements(gateway: Gateway, request: ModelRequest): Statement[] {
  const { classify_one_in } = gateway.settings.datasets
  if (!isSampled(request.id, classify_one_in)) return []
  if (request.format.task !== 'text' || request.region !== 'global' || forbidsRetention(request)) return []
  try {
    const task = classifyTask(request.content.call)
    return [buildTaskStatement(gateway.db, request.id, task, classify_one_in)]
  } catch (err) {
    gateway.log.warn({ err, id: request.id }, 'failed to classify a request')
    return []
  }
}

/** By the id, so that every settlement of the request decides alike. */
function isSampled(id: string, oneIn: number): boolean {
  return oneIn > 0 && Bun.hash.crc32(id) % oneIn === 0
}
