import type { ColumnDefinitionBuilder, Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { flag, index, key, organization, required } from './columns.ts'

const member = (column: ColumnDefinitionBuilder) =>
  column.notNull().references('members.id').onDelete('cascade')

/** Passwords, one-time codes, passkeys, links by e-mail, and invitations. */
export const signInMethods: Migration = {
  async up(db) {
    await db.schema
      .alterTable('signin_links')
      .addColumn('method', 'text', (column) => required(column).defaultTo('link'))
      .execute()
    // Members sign in with their address alone.
    await index(db, 'members_by_email', 'members', ['email'])
    await createPasswords(db)
    await createPasskeys(db)
    await createInvitations(db)
  },
}

async function createPasswords(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('member_passwords')
    .addColumn('user_id', 'text', (column) => key(member(column)))
    .addColumn('password_hash', 'text', required)
    .addColumn('updated_at', 'text', required)
    .execute()
  await db.schema
    .createTable('member_totp')
    .addColumn('user_id', 'text', (column) => key(member(column)))
    .addColumn('sealed_secret', 'text', required)
    .addColumn('confirmed_at', 'text')
    .addColumn('last_step', 'integer', flag)
    .addColumn('failures', 'integer', flag)
    .addColumn('failed_at', 'text')
    .addColumn('created_at', 'text', required)
    .execute()
  await db.schema
    .createTable('recovery_codes')
    .addColumn('code_hash', 'text', key)
    .addColumn('user_id', 'text', member)
    .addColumn('used_at', 'text')
    .addColumn('created_at', 'text', required)
    .execute()
  await index(db, 'recovery_codes_by_user', 'recovery_codes', ['user_id'])
}

async function createPasskeys(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('passkeys')
    .addColumn('credential_id', 'text', key)
    .addColumn('id', 'text', required)
    .addColumn('user_id', 'text', member)
    .addColumn('name', 'text', required)
    .addColumn('public_key', 'text', required)
    .addColumn('counter', 'bigint', flag)
    .addColumn('transports', 'text', required)
    .addColumn('created_at', 'text', required)
    .addColumn('last_used_at', 'text')
    .execute()
  await index(db, 'passkeys_by_user', 'passkeys', ['user_id'])
  await db.schema
    .createTable('used_challenges')
    .addColumn('challenge_hash', 'text', key)
    .addColumn('expires_at', 'text', required)
    .execute()
  await index(db, 'used_challenges_expiry', 'used_challenges', ['expires_at'])
}

async function createInvitations(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('invitations')
    .addColumn('id', 'text', key)
    .addColumn('organization_id', 'text', organization)
    .addColumn('email', 'text', required)
    .addColumn('role', 'text', required)
    .addColumn('workspace_ids', 'text', required)
    .addColumn('token_hash', 'text', (column) => required(column).unique())
    .addColumn('invited_by', 'text')
    .addColumn('created_at', 'text', required)
    .addColumn('expires_at', 'text', required)
    .addColumn('accepted_at', 'text')
    .addColumn('revoked_at', 'text')
    .execute()
  await index(db, 'invitations_page', 'invitations', ['organization_id', 'created_at', 'id'])
}
