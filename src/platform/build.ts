import { readFileSync } from 'node:fs'
import { version } from './version.ts'

/** What this program was built from. Null: not known. */
interface Build {
  commit: string | null
  /** The time of the commit. */
  date: string | null
}

/** A constant of executables: see scripts/packaging/build.ts. */
declare const HEADGATE_BUILD: Build

export const isPackaged = typeof HEADGATE_BUILD !== 'undefined'

/** How the command line is called, for messages. */
export const commandName = isPackaged ? 'headgate' : 'npm run headgate --'

export const build: Build = isPackaged
  ? HEADGATE_BUILD
  : { commit: readCommit(new URL('../../.git/', import.meta.url)), date: null }

export const runtime = {
  name: 'bun',
  version: Bun.version,
  platform: `${process.platform} ${process.arch}`,
}

export function describeVersion(): string {
  const { commit, date } = build
  const source = commit === null ? [] : [`commit ${shorten(commit)}`]
  const details = [...source, ...(date === null ? [] : [date.slice(0, 10)]), `Bun ${runtime.version}`]
  return `${version} (${details.join(', ')}, ${runtime.platform})`
}

/** Keeps the mark of uncommitted changes. */
function shorten(commit: string): string {
  return commit.replace(/^(\w{12})\w*/, '$1')
}

/** The commit of a clone, without git: it refuses to read a clone of another user. Null without a clone. */
export function readCommit(folder: URL): string | null {
  const read = (name: string) => readFileSync(new URL(name, folder), 'utf8').trim()
  try {
    const head = read('HEAD')
    const [, branch] = /^ref: (.+)$/.exec(head) ?? []
    if (branch === undefined) return head
    return readIfPresent(() => read(branch)) ?? findPacked(read('packed-refs'), branch)
  } catch {
    return null
  }
}

function readIfPresent(read: () => string): string | null {
  try {
    return read()
  } catch {
    return null
  }
}

/** Lines of `<commit> <reference>`. */
function findPacked(references: string, branch: string): string | null {
  const line = references.split('\n').find((candidate) => candidate.endsWith(` ${branch}`))
  return line?.split(' ')[0] ?? null
}
