import {
  closeSync,
  constants,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  type Stats,
  statSync,
} from 'node:fs'

/** A file of a home. */
export interface HomeFile {
  /** Path below the home. */
  path: string
  bytes: number
  /** Milliseconds since 1970. */
  changedAt: number
}

export interface HomeSize {
  bytes: number
  /** Files and folders. */
  entries: number
}

/** Deeper folders are not listed, and make a home too large. */
export const maxDepth = 64

export const folderFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW
const blockBytes = 512

/** Null for an entry whose name is not UTF-8. */
type Visit = (path: string | null, stats: Stats) => void

/**
 * Visits everything below a folder that hostile processes may change at the same time. Each folder is opened without
 * following links, and its entries are found below the opened folder, not by path: nothing outside can be reached.
 * Stops after `maxEntries`, and returns whether everything was visited: not what its owner has made unreadable.
 */
export function walkHome(home: string, maxEntries: number, visit: Visit): boolean {
  let left = maxEntries
  let isComplete = true
  /** Null for what is deleted or replaced meanwhile. */
  const attempt = <T>(read: () => T): T | null => {
    try {
      return read()
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'EACCES') isComplete = false
      return null
    }
  }
  const visitFolder = (path: string | Buffer, prefix: string | null, depth: number): void => {
    const fd = attempt(() => openSync(path, folderFlags))
    if (fd === null) return
    try {
      for (const name of attempt(() => listNames(fd)) ?? []) visitEntry(fd, name, prefix, depth)
    } finally {
      closeSync(fd)
    }
  }
  const visitEntry = (fd: number, name: Buffer, prefix: string | null, depth: number): void => {
    if (left === 0) {
      isComplete = false
      return
    }
    left--
    const entry = locateEntry(fd, name)
    const stats = attempt(() => lstatSync(entry))
    if (!stats) return
    const path = appendName(prefix, name)
    visit(path, stats)
    if (!stats.isDirectory()) return
    if (depth === maxDepth) isComplete = false
    else visitFolder(entry, path === null ? null : `${path}/`, depth + 1)
  }
  visitFolder(home, '', 1)
  return isComplete
}

function listNames(fd: number): Buffer[] {
  return readdirSync(`/proc/self/fd/${fd}`, { encoding: 'buffer' })
}

function locateEntry(fd: number, name: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`/proc/self/fd/${fd}/`), name])
}

function appendName(prefix: string | null, name: Buffer): string | null {
  const text = name.toString()
  return prefix === null || !Buffer.from(text).equals(name) ? null : prefix + text
}

/** Null for a process that has ended meanwhile. */
function ignoreMissing<T>(read: () => T): T | null {
  try {
    return read()
  } catch {
    return null
  }
}

/** A home of which not everything can be counted has infinitely many entries. */
export function measureHome(home: string, maxEntries: number): HomeSize {
  let bytes = 0
  let entries = 0
  const isComplete = walkHome(home, maxEntries, (_, stats) => {
    bytes += stats.blocks * blockBytes
    entries++
  })
  return { bytes, entries: isComplete ? entries : Number.MAX_SAFE_INTEGER }
}

/** Regular files only, sorted by path. */
export function listHomeFiles(home: string, maxEntries: number): HomeFile[] {
  const files: HomeFile[] = []
  walkHome(home, maxEntries, (path, stats) => {
    if (path !== null && stats.isFile()) files.push({ path, bytes: stats.size, changedAt: stats.ctimeMs })
  })
  return files.sort((a, b) => (a.path < b.path ? -1 : 1))
}

/** Bytes of memory of a process and all processes below it. File contents in memory do not count. */
export function measureMemory(pid: number): number {
  let total = 0
  for (const folder of listProcessFolders(pid)) {
    const status = ignoreMissing(() => readFileSync(`${folder}/status`, 'utf8')) ?? ''
    for (const [, kib] of status.matchAll(/^Rss(?:Anon|Shmem):\s+(\d+) kB$/gm)) total += Number(kib) * 1024
  }
  return total
}

/** Bytes of files that these processes have deleted but not closed, on the disk of the home. */
export function measureUnlinked(home: string, pid: number): number {
  const disk = ignoreMissing(() => lstatSync(home))?.dev
  const sizes = new Map<number, number>()
  for (const folder of listProcessFolders(pid)) {
    for (const fd of ignoreMissing(() => readdirSync(`${folder}/fd`)) ?? []) {
      const stats = ignoreMissing(() => statSync(`${folder}/fd/${fd}`))
      if (stats?.isFile() && stats.nlink === 0 && stats.dev === disk)
        sizes.set(stats.ino, stats.blocks * blockBytes)
    }
  }
  return [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0)
}

/** Lists the folders in /proc of a process and all processes below it. */
function listProcessFolders(pid: number): string[] {
  const folders: string[] = []
  const waiting = [pid]
  for (let current = waiting.pop(); current !== undefined; current = waiting.pop()) {
    const folder = `/proc/${current}`
    folders.push(folder)
    for (const thread of ignoreMissing(() => readdirSync(`${folder}/task`)) ?? []) {
      const children = ignoreMissing(() => readFileSync(`${folder}/task/${thread}/children`, 'utf8')) ?? ''
      waiting.push(...children.split(' ').filter(Boolean).map(Number))
    }
  }
  return folders
}
