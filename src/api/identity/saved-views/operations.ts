import { z } from 'zod'
import { type Caller, callerIdOf } from '../../../access/caller.ts'
import {
  assertChangeable,
  assertOwnIfPrivate,
  readerOf,
  recordShared,
  resolveAudience,
} from '../../../access/shared-records.ts'
import { transact } from '../../../access/transact.ts'
import { defineOperation } from '../../../http/operation.ts'
import { assertWithinCeiling } from '../../../identity/ceilings.ts'
import { lockOrganization } from '../../../identity/organizations.ts'
import { newUuid } from '../../../platform/crypto/ids.ts'
import type { Db } from '../../../platform/db/db.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
import { isoNow } from '../../../platform/time/clock.ts'
import { pageQuery } from '../../../platform/validation/query-params.ts'
import { createViewBody, savedView, screenField, toSavedView, updateViewBody } from './record.ts'
import { deleteView, findView, insertView, listViews, type SavedViewRow, saveView } from './store.ts'

const tag = 'Saved views'
/** The permission to share views. */
const sharing = 'shared_views:write'
const idParam = z.object({ id: z.uuid().toLowerCase() })
const viewResponse = z.strictObject({ data: savedView })

const listSavedViews = defineOperation({
  id: 'listSavedViews',
  method: 'GET',
  path: '/saved-views',
  tag,
  summary: 'Lists the saved views of the caller and those that are shared, by name.',
  description:
    'Views that are shared with a workspace are listed for callers who have the permission `workspaces:read` there.',
  permission: 'saved_views:read',
  query: pageQuery.extend({ screen: screenField.optional().describe('Only those of this screen.') }),
  response: z.strictObject({ data: z.array(savedView), total_count: z.int() }),
  handle: async ({ gateway, caller, query: { screen, ...page } }) => {
    const { rows, total } = await listViews(gateway.db, readerOf(caller), screen, page)
    return { data: rows.map((row) => toSavedView(row, callerIdOf(caller))), total_count: Number(total) }
  },
})

const createSavedView = defineOperation({
  id: 'createSavedView',
  method: 'POST',
  path: '/saved-views',
  tag,
  summary: 'Saves the search of a screen of the console, by a name.',
  permission: 'saved_views:write',
  body: createViewBody,
  status: 201,
  errors: [404, 409],
  response: viewResponse,
  handle: async (context) => {
    const { gateway, caller, body } = context
    const creator = callerIdOf(caller)
    const row = await transact(context, async (tx, record) => {
      await lockOrganization(tx, caller.organizationId)
      const now = isoNow(gateway.clock)
      const created: SavedViewRow = {
        id: newUuid(),
        organization_id: caller.organizationId,
        ...(await resolveAudience(tx, context, body, sharing)),
        creator,
        screen: body.screen,
        name: body.name,
        search: JSON.stringify(body.search),
        created_at: now,
        updated_at: now,
      }
      await insertView(tx, created)
      await assertWithinCeiling(tx, gateway.settings.ceilings, 'saved_views', creator)
      await assertWithinCeiling(tx, gateway.settings.ceilings, 'shared_views', caller.organizationId)
      recordShared(record, 'saved_view', 'create', { after: created })
      return created
    })
    return { data: toSavedView(row, creator) }
  },
})

const updateSavedView = defineOperation({
  id: 'updateSavedView',
  method: 'PATCH',
  path: '/saved-views/{id}',
  tag,
  summary: 'Changes the name or the search of a saved view, or who sees it. Fields that are not sent stay.',
  description:
    '`search` is replaced as a whole. A shared view can be changed with the permission `shared_views:write` where it is shared; only its creator can make it private again.',
  permission: 'saved_views:write',
  params: idParam,
  body: updateViewBody,
  errors: [404, 409],
  response: viewResponse,
  handle: async (context) => {
    const { gateway, caller, body } = context
    const row = await transact(context, async (tx, record) => {
      await lockOrganization(tx, caller.organizationId)
      const before = await requireChangeable(tx, context)
      assertOwnIfPrivate(caller, before, body)
      const after: SavedViewRow = {
        ...before,
        ...(body.visibility && (await resolveAudience(tx, context, body, sharing))),
        name: body.name ?? before.name,
        search: body.search ? JSON.stringify(body.search) : before.search,
        updated_at: isoNow(gateway.clock),
      }
      await saveView(tx, after)
      await assertWithinCeiling(tx, gateway.settings.ceilings, 'shared_views', caller.organizationId)
      recordShared(record, 'saved_view', 'update', { before, after })
      return after
    })
    return { data: toSavedView(row, callerIdOf(caller)) }
  },
})

const deleteSavedView = defineOperation({
  id: 'deleteSavedView',
  method: 'DELETE',
  path: '/saved-views/{id}',
  tag,
  summary: 'Deletes a saved view.',
  permission: 'saved_views:write',
  params: idParam,
  errors: [404],
  response: z.strictObject({ deleted: z.literal(true) }),
  handle: (context) =>
    transact(context, async (tx, record) => {
      await lockOrganization(tx, context.caller.organizationId)
      const before = await requireChangeable(tx, context)
      await deleteView(tx, before.id)
      recordShared(record, 'saved_view', 'delete', { before })
      return { deleted: true as const }
    }),
})

export const savedViewOperations = [listSavedViews, createSavedView, updateSavedView, deleteSavedView]

/** The view, if the caller sees it and may change it. */
async function requireChangeable(
  tx: Db,
  { caller, params }: { caller: Caller; params: { id: string } },
): Promise<SavedViewRow> {
  const row = await findView(tx, readerOf(caller), params.id)
  if (!row) throw gatewayError('not_found', 'The saved view does not exist.')
  assertChangeable(caller, row, sharing)
  return row
}
