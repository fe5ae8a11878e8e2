import type { Migration } from 'kysely/migration'
import { flag, index, key, organization, required } from './columns.ts'

export const videoJobs: Migration = {
  async up(db) {
    await db.schema
      .createTable('video_jobs')
      .addColumn('id', 'text', key)
      .addColumn('organization_id', 'text', organization)
      .addColumn('workspace_id', 'text', required)
      .addColumn('key_id', 'integer', required)
      .addColumn('generation_id', 'text', (column) => column.notNull().unique())
      .addColumn('status', 'text', required)
      .addColumn('step', 'text', required)
      .addColumn('model', 'text', required)
      .addColumn('endpoint_id', 'text', required)
      .addColumn('byok_key_id', 'text')
      .addColumn('region', 'text', required)
      .addColumn('request', 'text', required)
      .addColumn('sent', 'text')
      .addColumn('upstream_id', 'text')
      .addColumn('progress', 'integer', flag)
      .addColumn('contents', 'text')
      .addColumn('error', 'text')
      .addColumn('created_at', 'text', required)
      .addColumn('ended_at', 'text')
      .addColumn('deadline_at', 'text', required)
      .addColumn('content_expires_at', 'text')
      .addColumn('due_at', 'text')
      .addColumn('polls', 'integer', flag)
      .addColumn('lease_owner', 'text')
      .addColumn('lease_until', 'text')
      .addColumn('webhook_due_at', 'text')
      .addColumn('webhook_attempts', 'integer', flag)
      .execute()
    await index(db, 'video_jobs_workspace', 'video_jobs', ['workspace_id', 'id'])
    await index(db, 'video_jobs_due', 'video_jobs', ['due_at'])
    await index(db, 'video_jobs_webhook', 'video_jobs', ['webhook_due_at'])
    for (const column of ['video_callback_url', 'sealed_video_secret'])
      await db.schema.alterTable('workspaces').addColumn(column, 'text').execute()
  },
}
