import { z } from 'zod'
import {
  audienceFields,
  describeCreator,
  hasMatchingWorkspace,
  visibilityField,
  workspaceProblem,
} from '../../../access/shared-records.ts'
import { managedBy } from '../../../http/managed-by.ts'
import { nameField } from '../../../platform/validation/name-schema.ts'
import type { SavedViewRow } from './store.ts'

/** Screens of the console that keep their search in the address. */
const screens = ['requests', 'activity', 'keys', 'members', 'models', 'audit'] as const

export const screenField = z.enum(screens)

const maxParameters = 40
const maxSearchLength = 4000

const search = z
  .record(
    z.string().regex(/^[a-z][a-z0-9_]{0,39}$/i, 'must be the name of a parameter'),
    z.string().max(2000),
  )
  .refine(
    (values) => Object.keys(values).length <= maxParameters,
    `must have at most ${maxParameters} values`,
  )
  .refine(
    (values) => JSON.stringify(values).length <= maxSearchLength,
    `must be at most ${maxSearchLength} characters`,
  )
  .describe('The parameters in the address of the screen, such as `{"status": "failed", "period": "7d"}`.')

const draftFields = z.strictObject({
  screen: screenField,
  name: nameField(60),
  search,
  ...audienceFields('shared_views:write'),
})

export const createViewBody = draftFields.refine(hasMatchingWorkspace, workspaceProblem)

export const updateViewBody = draftFields
  .omit({ screen: true })
  .partial()
  .refine(hasMatchingWorkspace, workspaceProblem)

export const savedView = z
  .strictObject({
    id: z.uuid(),
    screen: screenField,
    name: z.string(),
    search: z.record(z.string(), z.string()),
    visibility: visibilityField,
    workspace_id: z.uuid().nullable(),
    created_by: z.string().nullable().describe('The member who created it; null for an API key.'),
    is_own: z.boolean().describe('Whether the caller created it.'),
    created_at: z.string(),
    updated_at: z.string(),
    managed_by: managedBy,
  })
  .meta({ id: 'SavedView' })

export function toSavedView(row: SavedViewRow, caller: string): z.output<typeof savedView> {
  const { organization_id: _organization, creator, screen, search: encoded, ...rest } = row
  return {
    ...rest,
    screen: screen as (typeof screens)[number],
    search: JSON.parse(encoded),
    ...describeCreator(creator, caller),
  }
}
