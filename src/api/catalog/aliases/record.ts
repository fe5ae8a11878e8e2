import { z } from 'zod'
import type { ModelAliasRow } from '../../../catalog/aliases.ts'
import { maxAliasModels } from '../../../catalog/resolve-names.ts'

/** No colon, which separates suffixes, and no mark of a preset or of a rule. */
const aliasName = z
  .string()
  .max(100)
  .regex(
    /^[A-Za-z0-9][\w.-]*(\/[A-Za-z0-9][\w.-]*)?$/,
    'must be letters, digits, dots, dashes and underscores, with at most one slash',
  )

const modelName = z.string().min(1).max(256)

const changeable = {
  models: z
    .array(modelName)
    .min(1)
    .max(maxAliasModels)
    .describe(
      'The models that it stands for, in the order they are tried. One may be another alias. Several make it a group.',
    ),
  expires_at: z.iso
    .datetime({ offset: true })
    .transform((text) => new Date(text).toISOString())
    .nullish()
    .describe('From then on, requests are sent to the replacement.'),
  replacement: modelName.nullish().describe('The model, or alias, that replaces it. Requires `expires_at`.'),
}

export const createBody = z.strictObject({
  name: aliasName.describe(
    'The name in requests. If a model has the same name, requests reach the models of the alias instead.',
  ),
  workspace_id: z
    .uuid()
    .nullish()
    .describe('null: for every workspace of the organization. Defaults to the default workspace.'),
  ...changeable,
})

export const updateBody = z.strictObject({ ...changeable, models: changeable.models.optional() })

export const aliasRecord = z
  .strictObject({
    id: z.uuid(),
    workspace_id: z.uuid().nullable().describe('null: every workspace of the organization.'),
    name: z.string(),
    models: z.array(z.string()),
    expires_at: z.string().nullable(),
    replacement: z.string().nullable(),
    created_at: z.string(),
    updated_at: z.string(),
  })
  .meta({ id: 'ModelAlias' })

export function toAliasRecord(row: ModelAliasRow): z.input<typeof aliasRecord> {
  const { organization_id: _own, rules: _derived, models, ...rest } = row
  return { ...rest, models: JSON.parse(models) as string[] }
}

/** The target of an audit event. */
export function describeAlias({ id, name, workspace_id: workspaceId }: ModelAliasRow) {
  return { target: { type: 'model_alias', id, name }, workspaceId }
}
