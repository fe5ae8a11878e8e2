import type { Migration } from 'kysely/migration'
import { watchTable } from './revision-triggers.ts'

/** The owner of an organization is one of its admins, whose organizations share the limits of free models. */
export const owners: Migration = {
  async up(db) {
    await watchTable(db, { table: 'members', where: (row) => `${row}.role = 'org:admin'` })
  },
}
