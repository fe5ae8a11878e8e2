import { z } from 'zod'
import { defineOperation } from '../../../http/operation.ts'
import { pageQuery } from '../../../platform/validation/query-params.ts'
import { listGroups } from './groups/store.ts'
import { mappingOperations } from './mappings.ts'
import { syncOperations } from './sync.ts'
import { tokenOperations } from './tokens.ts'

const groupRecord = z
  .strictObject({
    id: z.uuid(),
    organization_id: z.string(),
    external_id: z.string().nullable().describe('The id of the group at the identity provider.'),
    display_name: z.string(),
    created_at: z.string(),
    updated_at: z.string(),
  })
  .meta({ id: 'ScimGroup' })

const listScimGroups = defineOperation({
  id: 'listScimGroups',
  method: 'GET',
  path: '/scim/groups',
  tag: 'SCIM',
  summary: 'Lists the groups pushed by an identity provider, oldest first.',
  permission: 'scim:read',
  query: pageQuery,
  errors: [404],
  response: z.strictObject({ data: z.array(groupRecord), total_count: z.int() }),
  handle: async ({ gateway, caller, query }) => {
    const { rows, total } = await listGroups(gateway.db, caller.organizationId, null, query)
    const data = rows.map((group) => ({
      id: group.id,
      organization_id: group.organization_id,
      external_id: group.external_id,
      display_name: group.display_name,
      created_at: group.created_at,
      updated_at: group.updated_at,
    }))
    return { data, total_count: total }
  },
})

export const scimOperations = [listScimGroups, ...mappingOperations, ...syncOperations, ...tokenOperations]
