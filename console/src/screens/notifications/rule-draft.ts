import type { paths } from '../../api/schema.ts'
import { type Rule, type RuleKind, ruleKinds } from './rule-kinds.ts'

export type RuleBody = paths['/notifications/rules']['post']['requestBody']['content']['application/json']

/** A rule as the form has it. */
export interface RuleDraft {
  kind: RuleKind
  threshold: number | null
  workspaceId: string | null
  emails: string[]
  webhookUrl: string
  /** Empty keeps what is stored, null removes it. */
  webhookSecret: string | null
  digest: Rule['digest']
  enabled: boolean
}

/** What a new rule is about. */
export type InitialRule = Pick<RuleDraft, 'kind' | 'workspaceId'>

export function newRuleDraft({ kind, workspaceId }: InitialRule): RuleDraft {
  const { fallback, hasWorkspaces } = ruleKinds[kind]
  return {
    kind,
    threshold: fallback,
    workspaceId: hasWorkspaces ? workspaceId : null,
    emails: [],
    webhookUrl: '',
    webhookSecret: '',
    digest: 'immediate',
    enabled: true,
  }
}

export function draftOf({ kind, threshold, workspace_id, channels, digest, enabled }: Rule): RuleDraft {
  return {
    kind,
    threshold,
    workspaceId: workspace_id,
    emails: channels.email,
    webhookUrl: channels.webhook?.url ?? '',
    webhookSecret: '',
    digest,
    enabled,
  }
}

/** Builds the settings of a rule that can be changed. */
export function buildSettings(draft: RuleDraft): Omit<RuleBody, 'kind' | 'workspace_id'> {
  const { threshold, emails, webhookUrl, webhookSecret, digest, enabled } = draft
  const secret = webhookSecret === '' ? {} : { secret: webhookSecret }
  const webhook = webhookUrl.trim() === '' ? null : { url: webhookUrl.trim(), ...secret }
  return {
    ...(threshold !== null && { threshold }),
    channels: { email: emails, webhook },
    digest,
    enabled,
  }
}

export function buildRule(draft: RuleDraft): RuleBody {
  const place = ruleKinds[draft.kind].hasWorkspaces ? { workspace_id: draft.workspaceId } : {}
  return { kind: draft.kind, ...place, ...buildSettings(draft) }
}
