import type { Migration } from 'kysely/migration'
import { index } from './columns.ts'

/** The keys of an organization in the order in which a search examines them. */
export const keySearch: Migration = {
  async up(db) {
    await index(db, 'api_keys_organization_page', 'api_keys', ['organization_id', 'kind', 'id'])
  },
}
