import type { Gateway } from '../../gateway/gateway.ts'
import type { Layer } from '../../governance/policy/effective.ts'
import type { ModerationRule } from '../../governance/policy/guardrail.ts'
import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import type { RequestState } from '../request/inference-request.ts'

/** A rule of a guardrail, or that of the plugin. */
export interface AppliedModeration extends ModerationRule {
  isEnforced: boolean
  /** The guardrails it comes from; empty for the plugin. */
  layers: Layer[]
}

/** The rules about what a moderation model flags. A request to such a model is to be classified, not refused. */
export function listModerationRules(gateway: Gateway, request: RequestState): AppliedModeration[] {
  const { keyContext, work, format } = request
  if (format.task === 'moderations') return []
  const { model: defaultModel } = gateway.settings.moderation
  const ofGuardrails = (keyContext.contentRules?.moderation ?? []).map(({ layer, ...rule }) => ({
    ...rule,
    model: rule.model ?? defaultModel,
    layers: [layer],
  }))
  return work?.findPlugin('moderation') ? [...ofGuardrails, buildPluginRule(defaultModel)] : ofGuardrails
}

function buildPluginRule(model: string | null): AppliedModeration {
  return {
    action: 'block',
    model: requireModerationModel(model),
    categories: null,
    isEnforced: true,
    layers: [],
  }
}

/** Requires a model for the plugin. A guardrail without a model blocks requests with an error of its own. */
export function requireModerationModel(model: string | null): string {
  if (model !== null) return model
  throw invalidFieldError(
    'plugins.moderation',
    'needs a moderation model, and this gateway has none. Ask the operator to set `moderation.model` in headgate.yaml, or remove the plugin',
  )
}
