import type { Gateway } from '../../app/gateway.ts'
import type { MediaDialect } from '../../dialects/media.ts'
import { invalidFieldError } from '../../errors/gateway-error.ts'
import { serveRequest } from '../inference.ts'
import type { RoutingPlan } from '../routing/plan.ts'
import { type Admission, admit } from '../settlement/admit.ts'
import { parseMediaRequest } from './parse.ts'
import type { FieldProblem, IncomingMedia, MediaRequest, MediaTask } from './task.ts'

type RespondFn<Call> = (
  gateway: Gateway,
  request: MediaRequest<Call>,
  admission: Admission,
) => Promise<Response>

/** A request for anything but text, on the same path: guard, route, admit, dispatch, settle, reply. */
export async function handleMedia<Call, D extends MediaDialect<Call>, Reply>(
  gateway: Gateway,
  incoming: IncomingMedia<Call>,
  task: MediaTask<Call, D, Reply>,
  respond: RespondFn<Call>,
): Promise<Response> {
  const request = await parseMediaRequest(gateway, incoming, task.name)
  return serveRequest(gateway, request, async (plan) => {
    const admission = await admit(gateway, request, excludeUnfit(plan, request.media, task))
    return respond(gateway, request, admission)
  })
}

/** Only endpoints that support every parameter; if there is none, the error names the parameter. */
export function excludeUnfit<Call, D extends MediaDialect<Call>, Reply>(
  plan: RoutingPlan,
  call: Call,
  { findProblem }: MediaTask<Call, D, Reply>,
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
