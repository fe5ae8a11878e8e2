import type { MediaWireFormat } from '../../formats/media.ts'
import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import type { RoutingPlan } from '../request/inference-request.ts'
import type { FieldProblem, MediaSupport, MediaTask } from './task.ts'

/** Excludes endpoints that do not support every parameter; if none remains, the error names the parameter. */
export function excludeUnfit<Call, D extends MediaWireFormat<Call>>(
  plan: RoutingPlan,
  call: Call,
  { findProblem }: MediaSupport<Call, D>,
): RoutingPlan {
  if (!findProblem) return plan
  let first: FieldProblem | null = null
  const candidates: RoutingPlan['candidates'] = []
  const exclusions = [...plan.exclusions]
  for (const candidate of plan.candidates) {
    const { model, endpoint, byokKey } = candidate
    const problem = findProblem(call, endpoint, model)
    if (!problem) candidates.push(candidate)
    else exclusions.push({ model, endpoint, byokKeyId: byokKey?.id ?? null, reason: 'require_parameters' })
    first ??= problem
  }
  if (candidates.length === 0 && first) throw invalidFieldError(first.field, first.problem)
  return { ...plan, candidates, exclusions }
}

/** The task for clients of another format: problems have the names of its fields. */
export function withFieldNames<Call, D extends MediaWireFormat<Call>, Reply>(
  task: MediaTask<Call, D, Reply>,
  names: Readonly<Record<string, string>>,
): MediaTask<Call, D, Reply> {
  const { findProblem } = task
  if (!findProblem) return task
  return {
    ...task,
    findProblem: (...checked) => {
      const found = findProblem(...checked)
      return found && { ...found, field: names[found.field] ?? found.field }
    },
  }
}
