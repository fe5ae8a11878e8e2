import { classifyTask } from '../../analytics/classifier/classify.ts'
import { buildTaskStatement as buildSampleStatement } from '../../analytics/datasets/task-samples.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { Statement } from '../../platform/db/batch.ts'
import type { RequestState } from '../request/inference-request.ts'
import { forbidsRetention } from '../request/retention.ts'

/**
 * Classifies the prompt of a sampled request by its task. Only the classification is stored. Requests of a region, and
 * those that must not be retained, are left out.
 */
export function buildTaskStatement(gateway: Gateway, request: RequestState): Statement | null {
  if (request.format.task !== 'text' || request.region !== 'global' || forbidsRetention(request)) return null
  const { classify_one_in } = gateway.settings.datasets
  const weight = gateway.taskSampler.choose(request.id, classify_one_in, performance.now())
  if (weight === null) return null
  try {
    const task = classifyTask(request.content.call)
    return buildSampleStatement(gateway.db, request.id, task, weight)
  } catch (err) {
    gateway.log.warn({ err, id: request.id }, 'failed to classify a request')
    return null
  }
}
