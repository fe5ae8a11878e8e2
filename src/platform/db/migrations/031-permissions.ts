import type { Migration } from 'kysely/migration'
import { index, key, organization, required } from './columns.ts'

/** Custom roles, the assignment of roles, and the limits of management keys. */
export const permissions: Migration = {
  async up(db) {
    await db.schema
      .createTable('roles')
      .addColumn('id', 'text', key)
      .addColumn('organization_id', 'text', organization)
      .addColumn('name', 'text', required)
      .addColumn('description', 'text')
      .addColumn('permissions', 'text', required)
      .addColumn('own_permissions', 'text', required)
      .addColumn('created_at', 'text', required)
      .addColumn('updated_at', 'text', required)
      .addUniqueConstraint('roles_by_name', ['organization_id', 'name'])
      .execute()
    await db.schema
      .createTable('role_assignments')
      .addColumn('id', 'text', key)
      .addColumn('organization_id', 'text', organization)
      .addColumn('user_id', 'text', required)
      .addColumn('role_id', 'text', required)
      .addColumn('workspace_id', 'text')
      .addColumn('source', 'text', required)
      .addColumn('created_at', 'text', required)
      .execute()
    await index(db, 'role_assignments_by_user', 'role_assignments', ['user_id'])
    await index(db, 'role_assignments_by_organization', 'role_assignments', ['organization_id', 'role_id'])
    await db.schema.alterTable('api_keys').addColumn('permissions', 'text').execute()
    await db.schema.alterTable('api_keys').addColumn('workspace_ids', 'text').execute()
  },
}
