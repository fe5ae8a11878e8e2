import { afterAll, expect, test } from 'bun:test'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { readConfig } from '../config.ts'
import { listDataFiles } from './backup/data-files.ts'
import { lockDataDir } from './data-dir.ts'
import { adoptSpooledCharges } from './spooled-charges.ts'

const log = pino({ level: 'silent' })
const folders: string[] = []
afterAll(() => {
  for (const path of folders) rmSync(path, { recursive: true, force: true })
})

/** A data directory with a file of charges in each of these directories, which names it. */
function createDataDir(...names: string[]): string {
  const dataDir = mkdtempSync(join(tmpdir(), 'headgate-spool-'))
  folders.push(dataDir)
  for (const name of names) {
    mkdirSync(join(dataDir, name), { recursive: true })
    writeFileSync(join(dataDir, name, 'unsent-ledger-1'), name)
  }
  return dataDir
}

const configOf = (dataDir: string, workers: Record<string, string>) =>
  readConfig({ HEADGATE_DATA_DIR: dataDir, DATABASE_URL: 'postgres://db/x', ...workers })

const spooledIn = (folder: string) =>
  readdirSync(folder)
    .filter((name) => name.startsWith('unsent-'))
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .sort()

test('one process takes over the charges of workers, except of those that still run', () => {
  const dataDir = createDataDir('.', 'workers/1', 'workers/2', 'workers/10')
  const unlock = lockDataDir(join(dataDir, 'workers/2'))
  adoptSpooledCharges(configOf(dataDir, {}), log)
  expect(spooledIn(dataDir)).toEqual(['.', 'workers/1', 'workers/10'])
  unlock()
  adoptSpooledCharges(configOf(dataDir, {}), log)
  expect(spooledIn(dataDir)).toEqual(['.', 'workers/1', 'workers/10', 'workers/2'])
})

test.if(process.platform === 'linux')(
  'the first worker takes over the charges of one process, and of workers that there are no more',
  () => {
    const dataDir = createDataDir('.', 'workers/1', 'workers/2', 'workers/3')
    const start = (own: string) =>
      adoptSpooledCharges(configOf(dataDir, { HEADGATE_WORKERS: '2', HEADGATE_WORKER: own }), log)
    start('2')
    expect(spooledIn(dataDir)).toEqual(['.'])
    start('1')
    expect(spooledIn(dataDir)).toEqual([])
    expect(spooledIn(join(dataDir, 'workers/1'))).toEqual(['.', 'workers/1', 'workers/3'])
    expect(spooledIn(join(dataDir, 'workers/2'))).toEqual(['workers/2'])
  },
)

test('a backup has the charges of all workers, under names of their own', async () => {
  const dataDir = createDataDir('.', 'workers/1', 'workers/2')
  const files = (await listDataFiles(dataDir)).filter(({ name }) => name.startsWith('unsent-'))
  expect(files.map(({ name }) => name)).toEqual(['unsent-ledger-1', 'unsent-ledger-2', 'unsent-ledger-3'])
  expect(files.every(({ path }) => existsSync(path))).toBe(true)
})
