import type { RequestState } from '../request/inference-request.ts'
import type { RequestWork } from '../request/work.ts'
import type { Candidate } from '../routing/candidate.ts'
import type { RoutingDecision } from '../routing/decide.ts'
import { isWithinContext } from '../routing/filter.ts'

/**
 * Selects candidates for a prompt that fits nowhere and is to be compressed: those with a context of at least half of
 * what it needs, otherwise those with the largest.
 */
export function preferRoomiest(
  { content }: RequestState,
  work: RequestWork,
  decision: RoutingDecision,
): RoutingDecision {
  const { candidates, exclusions } = decision
  if (candidates.length < 2 || !work.findPlugin('context-compression')) return decision
  const { maxTokens } = content.call
  const { promptTokens } = content
  if (candidates.some(({ endpoint }) => isWithinContext(endpoint, promptTokens, maxTokens))) return decision
  const needed = promptTokens + (maxTokens ?? 0)
  const largest = Math.max(...candidates.map(contextOf))
  const minContext = Math.min(needed / 2, largest)
  const isRoomy = (candidate: Candidate) => contextOf(candidate) >= minContext
  const excluded = candidates.filter((candidate) => !isRoomy(candidate))
  return {
    candidates: candidates.filter(isRoomy),
    exclusions: [
      ...exclusions,
      ...excluded.map(({ model, endpoint, byokKey }) => ({
        model,
        endpoint,
        byokKeyId: byokKey?.id ?? null,
        reason: 'context_length' as const,
      })),
    ],
  }
}

function contextOf({ endpoint }: Candidate): number {
  return endpoint.context_length ?? Number.POSITIVE_INFINITY
}
