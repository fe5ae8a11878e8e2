import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Catalog } from './catalog.ts'

/** What the last release reads and writes: later migrations must leave it as it is, until its nodes are gone. */
export interface Released {
  version: string
  /** The commit, from which tests build that version. */
  commit: string
  migrations: string[]
  tables: Catalog
}

export const releasedFolder = resolve(import.meta.dir, '../../test/fixtures/released')

export function readReleased(): Released {
  return JSON.parse(readFileSync(join(releasedFolder, 'schema.json'), 'utf8')) as Released
}

export function readReleasedStatements(): string[] {
  return readFileSync(join(releasedFolder, 'statements.sql'), 'utf8').split('\n').filter(Boolean)
}
