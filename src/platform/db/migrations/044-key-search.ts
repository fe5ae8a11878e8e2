import type { Migration } from 'kysely/migration'
import { index } from './columns.ts'

/**
 * The keys of an organization in the order in which a search examines them, with all that it compares: the rows
 * themselves are several times as large.
 */
export const keySearch: Migration = {
  async up(db) {
    const range = ['organization_id', 'kind', 'id']
    const compared = ['name', 'label', 'source', 'disabled', 'workspace_id', 'creator_user_id']
    await index(db, 'api_keys_search', 'api_keys', [...range, ...compared])
  },
}
