import type { Migration } from 'kysely/migration'
import { index } from './columns.ts'

/** Router models read what one organization spent on each kind of task. */
export const taskSpending: Migration = {
  async up(db) {
    await index(db, 'dataset_contributions_by_organization', 'dataset_contributions', [
      'organization_id',
      'kind',
      'day',
    ])
  },
}
