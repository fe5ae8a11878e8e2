import type { Schemas } from '../../../api/client.ts'
import type { paths } from '../../../api/schema.ts'
import { parseJsonObject } from '../../../components/json-fields.tsx'
import { formatSetTags, readSetTags } from '../../../components/tag-rules.ts'

export type Rule = Schemas['RoutingRule']
type Action = Schemas['RoutingRuleAction']
export type RuleBody = paths['/routing-rules']['post']['requestBody']['content']['application/json']

export interface RuleDraft {
  name: string
  /** Null: every workspace. */
  workspaceId: string | null
  /** Null: the last one. */
  position: number | null
  enabled: boolean
  when: string
  kind: 'route' | 'reject'
  models: string[]
  /** `name=value` */
  tags: string[]
  sort: string | null
  only: string[]
  ignore: string[]
  /** Other provider preferences, as JSON. */
  rest: string
  message: string
}

export function emptyRuleDraft(workspaceId: string | null): RuleDraft {
  return {
    ...{ name: '', workspaceId, position: null, enabled: true, when: '', kind: 'route' },
    ...{ models: [], tags: [], sort: null, only: [], ignore: [], rest: '', message: '' },
  }
}

export function draftOfRule({ name, workspace_id, position, enabled, when, then }: Rule): RuleDraft {
  const { sort = null, only, ignore, ...others } = then.provider ?? {}
  const isName = typeof sort === 'string'
  const rest = { ...others, ...(!isName && sort !== null && { sort }) }
  return {
    ...{ name, workspaceId: workspace_id, position, enabled, when },
    kind: then.reject ? 'reject' : 'route',
    models: then.models ?? [],
    tags: formatSetTags(then.tags ?? {}),
    sort: isName ? sort : null,
    only: Array.isArray(only) ? only : [],
    ignore: Array.isArray(ignore) ? ignore : [],
    rest: Object.keys(rest).length > 0 ? JSON.stringify(rest, null, 2) : '',
    message: then.reject?.message ?? '',
  }
}

export function toAction(draft: RuleDraft): Action {
  const { kind, message, models, tags, sort, only, ignore, rest } = draft
  if (kind === 'reject') return { reject: { message: message.trim() } }
  const set = readSetTags(tags)
  const provider = {
    ...parseJsonObject(rest),
    ...(sort !== null && { sort }),
    ...(only.length > 0 && { only }),
    ...(ignore.length > 0 && { ignore }),
  } as NonNullable<Action['provider']>
  return {
    ...(models.length > 0 && { models }),
    ...(Object.keys(provider).length > 0 && { provider }),
    ...(Object.keys(set).length > 0 && { tags: set }),
  }
}

/** Whether the rule can be tried, and with a name also saved. */
export function isTryable(draft: RuleDraft): boolean {
  const { when, kind, message, rest } = draft
  if (when.trim() === '' || parseJsonObject(rest) === null) return false
  return kind === 'reject' ? message.trim() !== '' : Object.keys(toAction(draft)).length > 0
}

export function toUpdateBody(draft: RuleDraft) {
  const { name, position, enabled, when } = draft
  return {
    name: name.trim(),
    enabled,
    when: when.trim(),
    then: toAction(draft),
    ...(position !== null && { position }),
  }
}

export function toCreateBody(draft: RuleDraft): RuleBody {
  return { ...toUpdateBody(draft), workspace_id: draft.workspaceId }
}

/** What a rule does, in words: `sandbox/echo, then sandbox/reasoner`. */
export function describeAction({ models, provider, tags, reject }: Rule['then']): string {
  if (reject) return `Reject: ${reject.message}`
  return [
    ...(models ? [models.join(', then ')] : []),
    ...(provider ? [`Providers: ${describeProvider(provider)}`] : []),
    ...(tags ? [`Tags: ${formatSetTags(tags).join(', ')}`] : []),
  ].join(' · ')
}

function describeProvider(provider: Record<string, unknown>): string {
  return Object.entries(provider)
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ')
}
