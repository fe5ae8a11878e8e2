import type { GuardrailHit } from '../../policy/content-rules.ts'
import type { Layer } from '../../policy/effective.ts'
import { scopedBuiltin } from '../../policy/guardrail.ts'
import type { PipelineStage } from '../request/work.ts'

const scopes: Record<Layer, string> = {
  organization: 'organization',
  workspace: 'workspace',
  member: 'member',
  key: 'api-key',
}

/** What the guardrails found and did in a request, without the text: a stage for each kind of check. */
export function describeGuardrailStages(hits: readonly GuardrailHit[]): PipelineStage[] {
  const ofContent = hits.filter(({ direction }) => direction === 'input')
  return [...Map.groupBy(ofContent, nameCheck)].map(([name, found]) => {
    const scope = findScope(found)
    return {
      type: 'guardrail',
      name,
      ...(scope && { guardrail_scope: scope }),
      data: {
        rules: unique(found.map(({ rule }) => rule)),
        actions: unique(found.map(({ action, isEnforced }) => (isEnforced ? action : 'dry_run'))),
        matches: found.reduce((sum, { count }) => sum + count, 0),
      },
    }
  })
}

function nameCheck({ rule }: GuardrailHit): string {
  if (rule === 'moderation') return 'moderation'
  return rule === scopedBuiltin ? 'regex_pi_detection' : 'content-filter'
}

/** The narrowest layer that has such a rule; undefined for the plugin moderation. */
function findScope(hits: readonly GuardrailHit[]): string | undefined {
  const layers = hits.flatMap((hit) => hit.layers)
  const narrowest = (['key', 'member', 'workspace', 'organization'] as const).find((layer) =>
    layers.includes(layer),
  )
  return narrowest && scopes[narrowest]
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)]
}
