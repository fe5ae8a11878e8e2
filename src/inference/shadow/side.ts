import type { Reply } from '../../formats/call/event.ts'
import { countCompletionTokens, countPromptTokens } from '../../formats/call/usage.ts'
import type { SettledReply } from '../request/inference-request.ts'
import type { SideOutcome } from './compare.ts'

/** Describes how a request of this gateway has ended. */
export function describeSide(
  id: string,
  { status, summary, candidate, charge, error, firstTokenMs }: SettledReply,
  latencyMs: number,
  reply: Reply | null,
): SideOutcome {
  return {
    generation_id: id,
    external_id: null,
    model: candidate?.model.id ?? '',
    provider: candidate?.endpoint.provider.slug ?? '',
    status,
    error: error?.code ?? (summary?.failure ? 'interrupted' : null),
    finish_reason: summary?.finishReasons[0]?.reason ?? null,
    prompt_tokens: countPromptTokens(charge.usage),
    completion_tokens: countCompletionTokens(charge.usage),
    cost_nanos: String(charge.upstream),
    latency_ms: Math.round(latencyMs),
    first_token_ms: firstTokenMs === null ? null : Math.round(firstTokenMs),
    reply: status === 'completed' ? reply : null,
  }
}
