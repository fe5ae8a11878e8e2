import { z } from 'zod'
import type { ModelAliasRow } from '../../../catalog/aliases.ts'
import { maxAliasModels } from '../../../catalog/resolve-names.ts'
import { decodeSplit, maxWeight } from '../../../catalog/split.ts'
import { splitUnit } from '../../../catalog/split-schema.ts'
import { isTagName, isTagValue, splitTag } from '../../../governance/tags/tag.ts'
import { managedBy } from '../../../http/managed-by.ts'

/** No colon, which separates suffixes, and no mark of a preset or of a rule. */
export const aliasName = z
  .string()
  .max(100)
  .regex(
    /^[A-Za-z0-9][\w.-]*(\/[A-Za-z0-9][\w.-]*)?$/,
    'must be letters, digits, dots, dashes and underscores, with at most one slash',
  )

const modelName = z.string().min(1).max(256)

const target = z.strictObject({
  model: modelName.describe('A model, or another alias.'),
  weight: z
    .int()
    .min(0)
    .max(maxWeight)
    .describe('The share of the requests, in relation to the other weights. 0: only as a fallback.'),
  tag: z
    .string()
    .transform((text) => splitTag(text))
    .refine(({ name, value }) => isTagName(name) && isTagValue(value), 'must be a tag, name=value')
    .transform(({ name, value }) => `${name}=${value}`)
    .optional()
    .meta({ override: { type: 'string' }, examples: ['arm=b'] })
    .describe(
      'The tag of the requests that the target is chosen for, `name=value`; no two targets have the same. Defaults to `<name of the alias>=<model>`.',
    ),
})

export type TargetBody = z.output<typeof target>

const changeable = {
  models: z
    .array(modelName)
    .min(1)
    .max(maxAliasModels)
    .optional()
    .describe(
      'The models that it stands for, in the order they are tried. One may be another alias. Several make it a group.',
    ),
  targets: z
    .array(target)
    .min(1)
    .max(maxAliasModels)
    .refine((targets) => targets.some(({ weight }) => weight > 0), 'must have a weight greater than 0')
    .optional()
    .describe('Instead of `models`: requests are divided among these by their weights.'),
  split_by: splitUnit
    .optional()
    .describe(
      'Requests of the same session, or of the same end user, reach the same target. A request without a session is assigned by its end user, one without both by itself. Defaults to `session`. Requires `targets`.',
    ),
  fallback: z
    .boolean()
    .optional()
    .describe(
      'Whether the other targets are tried when the chosen one fails. Defaults to true. Requires `targets`.',
    ),
  expires_at: z.iso
    .datetime({ offset: true })
    .transform((text) => new Date(text).toISOString())
    .nullish()
    .describe('From then on, requests are sent to the replacement.'),
  replacement: modelName.nullish().describe('The model, or alias, that replaces it. Requires `expires_at`.'),
}

type SplitFields = Partial<Pick<z.output<typeof updateBody>, 'models' | 'targets' | 'split_by' | 'fallback'>>

/** Fields that would have no effect beside `models`. */
function rejectSplitOfModels(
  { models, targets, split_by, fallback }: SplitFields,
  context: z.RefinementCtx,
): void {
  if (!models) return
  for (const [field, value] of Object.entries({ targets, split_by, fallback }))
    if (value !== undefined)
      context.addIssue({ code: 'custom', path: [field], message: 'cannot be combined with models' })
}

export const createBody = z
  .strictObject({
    name: aliasName.describe(
      'The name in requests. If a model has the same name, requests reach the models of the alias instead.',
    ),
    workspace_id: z
      .uuid()
      .nullish()
      .describe('null: for every workspace of the organization. Defaults to the default workspace.'),
    ...changeable,
  })
  .superRefine(rejectSplitOfModels)
  .superRefine(({ models, targets }, context) => {
    if (!models && !targets)
      context.addIssue({ code: 'custom', path: ['models'], message: 'is required, or targets' })
  })

export const updateBody = z.strictObject(changeable).superRefine(rejectSplitOfModels)

export const aliasRecord = z
  .strictObject({
    id: z.uuid(),
    workspace_id: z.uuid().nullable().describe('null: every workspace of the organization.'),
    name: z.string(),
    models: z.array(z.string()).describe('With targets: their models, those with the greatest weight first.'),
    targets: z
      .array(z.strictObject({ model: z.string(), weight: z.int(), tag: z.string() }))
      .nullable()
      .describe('null: the models are tried in their order.'),
    split_by: splitUnit.nullable().describe('null without targets.'),
    fallback: z.boolean().nullable().describe('null without targets.'),
    expires_at: z.string().nullable(),
    replacement: z.string().nullable(),
    created_at: z.string(),
    updated_at: z.string(),
    managed_by: managedBy,
  })
  .meta({ id: 'ModelAlias' })

export function toAliasRecord(row: ModelAliasRow): z.input<typeof aliasRecord> {
  const { organization_id: _own, rules: _derived, models, split: stored, ...rest } = row
  const split = decodeSplit(stored)
  return {
    ...rest,
    models: JSON.parse(models) as string[],
    targets: split?.targets.map((target) => ({ ...target })) ?? null,
    split_by: split?.by ?? null,
    fallback: split?.fallback ?? null,
  }
}

/** The target of an audit event. */
export function describeAlias({ id, name, workspace_id: workspaceId }: ModelAliasRow) {
  return { target: { type: 'model_alias', id, name }, workspaceId }
}
