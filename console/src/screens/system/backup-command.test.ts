import { expect, test } from 'bun:test'
import { backupCommand } from './backup-command.ts'

const storage = { mode: 'embedded', database_bytes: 1, journal_bytes: 0, files: 'data_directory' } as const

test('copies the file of SQLite, the files and the key, whatever the folder is called', () => {
  const parts = [
    { name: 'Database', location: "/var/it's here/headgate.sqlite" },
    { name: 'Files', location: '/var/lib/headgate/files' },
    { name: 'Secret key', location: '/var/lib/headgate/secret.key' },
  ]
  const command = backupCommand({ storage: { ...storage, database: 'sqlite' }, backup: { parts } })
  expect(command).toContain(`sqlite3 '/var/it'\\''s here/headgate.sqlite' ".backup backup/headgate.sqlite"`)
  expect(command).toContain('cp -r /var/lib/headgate/files /var/lib/headgate/secret.key backup/')
})

test('dumps PostgreSQL; a bucket and a variable are not copied', () => {
  const parts = [
    { name: 'Database', location: 'PostgreSQL (DATABASE_URL)' },
    { name: 'Files', location: 'the bucket files' },
    { name: 'Secret key', location: 'HEADGATE_SECRET_KEY' },
  ]
  const command = backupCommand({ storage: { ...storage, database: 'postgresql' }, backup: { parts } })
  expect(command).toEndWith('pg_dump --format=custom --file=backup/headgate.dump "$DATABASE_URL"')
})
