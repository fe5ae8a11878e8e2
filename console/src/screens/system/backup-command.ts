import type { Schemas } from '../../api/client.ts'

/** Copies what the machine has. A bucket and a variable of the environment are backed up where they are. */
export function backupCommand({ storage, backup }: Pick<Schemas['System'], 'storage' | 'backup'>): string {
  const locationOf = (part: string) => backup.parts.find(({ name }) => name === part)?.location ?? ''
  const copied = ['Files', 'Secret key'].map(locationOf).filter((location) => location.startsWith('/'))
  const database =
    storage.database === 'sqlite'
      ? `sqlite3 ${quote(locationOf('Database'))} ".backup backup/headgate.sqlite"`
      : 'pg_dump --format=custom --file=backup/headgate.dump "$DATABASE_URL"'
  return [
    'umask 077',
    'mkdir -p backup',
    database,
    ...(copied.length > 0 ? [`cp -r ${copied.map(quote).join(' ')} backup/`] : []),
  ].join('\n')
}

function quote(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
