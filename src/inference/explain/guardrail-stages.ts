import type { GuardrailHit } from '../../governance/policy/content-rules.ts'
import type { GuardrailIds, Layer } from '../../governance/policy/effective.ts'
import { scopedBuiltin } from '../../governance/policy/guardrail.ts'
import type { PipelineStage } from '../request/work.ts'

const scopes: Record<Layer, string> = {
  organization: 'organization',
  workspace: 'workspace',
  member: 'member',
  key: 'api-key',
}

/** Describes the matches and actions of guardrails in a request, without the text: a stage for each kind of check. */
export function describeGuardrailStages(hits: readonly GuardrailHit[], ids: GuardrailIds): PipelineStage[] {
  const ofContent = hits.filter(({ direction }) => direction === 'input')
  return [...Map.groupBy(ofContent, nameCheck)].map(([name, found]) => {
    const layer = findLayer(found)
    const id = layer && ids[layer]
    return {
      type: 'guardrail',
      name,
      ...(id && { guardrail_id: id }),
      ...(layer && { guardrail_scope: scopes[layer] }),
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
function findLayer(hits: readonly GuardrailHit[]): Layer | undefined {
  const layers = hits.flatMap((hit) => hit.layers)
  return (['key', 'member', 'workspace', 'organization'] as const).find((layer) => layers.includes(layer))
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)]
}
