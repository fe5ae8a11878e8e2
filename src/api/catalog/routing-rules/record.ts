import { z } from 'zod'
import { providerPreferences } from '../../../formats/schema/preferences.ts'
import { findConditionProblem, maxConditionLength } from '../../../governance/routing-rules/compile.ts'
import type { RuleAction } from '../../../governance/routing-rules/rule.ts'
import { decodeAction, type RoutingRuleRow } from '../../../governance/routing-rules/store.ts'
import { tagValues } from '../../../governance/tags/tag-schema.ts'
import { managedBy } from '../../../http/managed-by.ts'
import { nameField } from '../../../platform/validation/name-schema.ts'

const maxModels = 10
const maxPosition = 1_000_000_000

const condition = z
  .string()
  .min(1)
  .max(maxConditionLength)
  .superRefine((text, context) => {
    const problem = text.length > maxConditionLength ? null : findConditionProblem(text)
    if (problem !== null) context.addIssue({ code: 'custom', message: problem })
  })
  .describe(
    'A CEL expression over the request that is true or false, such as `tags.team == "search" && input_tokens > 20000`.',
  )

/** The fields of an action as they are sent; empty lists would be accepted without effect. */
const action = z
  .strictObject({
    models: z
      .array(z.string().min(1).max(256))
      .min(1)
      .max(maxModels)
      .optional()
      .describe('The models, or aliases, that replace the requested ones, in the order they are tried.'),
    provider: providerPreferences
      .refine((preferences) => Object.values(preferences).some((value) => value != null), 'must not be empty')
      .optional()
      .describe('Provider preferences, which take precedence over those of the request.'),
    tags: tagValues
      .refine((tags) => Object.keys(tags).length > 0, 'must not be empty')
      .optional()
      .describe('Tags that the request gets, instead of what the client sent by these names.'),
    reject: z
      .strictObject({ message: nameField(500) })
      .optional()
      .describe('Rejects the request with this message. Cannot be combined with the other fields.'),
  })
  .superRefine(({ reject, ...changes }, context) => {
    const changed = Object.entries(changes).filter(([, value]) => value !== undefined)
    if (!reject && changed.length === 0)
      context.addIssue({ code: 'custom', message: 'must have models, provider, tags or reject' })
    if (reject && changed.length > 0)
      context.addIssue({
        code: 'custom',
        path: ['reject'],
        message: `cannot be combined with ${changed[0]?.[0]}`,
      })
  })
  .meta({ id: 'RoutingRuleAction' })

const workspaceId = z
  .uuid()
  .nullish()
  .describe('The workspace whose requests it is for. Without it, those of the whole organization.')

const changeable = {
  name: nameField(100),
  description: z.string().max(1000).nullish(),
  position: z
    .int()
    .min(0)
    .max(maxPosition)
    .optional()
    .describe(
      'Rules are tried in ascending order, those of the organization before those of a workspace, and the first that matches applies. Of the same position, the older is first. By default, 10 behind the last one.',
    ),
  enabled: z.boolean().optional().describe('Defaults to true.'),
  when: condition,
  then: action,
}

export const createRuleBody = z.strictObject({ ...changeable, workspace_id: workspaceId })
export type RuleDraft = z.output<typeof createRuleBody>

export const updateRuleBody = z.strictObject(changeable).partial()

export const draftRuleBody = z.strictObject({
  name: changeable.name.optional(),
  workspace_id: workspaceId,
  when: condition,
  then: action,
})

export type DraftRule = z.output<typeof draftRuleBody>

export const ruleRecord = z
  .strictObject({
    id: z.uuid(),
    workspace_id: z.uuid().nullable().describe('null: for every workspace of the organization.'),
    name: z.string(),
    description: z.string().nullable(),
    position: z.int(),
    enabled: z.boolean(),
    when: z.string(),
    then: z
      .strictObject({
        models: z.array(z.string()).optional(),
        provider: z.looseObject({}).optional(),
        tags: z.record(z.string(), z.string()).optional(),
        reject: z.strictObject({ message: z.string() }).optional(),
      })
      .meta({ id: 'RoutingRuleEffect' }),
    created_at: z.string(),
    updated_at: z.string(),
    managed_by: managedBy,
  })
  .meta({ id: 'RoutingRule' })
export type RuleRecord = z.output<typeof ruleRecord>

export function toRuleRecord(row: RoutingRuleRow): RuleRecord {
  const { organization_id: _own, condition: when, action: encoded, enabled, ...rest } = row
  return { ...rest, enabled: enabled === 1, when, then: decodeAction(encoded) as RuleRecord['then'] }
}

export function encodeAction(value: RuleAction): string {
  return JSON.stringify(value)
}

/** The target of an audit event. */
export function describeRule({ id, name, workspace_id }: RoutingRuleRow) {
  return { target: { type: 'routing_rule', id, name }, workspaceId: workspace_id }
}
